/** The topology of parked orders, in the real worker: every message of the parking lot becomes one row, once. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import amqp from 'amqplib';
import { rsaKey } from '../jose/keys.ts';
import { basicAck, isMethod } from '../support/amqp-frames.ts';
import type { Received } from '../support/broker-client.ts';
import { startAmqpProxy, startProxy } from '../support/tcp-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { newCardNumber, sightings, type Canary } from './canaries.ts';
import type { ParkedOrder } from './parked-orders.ts';
import { newOrderId, openStage, orderJson, suiteOwner, type Stage } from './stage.ts';

const basicDeliver = { classId: 60, methodId: 60 };
const basicNack = { classId: 60, methodId: 120 };

describe('parked messages', { concurrency: false }, () => {
  it('are one row when the worker dies between the commit and the ack', async (t) => {
    const stage = await openStage(t);
    const proxy = await startAmqpProxy({ target: stage.broker.url });
    t.after(() => proxy.close());
    proxy.rule('toServer', (frame) => (isMethod(frame, basicAck) ? 'hold' : 'pass'));
    const first = await stage.startWorker({ AMQP_URL: proxy.url });
    const bodies = [orderJson(newOrderId()), 'no order at all'];
    for (const body of bodies) await putIntoLot(stage, body);
    const rows = [];
    while (rows.length < bodies.length) rows.push(...(await stage.parked.rest()));
    await proxy.held();
    first.kill('SIGKILL');
    await first.exited;
    proxy.cut();
    await lotHas(stage, bodies.length);

    const next = await stage.startWorker();
    await waitFor('both to be seen again', () => recordings(next).length === bodies.length);
    assert.ok(recordings(next).every((line) => line.includes('"isNew":false')));
    await lotHas(stage, 0);
    assert.equal(await countRows(stage), bodies.length);
    await stage.endAndExpectEmptyQueue(next);
  });

  it('stay on the queue while the database is away, without going round, and are recorded once it is back', async (t) => {
    const stage = await openStage(t);
    const database = await startProxy({ target: stage.databaseUrl });
    const broker = await startAmqpProxy({ target: stage.broker.url });
    t.after(async () => {
      await database.close();
      await broker.close();
    });
    const frames = { delivered: 0, givenBack: 0 };
    broker.rule('toClient', (frame) => {
      if (isMethod(frame, basicDeliver)) frames.delivered += 1;
      return 'pass';
    });
    broker.rule('toServer', (frame) => {
      if (isMethod(frame, basicNack)) frames.givenBack += 1;
      return 'pass';
    });
    const worker = await stage.startWorker({ AMQP_URL: broker.url, DATABASE_URL: database.url });
    await database.refuse();
    database.cut();
    await worker.waitForLine('the database cannot be used');
    const count = 60;
    for (let n = 0; n < count; n += 1) await putIntoLot(stage, orderJson(newOrderId()));
    // Long enough for a loop of requeues to show: it would go round a thousand times a second.
    await waitFor(
      'some probes of the database',
      () => worker.lines.filter(({ text }) => /database/.test(text)).length > 3,
    );
    assert.equal(await countRows(stage), 0);

    await database.accept();
    await waitFor('all rows', async () => (await countRows(stage)) === count, { timeoutMs: 60_000 });
    await lotHas(stage, 0);
    assert.ok(frames.delivered <= 2 * count, `${frames.delivered} deliveries of ${count} messages`);
    assert.equal(frames.givenBack, 0);
    await stage.endAndExpectEmptyQueue(worker);
  });

  describe('of the broker itself, of strangers, and poisonous ones', () => {
    const owner = suiteOwner();
    let stage: Stage;
    let worker: WorkerProcess;

    before(async () => {
      stage = await openStage(owner);
      worker = await stage.startWorker();
    });

    it('are recorded as what the broker gave up after three deliveries, and the order’s book knows', async () => {
      const id = newOrderId();
      await stage.publish(orderJson(id));
      await stage.announced(id);
      const queue = `${stage.broker.prefix}.limited`;
      await stage.client.declareQueue(queue, {
        'x-queue-type': 'quorum',
        'x-delivery-limit': 3,
        'x-dead-letter-exchange': `${stage.broker.prefix}.dlx`,
      });
      const [seen, stop] = await nacking(stage, queue, true);
      await stage.client.publish({ routingKey: queue, body: Buffer.from(orderJson(id)) });
      const { row, body, message } = await stage.parked.next();
      await stop();
      assert.ok(seen() >= 3, `${seen()} deliveries`);
      assert.deepEqual(
        [row.reason, row.class, row.order_id, row.customer_id, row.origin_queue, row.card_last4],
        ['delivery_limit', 'broker', id, '5678', queue, '4242'],
      );
      assert.match(row.cause, /^delivery_limit: it was delivered/);
      assert.equal(body.toString(), orderJson(id));
      assert.equal(message?.headers['cardauth-park-id'], row.park_id);
      assert.equal(message.headers['x-death'], undefined);
      const { rows } = await stage.database.query<{ outcome: string }>(
        `select outcome from cardauth.order_events where order_id = $1 and fact = 'parked'`,
        [id],
      );
      assert.ok(rows.length >= 1);
      assert.equal((await stage.order(id))?.status, 'ready-to-ship');
      await stage.client.deleteQueue(queue);
    });

    for (const [reason, limits, cause] of [
      ['rejected', {}, 'reject'],
      ['expired', { 'x-message-ttl': 50 }, 'wait'],
      ['maxlen', { 'x-max-length': 1, 'x-overflow': 'drop-head' }, 'push'],
    ] as const) {
      it(`are recorded as ${reason}`, async () => {
        const id = newOrderId();
        const queue = `${stage.broker.prefix}.${reason}`;
        await stage.client.declareQueue(queue, {
          'x-dead-letter-exchange': `${stage.broker.prefix}.dlx`,
          ...limits,
        });
        await stage.client.publish({ routingKey: queue, body: Buffer.from(orderJson(id)) });
        const [, stop] = cause === 'reject' ? await nacking(stage, queue, false) : [0, () => undefined];
        if (cause === 'push') await stage.client.publish({ routingKey: queue, body: 'x' });
        const { row } = await stage.parked.next();
        assert.deepEqual(
          [row.reason, row.class, row.order_id, row.origin_queue],
          [reason, 'broker', id, queue],
        );
        await stop();
        await stage.client.deleteQueue(queue);
      });
    }

    it('are recorded whatever is in them, with what can be said of it', async () => {
      const poison: readonly { body: Buffer; headers?: Record<string, unknown>; messageId?: string }[] = [
        { body: Buffer.alloc(0) },
        { body: Buffer.from([0, 255, 254, 0xd8, 0]), messageId: 'a\0b' },
        { body: Buffer.from('{"id":'), headers: { deep: { deeper: [{ x: 1n }] }, 'x-death': 'none' } },
        { body: Buffer.from('[1,2'), headers: { 'cardauth-park-reason': 'replays_exhausted' } },
        { body: Buffer.from('x'), headers: Object.fromEntries(manyHeaders(600)) },
        { body: Buffer.alloc(16_000_000, '4') },
      ];
      for (const { body, headers = {}, messageId } of poison) {
        const encodable = JSON.parse(
          JSON.stringify(headers, (_, value: unknown) => (typeof value === 'bigint' ? 1 : value)),
        ) as Record<string, unknown>;
        const properties = { headers: encodable, ...(messageId !== undefined && { messageId }) };
        await stage.client.publish({ routingKey: lotOf(stage), body, properties });
      }
      const rows: ParkedOrder['row'][] = [];
      await waitFor('all rows', async () => {
        rows.push(...(await stage.parked.rest()));
        return rows.length === poison.length;
      });
      assert.deepEqual(
        rows.map((row) => row.body_bytes).toSorted((a, b) => a - b),
        poison.map(({ body }) => body.length).toSorted((a, b) => a - b),
      );
      for (const row of rows) {
        assert.equal(row.replayable, false);
        assert.equal(row.order_id, null);
        assert.ok(row.body.length <= 65_536);
        assert.doesNotMatch(row.body.toString('latin1'), /\d/);
      }
      await lotHas(stage, 0);
      const id = newOrderId();
      await stage.publish(orderJson(id));
      await stage.announced(id);
    });

    it('are all settled at the end', async () => {
      await stage.endAndExpectEmptyQueue(worker);
      await lotHas(stage, 0);
    });
  });

  it('leave no card in the database without a key; once there is one, their rows take them, sealed', async (t) => {
    const stage = await openStage(t);
    const canaries: Canary[] = [];
    const order = (id: string, change: Readonly<Record<string, unknown>> = {}): string => {
      const text = newCardNumber();
      canaries.push({ name: `card of ${id}`, text });
      return orderJson(id, { creditCardNumber: text, note: text, ...change });
    };
    const worker = await stage.startWorker();
    const [conflict, review, unread] = [newOrderId(), newOrderId(), newOrderId()];
    await stage.gateway.setFaults([{ match: { orderId: review }, fault: { kind: 'wrong-amount' } }]);
    await stage.publish(order(conflict), order(review), order(unread, { chargeAmount: '1.005' }));
    await stage.announced(conflict);
    const other = order(conflict);
    await stage.publish(other);
    const parked = [await stage.parked.next(), await stage.parked.next(), await stage.parked.next()];
    await stage.endAndExpectEmptyQueue(worker);
    assert.deepEqual(parked.map(({ row }) => row.reason).toSorted(), [
      'amount_precision',
      'order_conflict',
      'review',
    ]);
    const found = sightings(canaries, [{ name: 'rows', content: await allRows(stage) }]);
    assert.deepEqual(found, []);
    const again = parked.find(({ row }) => row.reason === 'order_conflict');
    assert.equal(again?.body.toString(), other, 'the message itself, byte for byte, waits for a replay');

    const key = rsaKey();
    const next = await stage.startWorker({ CARDAUTH_CARD_KEY: JSON.stringify(key) });
    const kept = parked.flatMap(({ message }) => message ?? []);
    assert.equal(kept.length, 2);
    for (const message of kept) await putBack(stage, message);
    await waitFor('the rows to take them', async () => {
      const { rows } = await stage.database.query<{ count: number }>(
        "select count(*)::int as count from cardauth.parked_orders where replay_from = 'row'",
      );
      return rows[0]?.count === 2;
    });
    assert.equal(await countRows(stage), 3);
    await stage.endAndExpectEmptyQueue(next);
    assert.deepEqual(sightings(canaries, [{ name: 'rows', content: await allRows(stage) }]), []);
    const { rows } = await stage.database.query<ParkedOrder['row']>(
      'select * from cardauth.parked_orders where park_id = $1',
      [again.row.park_id],
    );
    assert.equal(await stage.parked.open(rows[0], key), other);
  });
});

function lotOf(stage: Stage): string {
  return `${stage.broker.prefix}.parked`;
}

/** As a worker does. */
async function putIntoLot(stage: Stage, body: string): Promise<void> {
  const headers = { 'cardauth-park-reason': 'review', 'cardauth-park-class': 'review' };
  await stage.client.publish({ routingKey: lotOf(stage), body: Buffer.from(body), properties: { headers } });
}

