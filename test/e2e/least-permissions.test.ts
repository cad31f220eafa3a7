import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';

import { levelQueueOf, type DeclareMode } from '../../src/adapters/rabbitmq/declare.ts';
import { leastPermissions } from '../../src/adapters/rabbitmq/least-permissions.ts';
import { createBrokerUser } from '../support/broker-user.ts';
import { canAdministerBroker } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';
import { newOrderId, openStage, orderJson, suiteOwner, type Stage } from './stage.ts';

type QueueArguments = Readonly<Record<string, unknown>>;

describe('a worker with the least permissions', { skip: !canAdministerBroker }, () => {
  const owner = suiteOwner();
  let opened: Promise<Stage> | undefined;
  const stageOfAll = (): Promise<Stage> => (opened ??= openStage(owner));

  for (const [mode, kind, args] of [
    [
      'passive',
      'a quorum queue',
      { 'x-queue-type': 'quorum', 'x-max-length': 1_000, 'x-delivery-limit': 20 },
    ],
    ['passive', 'a classic queue', { 'x-max-length': 1_000, 'x-message-ttl': 600_000 }],
    ['none', 'a quorum queue', { 'x-queue-type': 'quorum', 'x-single-active-consumer': true }],
    ['none', 'a classic queue', { 'x-queue-type': 'classic', 'x-overflow': 'reject-publish' }],
    ['assert', 'a queue of its own', undefined],
  ] as const) {
    it(`in mode ${mode}, on ${kind}, runs an order from end to end and parks what is none`, async (t) => {
      await runAnOrder(t, await stageOfAll(), mode, args);
    });
  }
});

/** `args` undefined: queue and exchange are left to the worker. */
async function runAnOrder(
  t: TestContext,
  stage: Stage,
  mode: DeclareMode,
  args: QueueArguments | undefined,
): Promise<void> {
  const { client } = stage;
  const suffix = randomBytes(4).toString('hex');
  const names = {
    prefix: `own-${suffix}`,
    ordersQueue: `shop-${suffix}.orders`,
    exchange: `shop-${suffix}.done`,
  };
  const { prefix, ordersQueue, exchange } = names;
  const user = await createBrokerUser();
  const { configure, write, read } = leastPermissions({ ...names, mode });
  await user.allow(configure, write, read);
  if (args !== undefined) {
    await client.declareQueue(ordersQueue, args);
    await client.declareExchange(exchange);
  }
  t.after(async () => {
    const levels = [300, 1_000].map((ms) => levelQueueOf(prefix, ordersQueue, ms));
    for (const queue of [ordersQueue, `${prefix}.parked`, ...levels]) await client.deleteQueue(queue);
    for (const name of [exchange, `${prefix}.dlx`]) await client.deleteExchange(name);
    await user.drop();
  });

  const worker = await stage.startWorker({
    AMQP_URL: user.url,
    CARDAUTH_BROKER_DECLARE: mode,
    CARDAUTH_BROKER_PREFIX: prefix,
    CARDAUTH_ORDERS_QUEUE: ordersQueue,
    CARDAUTH_NOTIFICATIONS_EXCHANGE: exchange,
  });
  const receipts = await client.collect(exchange);
  const orderId = newOrderId();
  await client.publish({ routingKey: ordersQueue, body: Buffer.from(orderJson(orderId)) });
  await client.publish({ routingKey: ordersQueue, body: Buffer.from('no order') });
  await stage.announced(orderId);
  const parked = await waitFor('what is no order to be parked', () => parkedCount(stage, prefix));
  assert.ok(parked >= 1);
  assert.deepEqual(
    receipts.map(({ properties }) => properties.correlationId as unknown),
    [orderId],
  );
  worker.kill('SIGTERM');
  assert.equal((await worker.exited).code, 0);
  assert.equal((await client.counts(ordersQueue))?.ready, 0);
  assert.deepEqual(
    worker.lines.filter(({ text }) => text.includes('permission')),
    [],
  );
}

/** On the parked queue, or where a worker has moved it from there. */
async function parkedCount({ client, database }: Stage, prefix: string): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `select count(*)::int as count from cardauth.parked_orders
     where reason = 'unparseable' and parked_at > now() - interval '10 seconds'`,
  );
  return ((await client.counts(`${prefix}.parked`))?.ready ?? 0) + (rows[0]?.count ?? 0);
}
