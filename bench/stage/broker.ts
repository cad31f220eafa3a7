import type { ConfirmChannel } from 'amqplib';
import { levelQueueOf, parkedQueueOf, unsealedQueueOf } from '../../src/adapters/rabbitmq/declare.ts';
import { connectToBroker } from '../contestants/connect-to-broker.ts';
import { orderNumber } from '../contestants/order-message.ts';

/** An announcement as it reached downstream. */
export interface Receipt {
  readonly orderId: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

/** The broker: the orders queue, and downstream's queue, both quorum queues, with names of this run's own. */
export interface Broker {
  readonly url: string;
  readonly version: string;
  readonly ordersQueue: string;
  readonly exchange: string;
  readonly prefix: string;
  /** Both queues new and empty. */
  clear(): Promise<void>;
  /** Puts orders `first`, `first + 1`, ... on the queue, and resolves when all are confirmed. */
  publish(first: number, count: number): Promise<void>;
  /** One order; its confirm is waited for in `confirmed`. */
  publishOne(n: number): void;
  confirmed(): Promise<void>;
  /**
   * Takes what is left on the orders queue, and says how much of it no consumer ever had. (What one had comes back when
   * its ack was dropped: the broker does that to acks that it has not got round to when their channel is closed.)
   */
  neverTaken(): Promise<number>;
  receiptsWaiting(): Promise<number>;
  /** Takes all announcements off downstream's queue. */
  takeReceipts(): Promise<readonly Receipt[]>;
  /** Hands over each announcement from now on; the function returned ends it. */
  receive(onReceipt: (receipt: Receipt) => void): Promise<() => Promise<void>>;
  /** Deletes all that is ours, what workers declared included. */
  close(): Promise<void>;
}

const CONFIRM_EVERY = 2_000;
const QUORUM = { durable: true, arguments: { 'x-queue-type': 'quorum' } };
/** Defaults of CARDAUTH_RETRY_LEVELS_MS. */
const RETRY_LEVELS_MS = [1_000, 5_000, 30_000, 120_000, 600_000, 3_600_000];

export async function openBroker(url: string, prefix: string): Promise<Broker> {
  const connection = await connectToBroker(url);
  const channel = await connection.createConfirmChannel();
  const [ordersQueue, exchange, receipts] = [`${prefix}.orders`, `${prefix}.processed`, `${prefix}.receipts`];
  await channel.assertExchange(exchange, 'topic', { durable: true });

  const deleteQueues = async (...names: readonly string[]): Promise<void> => {
    for (const name of names) await channel.deleteQueue(name);
  };
  const publishOne = (n: number): void => {
    channel.sendToQueue(ordersQueue, Buffer.from(JSON.stringify(orderNumber(n))), {
      persistent: true,
      messageId: `bench-${n}`,
    });
  };
  return {
    url,
    version: connection.connection.serverProperties.version,
    ordersQueue,
    exchange,
    prefix,
    async clear() {
      await deleteQueues(ordersQueue, receipts);
      await channel.assertQueue(ordersQueue, QUORUM);
      await channel.assertQueue(receipts, QUORUM);
      await channel.bindQueue(receipts, exchange, '#');
    },
    async publish(first, count) {
      for (let n = first; n < first + count; n += 1) {
        publishOne(n);
        if (n % CONFIRM_EVERY === 0) await channel.waitForConfirms();
      }
      await channel.waitForConfirms();
    },
    publishOne,
    confirmed: () => channel.waitForConfirms(),
    async neverTaken() {
      let untouched = 0;
      for (;;) {
        const message = await channel.get(ordersQueue, { noAck: true });
        if (message === false) return untouched;
        if (!message.fields.redelivered) untouched += 1;
      }
    },
    receiptsWaiting: async () => (await channel.checkQueue(receipts)).messageCount,
    takeReceipts: () => takeAll(channel, receipts),
    receive: (onReceipt) => receive(channel, receipts, onReceipt),
    async close() {
      const levels = RETRY_LEVELS_MS.map((ms) => levelQueueOf(prefix, ordersQueue, ms));
      await deleteQueues(ordersQueue, receipts, ...levels, parkedQueueOf(prefix), unsealedQueueOf(prefix));
      for (const name of [exchange, `${prefix}.dlx`]) await channel.deleteExchange(name);
      await connection.close();
    },
  };
}

async function takeAll(channel: ConfirmChannel, queue: string): Promise<readonly Receipt[]> {
  const { messageCount } = await channel.checkQueue(queue);
  const taken: Receipt[] = [];
  if (messageCount === 0) return taken;
  let sayAllTaken: () => void;
  const allTaken = new Promise<void>((resolve) => (sayAllTaken = resolve));
  const end = await receive(channel, queue, (receipt) => {
    taken.push(receipt);
    if (taken.length === messageCount) sayAllTaken();
  });
  await allTaken;
  await end();
  return taken;
}

async function receive(
  channel: ConfirmChannel,
  queue: string,
  onReceipt: (receipt: Receipt) => void,
): Promise<() => Promise<void>> {
  const { consumerTag } = await channel.consume(
    queue,
    (message) => {
      if (message === null) return;
      const { orderId } = JSON.parse(message.content.toString()) as { readonly orderId: string };
      onReceipt({ orderId, atMs: performance.timeOrigin + performance.now() });
    },
    { noAck: true },
  );
  return async () => {
    await channel.cancel(consumerTag);
  };
}
