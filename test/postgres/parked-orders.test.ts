import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';

import { openParkedOrderRecords, openParkedOrders } from '../../src/adapters/postgres/parked-orders.ts';
import type { ParkedOrderRecord, ParkedOrderSummary, RecordedBody } from '../../src/ports/parked-orders.ts';
import { RetriableError } from '../../src/topology/errors.ts';
import type { TestDatabase } from '../support/services.ts';
import { migratedDatabase, quietLog } from './test-book.ts';

const PARKED_AT_MS = Date.UTC(2026, 0, 1, 12, 0, 0, 123);
const ON_QUEUE: RecordedBody = {
  form: 'redacted',
  bytes: Buffer.from('{"****'),
  length: 9_000,
  replay: { from: 'unsealed-queue' },
};

describe('parked orders in the database', () => {
  let database: TestDatabase;
  let client: pg.Client;
  let records: ReturnType<typeof openParkedOrderRecords>;
  let parkedOrders: ReturnType<typeof openParkedOrders>;

  before(async () => {
    database = await migratedDatabase();
    client = new pg.Client(database.url);
    await client.connect();
    records = openParkedOrderRecords({ databaseUrl: database.url, log: quietLog });
    parkedOrders = openParkedOrders({ databaseUrl: database.url, log: quietLog });
  });
  after(async () => {
    await Promise.all([client.end(), records.close(), parkedOrders.close()]);
    await database.drop();
  });

  it('are recorded whole', async () => {
    const one = record();
    assert.equal(await records.record(one), true);
    const row = await rowOf(one.parkId);
    assert.ok(row['recorded_at'] instanceof Date);
    assert.deepEqual(
      { ...row, parked_id: undefined, recorded_at: undefined },
      {
        parked_id: undefined,
        recorded_at: undefined,
        park_id: one.parkId,
        order_id: '17',
        customer_id: '5678',
        reason: 'replays_exhausted',
        class: 'exhausted',
        error: 'no answer',
        cause: 'replays_exhausted: no answer',
        attempts: 8,
        message_id: 'm-1',
        origin_queue: 'orders',
        origin_exchange: 'shop',
        origin_routing_key: 'order.new',
        worker_version: '0.1.0',
        content_type: 'application/json',
        properties: { type: 'order.v1', headers: { traceparent: '00-abc', count: 3, yes: true } },
        card_last4: '4242',
        body: Buffer.from('eyJ...'),
        body_form: 'sealed',
        body_bytes: 120,
        replay_from: 'row',
        replayable: true,
        not_replayable_because: null,
        state: 'parked',
        closed_at: null,
        batch_id: null,
        first_seen_at: new Date(PARKED_AT_MS - 1_000),
        parked_at: new Date(PARKED_AT_MS),
      },
    );
  });

  it('are one row however often they are recorded, also at the same time', async () => {
    const one = record();
    const news = await Promise.all(Array.from({ length: 8 }, () => records.record(one)));
    assert.equal(news.filter(Boolean).length, 1);
    assert.equal(await records.record({ ...one, reason: 'another', body: ON_QUEUE }), false);
    const row = await rowOf(one.parkId);
    assert.deepEqual([row['reason'], row['replay_from']], ['replays_exhausted', 'row']);
  });

  it('take a sealed body in place of a message on the queue, as long as they are open', async () => {
    for (const [state, expected] of [
      ['parked', 'row'],
      ['replaying', 'row'],
      ['discarded', 'unsealed-queue'],
    ]) {
      const one = record({ body: ON_QUEUE });
      await records.record(one);
      const close = state === 'discarded' ? ', closed_at = now()' : '';
      await client.query(
        `update cardauth.parked_orders set state = $1, batch_id = gen_random_uuid()${close} where park_id = $2`,
        [state, one.parkId],
      );
      assert.equal(await records.record({ ...one, body: record().body }), false);
      const row = await rowOf(one.parkId);
      assert.equal(row['replay_from'], expected, state);
      assert.equal(row['state'], state);
    }
  });

  it('hold what strangers write: NUL, halves of characters, 64 KiB, nothing', async () => {
    const strange = `a\0b\uD800c\uDC00d😀`;
    const one = record({
      orderId: undefined,
      customerId: undefined,
      cardLast4: undefined,
      messageId: strange,
      contentType: strange,
      error: strange,
      cause: strange,
      workerVersion: undefined,
      origin: { queue: strange, exchange: '', routingKey: strange },
      properties: { correlationId: strange, headers: { [strange]: strange, deep: [{ x: strange }] } },
      body: {
        form: 'redacted',
        bytes: Buffer.alloc(65_536),
        length: 16_000_000,
        replay: { notBecause: strange },
      },
    });
    assert.equal(await records.record(one), true);
    const row = await rowOf(one.parkId);
    assert.equal(row['message_id'], 'a\uFFFDb\uFFFDc\uFFFDd😀');
    assert.equal(row['replayable'], false);
    assert.equal((row['body'] as Buffer).length, 65_536);
  });

  it('are listed in the order of recording, all pages of them', async () => {
    const ids = Array.from({ length: 1_500 }, (): string => randomUUID());
    await client.query(
      `insert into cardauth.parked_orders
         (park_id, reason, class, attempts, error, origin_queue, first_seen_at, not_replayable_because)
       select id, 'foreign', 'foreign', 0, '', '', now(), 'test'
       from unnest($1::uuid[]) with ordinality as given (id, place) order by place`,
      [ids],
    );
    const seen: ParkedOrderSummary[] = [];
    for await (const one of parkedOrders.list()) seen.push(one);
    assert.deepEqual(
      seen.map(({ parkId }) => parkId).filter((id) => ids.includes(id)),
      ids,
    );
    const [first] = seen;
    assert.deepEqual(
      { ...first, parkId: undefined },
      {
        parkId: undefined,
        orderId: '17',
        messageId: 'm-1',
        reason: 'replays_exhausted',
        class: 'exhausted',
        cause: 'replays_exhausted: no answer',
        state: 'parked',
        parkedAtMs: PARKED_AT_MS,
      },
    );
  });

  it('are refused where their row would lie', async () => {
    const { parkId } = record();
    await records.record(record({ parkId }));
    for (const [set, constraint] of [
      ["order_id = 'another'", 'parked_orders_message_never_changes'],
      ["reason = 'another'", 'parked_orders_message_never_changes'],
      ["state = 'replaying'", 'parked_orders_replaying_in_a_batch'],
      ["state = 'replayed'", 'parked_orders_closed_has_time'],
      ["state = 'gone', closed_at = now()", 'parked_orders_state_known'],
      ["body_form = 'redacted'", 'parked_orders_redacted_is_not_replayed'],
      ['replay_from = null', 'parked_orders_replayable_or_why_not'],
      ["not_replayable_because = 'x'", 'parked_orders_replayable_or_why_not'],
      ["card_last4 = '4242424242424242'", 'parked_orders_card_last4_form'],
    ]) {
      const update = client.query(`update cardauth.parked_orders set ${set} where park_id = $1`, [parkId]);
      await assert.rejects(update, { constraint }, set);
    }
    const remove = 'delete from cardauth.parked_orders where park_id = $1';
    await assert.rejects(client.query(remove, [parkId]), { constraint: 'parked_orders_open_ones_stay' });
    await client.query(
      `update cardauth.parked_orders set state = 'discarded', closed_at = now() where park_id = $1`,
      [parkId],
    );
    const reopen = "update cardauth.parked_orders set state = 'parked', closed_at = null where park_id = $1";
    await assert.rejects(client.query(reopen, [parkId]), { constraint: 'parked_orders_closed_stays_closed' });
    await client.query(remove, [parkId]);
  });

  it('reject as retriable while the database is away', async () => {
    const away = openParkedOrderRecords({ databaseUrl: 'postgres://127.0.0.1:1/none', log: quietLog });
    await assert.rejects(
      away.record(record()),
      (error) => error instanceof RetriableError && error.errorClass === 'database',
    );
    await away.close();
  });

  async function rowOf(parkId: string): Promise<Record<string, unknown>> {
    const { rows } = await client.query<Record<string, unknown>>(
      'select * from cardauth.parked_orders where park_id = $1',
      [parkId],
    );
    assert.equal(rows.length, 1);
    return rows[0] ?? {};
  }
});

function record(change: Partial<ParkedOrderRecord> = {}): ParkedOrderRecord {
  return {
    parkId: randomUUID(),
    reason: 'replays_exhausted',
    class: 'exhausted',
    error: 'no answer',
    cause: 'replays_exhausted: no answer',
    orderId: '17',
    customerId: '5678',
    cardLast4: '4242',
    attempts: 8,
    firstSeenMs: PARKED_AT_MS - 1_000,
    parkedAtMs: PARKED_AT_MS,
    origin: { queue: 'orders', exchange: 'shop', routingKey: 'order.new' },
    workerVersion: '0.1.0',
    messageId: 'm-1',
    contentType: 'application/json',
    properties: { type: 'order.v1', headers: { traceparent: '00-abc', count: 3, yes: true } },
    body: { form: 'sealed', bytes: Buffer.from('eyJ...'), length: 120, replay: { from: 'row' } },
    ...change,
  };
}
