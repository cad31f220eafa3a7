import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RecordParkedOrder } from '../../src/bolts/record-parked-order.ts';
import type { Admission } from '../../src/domain/order.ts';
import type { ParkedMessage, ParkedOrderRecord } from '../../src/ports/parked-orders.ts';
import { MemoryOrderBook } from '../support/memory-order-book.ts';
import { silent } from '../support/silent-log.ts';
import { order, terms, tuple } from './bolt-parts.ts';

const BODY = '{"the":"body"}';
const PARK_ID = '6f1f7c0e-9d2c-4a3f-8a51-0e7f7a4b9c11';
const READABLE: Admission = { kind: 'ok', order: order('9', { cardLast4: '4242' }) };
const UNREADABLE: Admission = {
  kind: 'park',
  orderId: '9',
  reason: 'amount_zero',
  detail: 'the amount is zero',
};
const TOO_LARGE: Admission = { kind: 'park', orderId: undefined, reason: 'too_large', detail: 'too large' };

describe('RecordParkedOrder', () => {
  it('seals the whole body with a key, and a replay finds it in the row', async () => {
    const { bolt, records, kept } = setUp({ key: true });
    await bolt.execute(tuple({ parked: parked() }));
    const [record] = records;
    assert.equal(record?.body.form, 'sealed');
    assert.equal(textOf(record), `sealed(${BODY})`);
    assert.equal(record.body.length, BODY.length);
    assert.deepEqual(record.body.replay, { from: 'row' });
    assert.deepEqual([record.orderId, record.customerId, record.cardLast4], ['9', '5678', '4242']);
    assert.equal(record.cause, 'replays_exhausted: # replays');
    assert.deepEqual(kept, []);
  });

  it('redacts the body without a key, and moves the message on before its row says so', async () => {
    const { bolt, records, kept, steps } = setUp({ key: false });
    await bolt.execute(tuple({ parked: parked() }));
    assert.equal(textOf(records[0]), `redacted(${BODY})`);
    assert.deepEqual(records[0]?.body.replay, { from: 'unsealed-queue' });
    assert.deepEqual(kept, [PARK_ID]);
    assert.deepEqual(steps, ['kept', 'recorded']);
  });

  it('has nothing to replay of what is no order, with and without a key, and says why', async () => {
    for (const key of [true, false]) {
      const { bolt, records, kept } = setUp({ key, admission: UNREADABLE });
      await bolt.execute(tuple({ parked: parked({ class: 'input', orderId: undefined }) }));
      assert.deepEqual(records[0]?.body.replay, { notBecause: 'it is no order: the amount is zero' });
      assert.equal(records[0].body.form, key ? 'sealed' : 'redacted');
      assert.equal(records[0].orderId, '9');
      assert.deepEqual(kept, []);
    }
  });

  it('keeps no more than a redacted piece of what is larger than any order', async () => {
    const { bolt, records } = setUp({ key: true, admission: TOO_LARGE });
    await bolt.execute(tuple({ parked: parked() }));
    assert.equal(records[0]?.body.form, 'redacted');
    assert.equal(records[0].orderId, '8', 'what the headers say, where the body says nothing');
  });

  it('rejects when it is not recorded, and makes no second copy at the next try', async () => {
    const { bolt, records, kept, refuse } = setUp({ key: false });
    const message = parked();
    refuse(2);
    for (let tries = 0; tries < 2; tries++) {
      await assert.rejects(async () => bolt.execute(tuple({ parked: { ...message } })), /away/);
    }
    await bolt.execute(tuple({ parked: { ...message } }));
    assert.equal(records.length, 1);
    assert.deepEqual(kept, [PARK_ID]);
  });

  it('records nothing when the copy for the replay could not be kept', async () => {
    const { bolt, records, refuseToKeep } = setUp({ key: false });
    refuseToKeep();
    await assert.rejects(async () => bolt.execute(tuple({ parked: parked() })), /not confirmed/);
    assert.deepEqual(records, []);
  });

  it('tells the order’s book what the broker or a stranger parked, and nothing of what a worker did', async () => {
    for (const parkedClass of ['input', 'review', 'exhausted', 'broker', 'foreign'] as const) {
      const { bolt, book } = setUp({ key: true });
      await bolt.execute(tuple({ parked: parked({ class: parkedClass, reason: 'delivery_limit' }) }));
      const expected =
        parkedClass === 'broker' || parkedClass === 'foreign'
          ? [{ orderId: '9', fact: { kind: 'parked', reason: 'delivery_limit' } }]
          : [];
      assert.deepEqual(
        book.facts.map(({ orderId, fact }) => ({ orderId, fact })),
        expected,
        parkedClass,
      );
    }
  });

  it('keeps no CVV of an order that the broker dead-lettered after its verdict', async () => {
    for (const decided of [false, true]) {
      const { bolt, book, records } = setUp({ key: true });
      if (decided) await book.apply('9', { kind: 'refuse', terms: terms('9'), reason: 'invalid_card_data' });
      await bolt.execute(tuple({ parked: parked({ class: 'broker' }) }));
      assert.equal(textOf(records[0]), decided ? `sealed(${BODY} without CVV)` : `sealed(${BODY})`);
    }
  });

  function setUp({ key, admission = READABLE }: { key: boolean; admission?: Admission }) {
    const records: ParkedOrderRecord[] = [];
    const kept: string[] = [];
    const steps: string[] = [];
    const book = new MemoryOrderBook();
    let refusals = 0;
    let keeps = true;
    const bolt = new RecordParkedOrder({
      records: {
        record: (one) => {
          if (refusals-- > 0) return Promise.reject(new Error('away'));
          records.push(one);
          steps.push('recorded');
          return Promise.resolve(true);
        },
      },
      unsealed: {
        keep: ({ parkId }) => {
          if (!keeps) return Promise.reject(new Error('not confirmed'));
          kept.push(parkId);
          steps.push('kept');
          return Promise.resolve();
        },
      },
      book,
      admit: () => admission,
      open: (one) => Promise.resolve(one),
      seal: key ? (body) => Promise.resolve(`sealed(${Buffer.from(body).toString()})`) : undefined,
      copyBody: (body, { isDecided }) =>
        Promise.resolve(Buffer.from(`${Buffer.from(body).toString()}${isDecided ? ' without CVV' : ''}`)),
      redact: (body) => Buffer.from(`redacted(${Buffer.from(body).toString()})`),
      log: silent,
    });
    return {
      bolt,
      book,
      records,
      kept,
      steps,
      refuse: (times: number) => (refusals = times),
      refuseToKeep: () => (keeps = false),
    };
  }
});

function textOf(record: ParkedOrderRecord | undefined): string {
  return Buffer.from(record?.body.bytes ?? []).toString();
}

function parked(change: Partial<ParkedMessage> = {}): ParkedMessage {
  return {
    parkId: PARK_ID,
    reason: 'replays_exhausted',
    class: 'exhausted',
    error: '8 replays',
    orderId: '8',
    attempts: 8,
    firstSeenMs: 0,
    parkedAtMs: 1,
    origin: { queue: 'orders', exchange: '', routingKey: 'orders' },
    workerVersion: '0.1.0',
    messageId: undefined,
    contentType: undefined,
    properties: { headers: {} },
    body: Buffer.from(BODY),
    ...change,
  };
}
