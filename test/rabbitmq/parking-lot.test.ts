import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { BrokerParkingLot } from '../../src/adapters/rabbitmq/parking-lot.ts';
import type { Publication } from '../../src/adapters/rabbitmq/publication.ts';
import { redactedBody, scrubbedText } from '../../src/adapters/rabbitmq/redaction.ts';
import type { CopyBody } from '../../src/ports/copy-body.ts';
import type { ParkedOrder } from '../../src/ports/parking-lot.ts';
import { RetriableError } from '../../src/topology/errors.ts';
import { VirtualClock } from '../../src/topology/testing/virtual-clock.ts';

const CARD = '4242424242424242';

describe('the parking lot', () => {
  it('says why in headers, and keeps the bytes of what could be read', async () => {
    const { lot, published } = opened();
    await lot.park(parked());
    const [publication] = published;
    assert.ok(publication);
    assert.deepEqual(Buffer.from(publication.body).toString(), `{"card": "${CARD}"}`);
    assert.equal(publication.routingKey, 'cardauth.parked');
    assert.equal(publication.properties.messageId, 'm-1');
    assert.deepEqual(publication.properties.headers, {
      traceparent: '00-abc',
      'cardauth-park-id': 'park-1',
      'cardauth-park-reason': 'amount_zero',
      'cardauth-park-class': 'input',
      'cardauth-park-attempts': 2,
      'cardauth-park-first-seen': '2025-12-31T23:59:00.000Z',
      'cardauth-park-parked-at': '2026-01-01T00:00:00.000Z',
      'cardauth-park-error': 'the amount is zero',
      'cardauth-park-origin-queue': 'orders',
      'cardauth-park-origin-exchange': 'shop',
      'cardauth-park-origin-routing-key': 'order.new',
      'cardauth-park-order-id': '17',
      'cardauth-park-worker-version': '0.1.0',
    });
  });

  it('asks for a copy without the CVV once the order has its verdict, or the gateway sent it to review', async () => {
    const { lot, published } = opened();
    const { message } = parked();
    await lot.park(parked({ class: 'exhausted' }));
    await lot.park(parked({ class: 'exhausted', message: { ...message, isDecided: true } }));
    await lot.park(parked({ class: 'review' }));
    const bodies = published.map(({ body }) => Buffer.from(body).toString());
    assert.deepEqual(
      bodies.map((body) => body.endsWith(' decided')),
      [false, true, true],
    );
  });

  it('redacts what could not be read, and scrubs headers and error in any case', async () => {
    const { lot, published } = opened();
    const spaced = '4242 4242-4242 4242';
    await lot.park(
      parked({
        readable: false,
        error: `bad card ${spaced}`,
        headers: { note: `card ${CARD}`, raw: Number(CARD), nested: { card: CARD }, count: 3 },
      }),
    );
    const [publication] = published;
    const text = JSON.stringify(publication?.properties) + Buffer.from(publication?.body ?? []).toString();
    assert.doesNotMatch(text, /4242/);
    assert.ok(publication);
    assert.equal(headersOf(publication)['count'], 3);
    assert.equal(Buffer.from(publication.body).toString(), '{"card": "****************"}');
  });

  it('parks without the publisher headers when those have no encoding', async () => {
    const { lot, published } = opened((publication) => 'traceparent' in headersOf(publication));
    await lot.park(parked());
    assert.equal(published.length, 2);
    assert.equal(published[1] && headersOf(published[1])['cardauth-park-reason'], 'amount_zero');
  });

  it('rejects when it could not park', async () => {
    const { lot } = opened(() => true);
    await assert.rejects(lot.park(parked()), RetriableError);
  });
});

describe('redaction', () => {
  const base64 = Buffer.from(CARD).toString('base64');
  for (const [form, text] of [
    ['plain', CARD],
    ['spaced', '4242 4242 4242 4242'],
    ['dashed', '4242-4242-4242-4242'],
    ['base64', base64],
    ['unpadded base64 in a longer word', `xx${base64.replaceAll('=', '')}yy`],
    ['hex', Buffer.from(CARD).toString('hex')],
    ['URL-encoded', CARD.replaceAll(/./g, (digit) => `%3${digit}`)],
    ['escaped', CARD.replaceAll(/./g, (digit) => `\\u003${digit}`)],
    ['UTF-16', Buffer.from(CARD, 'utf16le').toString('latin1')],
    ['a CVV', '"cvv": "123"'],
  ] as const) {
    it(`leaves no digit of a card number in a body: ${form}`, () => {
      const redacted = Buffer.from(redactedBody(Buffer.from(text, 'latin1'))).toString('latin1');
      assert.doesNotMatch(redacted, /\d/);
      assert.equal(redacted.length, text.length);
      if (text.includes(base64.slice(0, 16))) assert.doesNotMatch(redacted, /[A-Za-z]{3}/);
    });
  }

  it('keeps 64 KiB of a body at most', () => {
    assert.equal(redactedBody(Buffer.alloc(100_000, 'a b')).length, 65_536);
  });

  it('masks card numbers in texts, keeps other numbers, and cuts between characters', () => {
    assert.equal(scrubbedText('order 12345 of 2026-01-02: 4242 4242 4242 4242', 100).includes('4242'), false);
    assert.match(scrubbedText('order 12345 failed after 30000 ms', 100), /12345 failed after 30000/);
    assert.equal(scrubbedText('aé', 2), 'a');
    assert.ok(Buffer.byteLength(scrubbedText('é'.repeat(5_000), 2_048)) <= 2_048);
  });
});

function opened(isUnpublishable: (publication: Publication) => boolean = () => false) {
  const published: Publication[] = [];
  const lot = new BrokerParkingLot({
    publisher: {
      publish: (publication) => {
        published.push(publication);
        if (!isUnpublishable(publication)) return Promise.resolve();
        return Promise.reject(new RetriableError('no encoding', { errorClass: 'unpublishable' }));
      },
    },
    prefix: 'cardauth',
    workerVersion: '0.1.0',
    copyBody: marked,
    clock: new VirtualClock(),
    newId: () => 'park-1',
  });
  return { lot, published };
}

/** Stands in for sealing, and shows what it was told. */
const marked: CopyBody = (body, { isDecided }) =>
  Promise.resolve(Buffer.from(`${Buffer.from(body).toString()}${isDecided ? ' decided' : ''}`));

function headersOf({ properties }: Publication): Record<string, unknown> {
  return properties.headers as Record<string, unknown>;
}

function parked({
  headers = { traceparent: '00-abc' },
  ...overrides
}: Partial<ParkedOrder> & { headers?: Record<string, unknown> } = {}): ParkedOrder {
  return {
    orderId: '17',
    reason: 'amount_zero',
    class: 'input',
    error: 'the amount is zero',
    readable: true,
    message: {
      body: Buffer.from(`{"card": "${CARD}"}`),
      messageId: 'm-1',
      contentType: 'application/json',
      correlationId: undefined,
      headers,
      origin: { queue: 'orders', exchange: 'shop', routingKey: 'order.new' },
      attempt: 2,
      isDecided: false,
      firstSeenMs: Date.UTC(2025, 11, 31, 23, 59),
    },
    ...overrides,
  };
}
