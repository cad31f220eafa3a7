/** What befalls the broker itself, under load; each on a broker that nobody else uses. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { canStartOwnBroker, startOwnBroker, type OwnBroker } from '../support/own-broker.ts';
import { bySize } from '../support/scale.ts';
import { waitFor } from '../support/wait-for.ts';
import { beginOrdeal, parkedRows } from './ordeal.ts';
import { levelQueueOf } from '../../src/adapters/rabbitmq/declare.ts';
import { newOrderId, orderJson, suiteOwner } from './stage.ts';

/** Of an outage. */
const AWAY_MS = bySize(4_000, 10_000);
const PATIENCE = { timeoutMs: 90_000 };

describe('what befalls the broker', { concurrency: false, skip: !canStartOwnBroker }, () => {
  const owner = suiteOwner();
  let broker: OwnBroker;

  before(async () => {
    broker = await startOwnBroker(owner);
  });

  it('closes all connections, three times', async (t) => {
    const ordeal = await beginOrdeal(t, { amqpUrl: broker.url });
    const worker = await ordeal.startWorker();
    await ordeal.underLoad(async () => {
      for (let round = 0; round < 3; round += 1) {
        const { total } = ordeal.proxy.connections;
        await broker.rabbitmqctl('close_all_connections', 'test');
        await waitFor(
          'both connections to be back',
          () => ordeal.proxy.connections.total >= total + 2,
          PATIENCE,
        );
        await worker.ready(PATIENCE);
      }
    });
    await ordeal.expectBalance();
  });

  for (const type of ['quorum', 'classic']) {
    it(`loses the orders queue for ${AWAY_MS} ms, and gets it back as a ${type} queue`, async (t) => {
      const ordeal = await beginOrdeal(t, { amqpUrl: broker.url });
      const { client, broker: names } = ordeal.stage;
      const worker = await ordeal.startWorker();
      await ordeal.underLoad(async () => {
        await client.deleteQueue(names.ordersQueue);
        await worker.unready(/orders queue: .*(cancelled the consumer|does not exist)/, PATIENCE);
        await sleep(AWAY_MS);
        await client.declareQueue(names.ordersQueue, { 'x-queue-type': type });
        await worker.ready(PATIENCE);
      });
      // Gone with the queue is what was on it: no worker can know of that.
      await ordeal.publishUnfinishedAgain();
      await ordeal.expectBalance();
    });
  }

  it('loses the notification exchange for a while: whatever was decided is announced later', async (t) => {
    const ordeal = await beginOrdeal(t, { amqpUrl: broker.url });
    const { client, broker: names } = ordeal.stage;
    const worker = await ordeal.startWorker();
    await ordeal.underLoad(async () => {
      await client.deleteExchange(names.exchange);
      await worker.unready(/notifications: exchange .* does not exist/, PATIENCE);
      await sleep(AWAY_MS);
      await client.declareExchange(names.exchange);
      await ordeal.bindReceipts();
      await worker.ready(PATIENCE);
    });
    await ordeal.expectBalance();
  });

  it('loses a delay queue and the parking lot: they are declared again when they are needed', async (t) => {
    const ordeal = await beginOrdeal(t, { amqpUrl: broker.url });
    const { client, broker: names, gateway } = ordeal.stage;
    await ordeal.startWorker();
    const [retried, hopeless] = [newOrderId(), newOrderId()];
    await gateway.setFaults([
      { match: { orderId: retried }, fault: { kind: '429', retryAfter: 1 }, times: 2 },
    ]);
    await ordeal.underLoad(async () => {
      for (const ms of [300, 1_000])
        await client.deleteQueue(levelQueueOf(names.prefix, names.ordersQueue, ms));
      await client.deleteQueue(`${names.prefix}.parked`);
      await ordeal.publish(orderJson(retried), retried);
      await ordeal.publish(orderJson(hopeless, { chargeAmount: 42.235 }), hopeless);
    });
    await ordeal.expectBalance({ parked: 1 });
  });

  it('finds that a consumer held an order for too long: channel closed, order charged once', async (t) => {
    await broker.rabbitmqctl(
      'eval',
      'application:set_env(rabbit, consumer_timeout, 2000), application:set_env(rabbit, channel_tick_interval, 500).',
    );
    const ordeal = await beginOrdeal(t, { amqpUrl: broker.url });
    const worker = await ordeal.startWorker();
    const held = newOrderId();
    await ordeal.stage.gateway.setFaults([{ match: { orderId: held }, fault: { kind: 'hold' } }]);
    await ordeal.underLoad(async () => {
      await ordeal.publish(orderJson(held), held);
      await worker.process.waitForLine(
        (line) => /delivery acknowledgement.*timed out/.test(line.text),
        PATIENCE,
      );
      await broker.rabbitmqctl(
        'eval',
        'application:set_env(rabbit, consumer_timeout, 1800000), application:set_env(rabbit, channel_tick_interval, 60000).',
      );
      await ordeal.stage.gateway.release();
      await worker.ready(PATIENCE);
    });
    await ordeal.expectBalance();
  });

  it('runs low on memory, then on disk: the intake is held, and resumes', async (t) => {
    const ordeal = await beginOrdeal(t, { amqpUrl: broker.url });
    const worker = await ordeal.startWorker();
    const alarms = [
      { set: ['set_vm_memory_high_watermark', '0.00001'], clear: ['set_vm_memory_high_watermark', '0.4'] },
      { set: ['set_disk_free_limit', '9000GB'], clear: ['set_disk_free_limit', '1MB'] },
    ];
    await ordeal.underLoad(async () => {
      for (const { set, clear } of alarms) {
        // Only who publishes is told of an alarm, so orders must be under way that are announced after it began.
        await ordeal.stage.gateway.setFaults([{ fault: { kind: 'delay', ms: 4_000 } }]);
        for (let n = 0; n < 20; n += 1) await ordeal.publish();
        await broker.rabbitmqctl(...set);
        try {
          await worker.unready(/the broker blocks publishing/, PATIENCE);
          await ordeal.stage.gateway.setFaults([]);
          await sleep(AWAY_MS);
        } finally {
          await broker.rabbitmqctl(...clear);
        }
        await worker.ready(PATIENCE);
      }
    });
    await ordeal.expectBalance();
  });

  it('is stopped and started, then killed and started', async (t) => {
    const ordeal = await beginOrdeal(t, { amqpUrl: broker.url });
    const worker = await ordeal.startWorker();
    await ordeal.underLoad(async () => {
      await broker.rabbitmqctl('stop_app');
      await worker.unready(/orders queue: /, PATIENCE);
      await broker.rabbitmqctl('start_app');
      await worker.ready(PATIENCE);
      await broker.kill();
      await worker.unready(/orders queue: /, PATIENCE);
      await broker.startAgain();
      await worker.ready(PATIENCE);
    });
    await ordeal.expectBalance();
  });

  it('has a delivery limit of 3, and the worker dies five times: every order is announced or parked', async (t) => {
    const ordeal = await beginOrdeal(t, { amqpUrl: broker.url });
    const { broker: names, client, gateway } = ordeal.stage;
    const first = await ordeal.startWorker();
    first.process.kill('SIGKILL');
    await first.process.exited;
    // As operators set it by policy: with the dead letters of the worker's own, they go to the parking lot.
    await client.deleteQueue(names.ordersQueue);
    await client.declareQueue(names.ordersQueue, {
      'x-queue-type': 'quorum',
      'x-delivery-limit': 3,
      'x-dead-letter-exchange': `${names.prefix}.dlx`,
      'x-dead-letter-strategy': 'at-least-once',
      'x-overflow': 'reject-publish',
    });
    await gateway.setFaults([{ fault: { kind: 'hold-before-charge' } }]);
    for (let n = 0; n < 80; n += 1) await ordeal.publish();
    for (let crash = 0; crash < 5; crash += 1) {
      const { delivered } = ordeal.watched;
      const worker = await ordeal.startWorker({ CARDAUTH_MAX_SPOUT_PENDING: '40' });
      await waitFor(
        'a prefetch full of orders',
        () => ordeal.watched.delivered >= Math.min(delivered + 50, 250),
        PATIENCE,
      ).catch(() => undefined); // Later crashes find fewer orders: the others are parked by then.
      worker.process.kill('SIGKILL');
      await worker.process.exited;
    }
    await gateway.setFaults([]);
    await ordeal.startWorker();
    const parked = await waitFor(
      'every order to be somewhere',
      async () => {
        const lot = (await parkedRows(ordeal.stage)).length;
        const announced = ordeal.stage.receipts.length;
        return lot + announced >= 80 ? { lot } : undefined;
      },
      PATIENCE,
    );
    t.diagnostic(`${parked.lot} of 80 orders were parked by the broker`);
    assert.ok(parked.lot > 0, 'the limit was never reached');
    await ordeal.expectBalance({ parked: parked.lot });
  });
});
