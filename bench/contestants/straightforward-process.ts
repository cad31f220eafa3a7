/**
 * The worker that a careful engineer writes: claim, charge, record, announce with a confirm, mark, ack. Each step is
 * durable before the next, in a statement of its own; many orders are under way at a time.
 */
import { openAnnouncer } from './announce.ts';
import { chargingClient } from './charge.ts';
import { connectToBroker } from './connect-to-broker.ts';
import { consumeOrders } from './consume-orders.ts';
import { openOrderTable, openPool } from './order-table.ts';
import { endOnSignal, readTask } from './task.ts';

/** Of 20, 50 and 90 none is faster than another by more than the noise. */
const POOL_SIZE = 50;

const task = readTask();
const gateway = chargingClient(task.gatewayUrl);
const table = openOrderTable(openPool(task.databaseUrl, POOL_SIZE));
const connection = await connectToBroker(task.amqpUrl);
const announcer = await openAnnouncer(connection, task.exchange);
const stopConsuming = await consumeOrders(connection, task, async (order) => {
  await table.claim(order);
  const reference = await gateway.charge(order);
  await table.recordApproval(order.id, reference);
  await announcer.announce(order, reference);
  await table.markNotified(order.id);
});
endOnSignal(async () => {
  await stopConsuming();
  await connection.close();
  await table.close();
});
