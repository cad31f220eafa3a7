import type { ChannelModel } from 'amqplib';
import { readOrder, type OrderMessage } from './order-message.ts';
import type { ContestantTask } from './task.ts';

/**
 * Works on up to `prefetch` orders at a time; each is acked when `work` is done with it. The function returned takes
 * no more in, and resolves when all that were under way are acked.
 */
export async function consumeOrders(
  connection: ChannelModel,
  { ordersQueue, prefetch }: ContestantTask,
  work: (order: OrderMessage) => Promise<void>,
): Promise<() => Promise<void>> {
  const channel = await connection.createChannel();
  await channel.prefetch(prefetch);
  const underWay = new Set<Promise<void>>();
  const { consumerTag } = await channel.consume(ordersQueue, (message) => {
    if (message === null) throw new Error(`the broker ended the consumer of ${ordersQueue}`);
    // A bench has no faults: whatever rejects ends the contestant, and the round with it.
    const done = work(readOrder(message.content)).then(() => {
      channel.ack(message);
      underWay.delete(done);
    });
    underWay.add(done);
  });
  return async () => {
    await channel.cancel(consumerTag);
    await Promise.all(underWay);
    await channel.close();
  };
}