async function putBack(stage: Stage, { body, headers, properties }: Received): Promise<void> {
  const { messageId, contentType } = properties as { messageId?: string; contentType?: string };
  const kept = {
    ...(messageId !== undefined && { messageId }),
    ...(contentType !== undefined && { contentType }),
  };
  await stage.client.publish({ routingKey: lotOf(stage), body, properties: { ...kept, headers } });
}

async function lotHas(stage: Stage, ready: number): Promise<void> {
  await waitFor(`${ready} messages in the parking lot`, async () => {
    return (await stage.client.counts(lotOf(stage)))?.ready === ready;
  });
}

async function countRows(stage: Stage): Promise<number> {
  const { rows } = await stage.database.query<{ count: number }>(
    'select count(*)::int as count from cardauth.parked_orders',
  );
  return rows[0]?.count ?? 0;
}

/** Bodies in hex, which the sightings know. */
async function allRows(stage: Stage): Promise<string> {
  const { rows } = await stage.database.query<{ line: string }>(
    `select row_to_json(t)::text as line from cardauth.parked_orders t
     union all select row_to_json(t)::text from cardauth.order_events t
     union all select row_to_json(t)::text from cardauth.retry_ledger t`,
  );
  return rows.map(({ line }) => line).join('\n');
}

function recordings(worker: WorkerProcess): string[] {
  return worker.lines.map(({ text }) => text).filter((text) => text.includes('parked order recorded'));
}

/** A consumer that refuses all it gets; how many those were, and its end. */
async function nacking(
  stage: Stage,
  queue: string,
  requeue: boolean,
): Promise<[seen: () => number, stop: () => Promise<void>]> {
  const connection = await amqp.connect(stage.broker.url);
  const channel = await connection.createChannel();
  let seen = 0;
  await channel.consume(queue, (message) => {
    if (message === null) return;
    seen += 1;
    channel.nack(message, false, requeue);
  });
  return [() => seen, () => connection.close()];
}

function* manyHeaders(count: number): Generator<[string, string]> {
  for (let n = 0; n < count; n += 1) yield [`header-${n}`, 'x'.repeat(90)];
}
