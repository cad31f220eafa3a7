import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { levelQueueOf, parkedQueueOf } from '../../src/adapters/rabbitmq/declare.ts';
import type { OrderMessage } from '../../src/ports/message.ts';
import { connectBroker, type BrokerClient } from '../support/broker-client.ts';
import { createBroker } from '../support/services.ts';
import { startAmqpProxy } from '../support/tcp-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { startWorker, type Worker, type WorkerOptions } from './real-worker.ts';

describe('the orders spout on a real broker', () => {
  const own = createBroker();
  const { url, prefix, ordersQueue } = own;
  const levelQueue = levelQueueOf(prefix, ordersQueue, 300);
  const parkedQueue = parkedQueueOf(prefix);
  let client: BrokerClient;
  let worker: Worker | undefined;

  before(async () => {
    client = await connectBroker(url);
    await client.declareQueue(ordersQueue);
  });
  afterEach(async () => {
    await worker?.stop();
    worker = undefined;
    for (const queue of [ordersQueue, levelQueue, parkedQueue]) await client.deleteQueue(queue);
    await client.declareQueue(ordersQueue);
  });
  after(async () => {
    await client.deleteExchange(`${prefix}.dlx`);
    await client.close();
    await own.cleanup({ queues: [levelQueue, parkedQueue] });
  });

  async function working(execute: WorkerOptions['execute'], options: Partial<WorkerOptions> = {}) {
    worker = await startWorker({
      consumeUrl: url,
      publishUrl: url,
      prefix,
      ordersQueue,
      execute,
      ...options,
    });
    return worker;
  }

  function publish(messageId: string, body: unknown = {}, headers = {}): Promise<void> {
    return client.publish({ routingKey: ordersQueue, body, properties: { messageId, headers } });
  }

  it('acks what was worked on, and nothing is left', async () => {
    const seen: (string | undefined)[] = [];
    const { spout } = await working(({ messageId }) => void seen.push(messageId));
    for (const id of ['A', 'B', 'C']) await publish(id);
    await waitFor('three acks', () => spout.counts.acked === 3);
    await worker?.stop();
    assert.deepEqual(seen.sort(), ['A', 'B', 'C']);
    await waitFor('an empty queue', async () => (await client.counts(ordersQueue))?.ready === 0);
  });

  it('brings an order back through a level queue: same bytes, same id, one attempt more', async () => {
    const body = Buffer.from('{"id": "A",  "odd":"\\u00e9\u00e9 \\r\\n"}\n');
    const seen: OrderMessage[] = [];
    const { spout } = await working(
      (message) => {
        seen.push(message);
        if (message.attempt < 2) throw new Error('the database is away');
      },
      { holdUpToMs: 0 },
    );
    await publish('A', body, { traceparent: '00-abc', 'x-theirs': 1, CC: ['elsewhere'] });
    await waitFor('three acks', () => spout.counts.acked === 3);
    assert.deepEqual(
      seen.map(({ attempt }) => attempt),
      [0, 1, 2],
    );
    for (const message of seen) {
      assert.deepEqual(Buffer.from(message.body), body);
      assert.equal(message.messageId, 'A');
      assert.deepEqual(message.headers, { traceparent: '00-abc' });
      assert.equal(message.firstSeenMs, seen[0]?.firstSeenMs);
    }
  });

  it('brings an order back without its publisher headers when those have no encoding', async () => {
    const seen: OrderMessage[] = [];
    const { spout } = await working(
      (message) => {
        seen.push(message);
        if (message.attempt === 0) throw new Error('the database is away');
      },
      { holdUpToMs: 0 },
    );
    await publish('A', {}, { odd: { '!': 'double', value: -1e300 } });
    await waitFor('two acks', () => spout.counts.acked === 2);
    assert.deepEqual(
      seen.map(({ attempt, headers }) => [attempt, headers]),
      [
        [0, { odd: -1e300 }],
        [1, {}],
      ],
    );
  });

  it('holds a short wait, without touching the broker', async () => {
    const attempts: number[] = [];
    const { spout } = await working(({ attempt }) => {
      attempts.push(attempt);
      if (attempt < 3) throw new Error('the database is away');
    });
    await publish('A');
    await waitFor('the ack', () => spout.counts.acked === 1);
    assert.deepEqual(attempts, [0, 1, 2, 3]);
    assert.equal(spout.counts.givenBack, 0);
  });

  it('parks an order whose replays are exhausted, with the reason in its headers', async () => {
    const { spout } = await working(
      () => {
        throw new Error('never works');
      },
      { maxReplays: 2 },
    );
    await publish('A', { id: 'A' }, { traceparent: '00-abc' });
    await waitFor('the ack', () => spout.counts.acked === 1);
    const parked = await client.take(parkedQueue);
    assert.equal(parked?.body.toString(), '{"id":"A"}');
    const { headers } = parked;
    assert.equal(headers['cardauth-park-reason'], 'replays_exhausted');
    assert.equal(headers['cardauth-park-class'], 'exhausted');
    assert.equal(headers['cardauth-park-attempts'], 2);
    assert.equal(headers['cardauth-park-order-id'], 'A');
    assert.equal(headers['cardauth-park-origin-queue'], ordersQueue);
    assert.equal(headers['traceparent'], '00-abc');
    assert.match(String(headers['cardauth-park-error']), /2 replays since/);
    for (const name of ['cardauth-park-first-seen', 'cardauth-park-parked-at']) {
      assert.ok(Math.abs(Date.now() - Date.parse(String(headers[name]))) < 60_000);
    }
  });

  it('goes on when its connection is cut while orders are live, and acks none of them by a stale tag', async () => {
    const proxy = await startAmqpProxy({ target: url });
    let isCut = false;
    const runs = new Map<string, number>();
    try {
      const { consuming, spout } = await working(
        async ({ messageId = '' }) => {
          runs.set(messageId, (runs.get(messageId) ?? 0) + 1);
          await waitFor('the cut', () => isCut, { intervalMs: 5 });
        },
        { consumeUrl: proxy.url },
      );
      const ids = Array.from({ length: 20 }, (_, index) => `order-${index}`);
      for (const id of ids) await publish(id);
      await waitFor('all to be live', () => runs.size === 20);
      proxy.cut();
      await waitFor('the next connection', () => consuming.link?.epoch === 2, { intervalMs: 1 });
      isCut = true;
      await waitFor('every order to be acked on the new channel', () => spout.counts.acked === 20);
      assert.equal(spout.counts.stale, 20);
      assert.deepEqual(
        ids.map((id) => runs.get(id)),
        ids.map(() => 2),
      );
      await worker?.stop();
      await waitFor('an empty queue', async () => (await client.counts(ordersQueue))?.ready === 0);
    } finally {
      await proxy.close();
    }
  });

  it('resumes when the queue was deleted and created again, and says meanwhile what is missing', async () => {
    const { spout } = await working(() => undefined);
    await publish('A');
    await waitFor('the ack', () => spout.counts.acked === 1);
    await client.deleteQueue(ordersQueue);
    const because = await waitFor('the missing queue to be noticed', () => {
      const reason = spout.availability.unavailableBecause();
      return reason?.includes('does not exist') === true ? reason : undefined;
    });
    assert.match(because, new RegExp(`queue ${ordersQueue} does not exist on the broker: create it`));
    await client.declareQueue(ordersQueue);
    await publish('B');
    await waitFor('the ack', () => spout.counts.acked === 2);
    assert.equal(spout.availability.unavailableBecause(), undefined);
  });

  it('comes back when a deleted level queue is needed again', async () => {
    const { spout } = await working(
      ({ attempt }) => {
        if (attempt === 0) throw new Error('the database is away');
      },
      { holdUpToMs: 0 },
    );
    await client.deleteQueue(levelQueue);
    await publish('A');
    await waitFor('the ack', () => spout.counts.acked >= 1, { timeoutMs: 15_000 });
  });

  it('refuses a stream', async () => {
    await client.deleteQueue(ordersQueue);
    await client.declareQueue(ordersQueue, { 'x-queue-type': 'stream' });
    const { spout } = await working(() => undefined);
    await waitFor('the refusal', () => spout.availability.unavailableBecause()?.includes('is a stream'));
  });

  it('gives everything back that a drain finds, and flushes hundreds of acks sent just before it', async () => {
    const isLive: (() => void)[] = [];
    const { spout } = await working(
      () =>
        new Promise<void>((resolve) => {
          isLive.push(resolve);
        }),
      { maxSpoutPending: 300 },
    );
    await Promise.all(Array.from({ length: 310 }, (_, index) => publish(`order-${index}`)));
    await waitFor('three hundred live orders', () => isLive.length === 300);
    for (const finish of isLive) finish();
    await worker?.stop();
    assert.equal(spout.counts.acked, 300);
    await waitFor('the rest to be ready again', async () => (await client.counts(ordersQueue))?.ready === 10);
  });
});
