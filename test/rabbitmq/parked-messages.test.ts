import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConsumeMessage } from 'amqplib';

import { deathOf } from '../../src/adapters/rabbitmq/dead-letters.ts';
import { ParkedCopies } from '../../src/adapters/rabbitmq/parked-copies.ts';
import { readParkedMessage } from '../../src/adapters/rabbitmq/parked-messages.ts';
import { BrokerParkingLot } from '../../src/adapters/rabbitmq/parking-lot.ts';
import type { Publication } from '../../src/adapters/rabbitmq/publication.ts';
import { asUpstreamSentIt } from '../../src/ports/copy-body.ts';
import { VirtualClock } from '../../src/topology/testing/virtual-clock.ts';
import { message } from '../bolts/bolt-parts.ts';

const NOW_MS = Date.UTC(2026, 0, 2);
const CARD = '4242424242424242';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[48][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('a message of the parking lot', () => {
  it('says what the worker that parked it wrote', async () => {
    const { lot, published } = parkingLot();
    await lot.park({
      orderId: '17',
      reason: 'replays_exhausted',
      class: 'exhausted',
      error: 'the gateway gave no answer',
      readable: true,
      message: { ...message(), attempt: 8, messageId: 'm-1', headers: { traceparent: '00-abc' } },
    });
    const parked = readParkedMessage(asDelivered(published[0]), NOW_MS);
    assert.match(parked.parkId, UUID);
    assert.deepEqual(
      { ...parked, parkId: undefined, body: Buffer.from(parked.body).toString() },
      {
        parkId: undefined,
        reason: 'replays_exhausted',
        class: 'exhausted',
        error: 'the gateway gave no answer',
        orderId: '17',
        attempts: 8,
        firstSeenMs: 0,
        parkedAtMs: Date.UTC(2026, 0, 1),
        origin: { queue: 'orders', exchange: '', routingKey: 'orders' },
        workerVersion: '0.1.0',
        messageId: 'm-1',
        contentType: 'application/json',
        properties: { headers: { traceparent: '00-abc' } },
        body: '{}',
      },
    );
  });

  it('keeps its id when the worker parks it once more, and no other message has it', async () => {
    const { lot, published } = parkingLot();
    const body = Buffer.from('{}');
    const parked = (attempt: number, ofBody = body) => ({
      orderId: '17',
      reason: 'worker_error' as const,
      class: 'exhausted' as const,
      error: '',
      readable: true,
      message: { ...message(), attempt, body: ofBody },
    });
    await lot.park(parked(1));
    await lot.park(parked(2));
    await lot.park(parked(1, Buffer.from('{}')));
    const ids = published.map((one) => readParkedMessage(asDelivered(one), NOW_MS).parkId);
    assert.equal(ids[0], ids[1]);
    assert.notEqual(ids[0], ids[2]);
  });

  it('is the same after it was moved, whoever put it there', async () => {
    const published: Publication[] = [];
    const publisher = { publish: (one: Publication) => Promise.resolve(void published.push(one)) };
    const copies = new ParkedCopies({ publisher, prefix: 'p', clock: new VirtualClock() });
    for (const headers of [
      { 'x-death': [death()], 'x-delivery-count': 3, note: 'kept' },
      { note: 'a stranger' },
      { 'cardauth-park-reason': 'review', 'cardauth-park-class': 'review' },
    ]) {
      const before = readParkedMessage(raw(headers, { type: 'order.v1', messageId: 'm' }), NOW_MS);
      await copies.keep(before);
      const [copy] = published.splice(0);
      assert.equal(copy?.routingKey, 'p.parked.unsealed');
      const after = readParkedMessage(asDelivered(copy), NOW_MS + 1);
      assert.deepEqual(after, before);
    }
  });

  it('is the broker’s when it has `x-death`, whatever a worker wrote before', () => {
    const parked = readParkedMessage(
      raw({
        'x-death': [death()],
        'cardauth-park-reason': 'review',
        'cardauth-park-id': '6f1f7c0e-9d2c-4a3f-8a51-0e7f7a4b9c11',
        'cardauth-first-seen': '2026-01-01T00:00:00.000Z',
        'cardauth-attempt': 2,
      }),
      NOW_MS,
    );
    assert.equal(parked.reason, 'delivery_limit');
    assert.equal(parked.class, 'broker');
    assert.match(parked.error, /more often than its queue allows/);
    assert.notEqual(parked.parkId, '6f1f7c0e-9d2c-4a3f-8a51-0e7f7a4b9c11');
    assert.equal(parked.attempts, 2);
    assert.deepEqual(parked.origin, { queue: 'orders', exchange: 'shop', routingKey: 'order.new' });
    assert.equal(parked.parkedAtMs, Date.UTC(2026, 0, 1, 12));
    assert.equal(parked.firstSeenMs, Date.UTC(2026, 0, 1));
  });

  it('is recognized when it is delivered again, and told from others', () => {
    const id = (headers: Record<string, unknown>, change = {}, body = '{}') =>
      readParkedMessage(raw(headers, change, body), NOW_MS).parkId;
    const headers = { 'x-death': [death()], note: 'n' };
    const first = id(headers);
    assert.match(first, UUID);
    assert.equal(id({ ...headers, 'x-delivery-count': 4, 'x-acquired-count': 9 }), first);
    assert.equal(id({ note: 'n', 'x-death': [death()] }), first, 'the order of headers means nothing');
    const others = [
      id(headers, { messageId: 'm' }),
      id(headers, { timestamp: 1 }),
      id(headers, {}, '{ }'),
      id({ ...headers, note: 'o' }),
      id({ ...headers, 'x-death': [death({ reason: 'rejected' })] }),
      id({ ...headers, 'x-death': [death({ time: { '!': 'timestamp', value: 1 } })] }),
    ];
    assert.equal(new Set([first, ...others]).size, others.length + 1);
  });

  const nonsense: readonly Record<string, unknown>[] = [
    {},
    { 'x-death': 'no list' },
    { 'x-death': [] },
    { 'x-death': [null, 7, 'x'] },
    { 'x-death': [{ reason: 9, queue: {}, time: 'soon', 'routing-keys': 'x' }] },
    { 'x-death': [{ reason: `a card ${CARD}`, queue: CARD, count: 2n ** 60n }] },
    { 'cardauth-park-reason': `a card ${CARD}`, 'cardauth-park-error': CARD },
    { 'cardauth-park-reason': 'review', 'cardauth-park-id': 7, 'cardauth-park-attempts': -1 },
    { 'cardauth-park-reason': 'review', 'cardauth-park-parked-at': '9999-01-01', 'cardauth-park-class': 'x' },
    {
      'cardauth-park-reason': 'review',
      'cardauth-park-order-id': 'with space',
      'cardauth-park-first-seen': '',
    },
    { big: 'x'.repeat(100_000), nested: { note: CARD }, raw: Number(CARD), list: [CARD], big64: 2n ** 60n },
  ];
  for (const headers of nonsense) {
    it(`is readable with ${Object.keys(headers).join(', ') || 'no headers'} of any kind`, () => {
      for (const properties of [{}, { messageId: `m ${CARD}`, correlationId: CARD, contentType: {} }]) {
        const parked = { ...readParkedMessage(raw(headers, properties), NOW_MS), body: undefined };
        assert.match(parked.parkId, UUID);
        assert.match(parked.reason, /^[a-z_]+$/);
        assert.match(parked.class, /^(?:broker|foreign|review)$/);
        assert.ok(parked.parkedAtMs > 0 && parked.parkedAtMs <= NOW_MS);
        assert.equal(parked.attempts, 0);
        assert.equal(parked.orderId, undefined);
        assert.ok(!JSON.stringify(parked).includes(CARD), 'a card number');
        assert.ok(JSON.stringify(parked).length < 10_000);
      }
    });
  }

  it('keeps a message id that is a UUID even where it looks like a card number', () => {
    const messageId = '12345678-1234-4123-8123-123456789012';
    assert.equal(readParkedMessage(raw({}, { messageId }), NOW_MS).messageId, messageId);
  });
});

describe('a death', () => {
  it('is none without the broker’s headers', () => {
    assert.equal(deathOf({ 'x-delivery-count': 2, 'x-first-death-queue': 'q' }), undefined);
  });

  it('is the first of the list on brokers up to 3.12', () => {
    assert.equal(deathOf({ 'x-death': [death(), death({ reason: 'expired' })] })?.reason, 'delivery_limit');
  });

  it('is the one that newer brokers name, wherever it is in the list', () => {
    const deaths = [death({ reason: 'expired', queue: 'cardauth.retry.1000' }), death()];
    const named = { 'x-last-death-queue': 'orders', 'x-last-death-reason': 'delivery_limit' };
    assert.equal(deathOf({ 'x-death': deaths, ...named })?.reason, 'delivery_limit');
    assert.equal(deathOf({ ...named })?.queue, 'orders');
  });
});

function parkingLot() {
  const published: Publication[] = [];
  const lot = new BrokerParkingLot({
    publisher: { publish: (one) => Promise.resolve(void published.push(one)) },
    prefix: 'cardauth',
    workerVersion: '0.1.0',
    copyBody: asUpstreamSentIt,
    clock: new VirtualClock(),
  });
  return { lot, published };
}

function death(change: Record<string, unknown> = {}) {
  return {
    count: 1,
    reason: 'delivery_limit',
    queue: 'orders',
    time: { '!': 'timestamp', value: Date.UTC(2026, 0, 1, 12) / 1_000 },
    exchange: 'shop',
    'routing-keys': ['order.new'],
    ...change,
  };
}

/** As it comes from the broker, which knows no undefined headers. */
function asDelivered(publication: Publication | undefined): ConsumeMessage {
  assert.ok(publication);
  const { properties } = publication;
  const headers = Object.entries(properties.headers as Record<string, unknown>);
  const sent = headers.filter(([, value]) => value !== undefined);
  return raw(Object.fromEntries(sent), properties, Buffer.from(publication.body));
}

function raw(
  headers: Record<string, unknown>,
  properties: Record<string, unknown> = {},
  body: string | Buffer = '{}',
): ConsumeMessage {
  return {
    content: Buffer.from(body),
    fields: { deliveryTag: 1, exchange: '', routingKey: 'cardauth.parked' },
    properties: { ...properties, headers },
  } as unknown as ConsumeMessage;
}
