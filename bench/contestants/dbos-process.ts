/** DBOS Transact: an order is a workflow of four steps, named after the order; its message is acked when it has ended. */
import { DBOS } from '@dbos-inc/dbos-sdk';
import { openAnnouncer } from './announce.ts';
import { chargingClient } from './charge.ts';
import { connectToBroker } from './connect-to-broker.ts';
import { consumeOrders } from './consume-orders.ts';
import type { OrderMessage } from './order-message.ts';
import { openOrderTable, openPool } from './order-table.ts';
import { endOnSignal, readTask } from './task.ts';

/** The fastest of those tried: 10, 20, 50, 90; for its own tables and for ours. */
const POOL_SIZE = 20;

const task = readTask();
const gateway = chargingClient(task.gatewayUrl);
const table = openOrderTable(openPool(task.databaseUrl, POOL_SIZE));
const connection = await connectToBroker(task.amqpUrl);
const announcer = await openAnnouncer(connection, task.exchange);

const authorize = DBOS.registerWorkflow(
  async (order: OrderMessage) => {
    await DBOS.runStep(() => table.claim(order), { name: 'claim' });
    const reference = await DBOS.runStep(() => gateway.charge(order), { name: 'charge' });
    await DBOS.runStep(() => table.recordApproval(order.id, reference), { name: 'record' });
    await DBOS.runStep(
      async () => {
        await announcer.announce(order, reference);
        await table.markNotified(order.id);
      },
      { name: 'announce' },
    );
  },
  { name: 'authorize' },
);

DBOS.setConfig({
  name: 'cardauth-bench',
  systemDatabaseUrl: task.databaseUrl,
  systemDatabasePoolSize: POOL_SIZE,
  logLevel: 'error',
});
await DBOS.launch();
const stopConsuming = await consumeOrders(connection, task, async (order) => {
  const workflow = await DBOS.startWorkflow(authorize, { workflowID: `order-${order.id}` })(order);
  await workflow.getResult();
});
endOnSignal(async () => {
  await stopConsuming();
  await connection.close();
  await DBOS.shutdown();
  await table.close();
});
