import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { ConsumeMessage } from 'amqplib';

import { deliveryOf } from '../../src/adapters/rabbitmq/delivery.ts';
import { Generation, SettlementCounts } from '../../src/adapters/rabbitmq/generation.ts';
import type { Publication } from '../../src/adapters/rabbitmq/publication.ts';
import { RetryCopies } from '../../src/adapters/rabbitmq/retry-copies.ts';
import type { SentCopy } from '../../src/ports/retry-ledger.ts';
import { asUpstreamSentIt, type CopyBody } from '../../src/ports/copy-body.ts';
import { ScriptedChannel } from './scripted-broker.ts';

describe('retry copies', () => {
  for (const [waitMs, queue] of [
    [1, 'cardauth.retry.1000'],
    [1_000, 'cardauth.retry.1000'],
    [1_001, 'cardauth.retry.5000'],
    [9_000, 'cardauth.retry.60000'],
    [1e9, 'cardauth.retry.60000'],
  ] as const) {
    it(`sends a wait of ${waitMs} ms to ${queue}`, async () => {
      const { copies, published } = opened();
      await copies.send(delivered(), waitMs);
      assert.equal(published[0]?.routingKey, queue);
    });
  }

  it('keeps body, ids and the publisher headers, and drops what would change where the copy goes', async () => {
    const { copies, published } = opened();
    await copies.send(delivered(), 1);
    const [copy] = published;
    assert.equal(Buffer.from(copy?.body ?? []).toString(), '{"id": "A"}');
    assert.deepEqual(copy?.properties, {
      messageId: 'A',
      contentType: 'application/json',
      type: 'order.v1',
      headers: {
        traceparent: '00-abc',
        'cardauth-attempt': 4,
        'cardauth-first-seen': '2026-01-02T03:04:05.000Z',
        'cardauth-exhausted': undefined,
        'cardauth-copy-id': 'copy-1',
      },
    });
  });

  it('asks for its body, and says whether the order has its verdict', async () => {
    const asked: boolean[] = [];
    const copyBody: CopyBody = (body, { isDecided }) => {
      asked.push(isDecided);
      return Promise.resolve(Buffer.concat([body, Buffer.from(' sealed')]));
    };
    const { copies, published } = opened([1_000], copyBody);
    const delivery = delivered();
    await copies.send(delivery, 1);
    await copies.send({ ...delivery, message: { ...delivery.message, isDecided: true } }, 1);
    assert.equal(Buffer.from(published[0]?.body ?? []).toString(), '{"id": "A"} sealed');
    assert.deepEqual(asked, [false, true]);
  });

  it('publishes nothing when there is no body to publish', async () => {
    const { copies, published, noted } = opened([1_000], () => Promise.reject(new Error('cannot be sealed')));
    await assert.rejects(copies.send(delivered(), 1), /cannot be sealed/);
    assert.deepEqual([published, noted], [[], []]);
  });

  it('notes in the ledger what was sent, after it was, and once more that the copy before came back', async () => {
    const { copies, noted } = opened();
    const before = '6f1f7c0e-9d2c-4a3f-8a51-0e7f7a4b9c11';
    const delivery = { ...delivered({ 'cardauth-copy-id': before }), failedAs: 'no_answer' };
    await copies.send(delivery, 9_000, 'order-9');
    await copies.send(delivered({ 'cardauth-copy-id': 'no UUID' }), 1, 'unidentified 3');
    const sent = { messageId: 'A', reasonClass: 'no_answer', levelMs: 60_000 };
    assert.deepEqual(noted, [
      before,
      { ...sent, copyId: 'copy-1', orderId: 'order-9' },
      {
        ...sent,
        copyId: 'copy-2',
        orderId: undefined,
        levelMs: 1_000,
        reasonClass: 'waited_here_for_too_long',
      },
    ]);
  });

  it('counts anew when the attempt header is not a count', () => {
    for (const attempt of ['4', -1, 1.5, null, {}, Number.NaN, 2 ** 60]) {
      assert.equal(delivered({ 'cardauth-attempt': attempt }).message.attempt, 0);
    }
    assert.equal(delivered({ 'cardauth-first-seen': 'yesterday' }).message.firstSeenMs, 99);
  });

  it('cannot be made without a level', () => {
    assert.throws(() => opened([]), RangeError);
  });
});

function opened(levelsMs: readonly number[] = [60_000, 1_000, 5_000], copyBody = asUpstreamSentIt) {
  const published: Publication[] = [];
  const noted: (SentCopy | string)[] = [];
  const copies = new RetryCopies({
    publisher: {
      publish: (publication) => {
        published.push(publication);
        return Promise.resolve();
      },
    },
    prefix: 'cardauth',
    ordersQueue: 'orders',
    levelsMs,
    copyBody,
    newId: () => `copy-${published.length + 1}`,
    ledger: {
      sent: (copy) => void noted.push(copy),
      returned: (copyId) => void noted.push(copyId),
    },
  });
  return { copies, published, noted };
}

function delivered(headers: Record<string, unknown> = {}) {
  const raw = {
    content: Buffer.from('{"id": "A"}'),
    fields: { deliveryTag: 1, exchange: '', routingKey: 'orders' },
    properties: {
      messageId: 'A',
      contentType: 'application/json',
      type: 'order.v1',
      expiration: '1000',
      userId: 'shop',
      replyTo: 'amq.rabbitmq.reply-to',
      headers: {
        traceparent: '00-abc',
        'x-death': [{ count: 1 }],
        'x-delivery-count': 2,
        CC: ['elsewhere'],
        'cardauth-attempt': 4,
        'cardauth-first-seen': '2026-01-02T03:04:05.000Z',
        ...headers,
      },
    },
  };
  const generation = new Generation(1, new ScriptedChannel(), new SettlementCounts());
  const seen = { queue: 'orders', nowMs: 0, wallMs: 99 };
  return deliveryOf(raw as unknown as ConsumeMessage, generation, seen);
}
