/** graphile-worker: the same steps as a task; its jobs are in its table before it starts (see README.md). */
import amqp from 'amqplib';
import { Logger, run } from 'graphile-worker';
import { openAnnouncer } from './announce.ts';
import { chargingClient } from './charge.ts';
import { JOB_NAME } from './graphile-jobs.ts';
import type { OrderMessage } from './order-message.ts';
import { openOrderTable, openPool } from './order-table.ts';
import { endOnSignal, readTask } from './task.ts';

const POOL_SIZE = Number(process.env['BENCH_POOL'] ?? 50);
const CONCURRENCY = Number(process.env['BENCH_CONC'] ?? 100);

const task = readTask();
const gateway = chargingClient(task.gatewayUrl);
const pgPool = openPool(task.databaseUrl, POOL_SIZE);
const table = openOrderTable(pgPool);
const connection = await amqp.connect(task.amqpUrl);
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
