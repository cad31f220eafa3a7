/** The limit: consume, one gateway call, ack. Nothing is durable and nobody is told, so nothing can be faster. */
import { chargingClient } from './charge.ts';
import { connectToBroker } from './connect-to-broker.ts';
import { consumeOrders } from './consume-orders.ts';
import { endOnSignal, readTask } from './task.ts';

const task = readTask();
const gateway = chargingClient(task.gatewayUrl);
const connection = await connectToBroker(task.amqpUrl);
const stopConsuming = await consumeOrders(connection, task, async (order) => {
  await gateway.charge(order);
});
endOnSignal(async () => {
  await stopConsuming();
  await connection.close();
});
