/** graphile-worker: the same steps as a task; its jobs are in its table before it starts (see README.md). */
import { Logger, run } from 'graphile-worker';
import { openAnnouncer } from './announce.ts';
import { chargingClient } from './charge.ts';
import { connectToBroker } from './connect-to-broker.ts';
import { JOB_NAME } from './graphile-jobs.ts';
import type { OrderMessage } from './order-message.ts';
import { openOrderTable, openPool } from './order-table.ts';
import { endOnSignal, readTask } from './task.ts';

/** The fastest of those tried: 20/50, 50/50, 50/100, 90/200. */
const POOL_SIZE = 90;
const CONCURRENCY = 200;

const task = readTask();
const gateway = chargingClient(task.gatewayUrl);
const pgPool = openPool(task.databaseUrl, POOL_SIZE);
const table = openOrderTable(pgPool);
const connection = await connectToBroker(task.amqpUrl);
const announcer = await openAnnouncer(connection, task.exchange);

const runner = await run({
  pgPool,
  concurrency: CONCURRENCY,
  noHandleSignals: true,
  logger: new Logger(() => () => undefined),
  taskList: {
    [JOB_NAME]: async (payload) => {
      const order = payload as OrderMessage;
      await table.claim(order);
      const reference = await gateway.charge(order);
      await table.recordApproval(order.id, reference);
      await announcer.announce(order, reference);
      await table.markNotified(order.id);
    },
  },
});
endOnSignal(async () => {
  await runner.stop();
  await connection.close();
  await table.close();
});
