/**
 * A broker as those outside the worker see it: downstream, which receives announcements, and a counter of what is left.
 * For the demo, which believes only what is seen from outside.
 */
import type { Channel, ConsumeMessage } from 'amqplib';

import type { Log } from '../../ports/log.ts';
import { systemClock, systemRandom } from '../../topology/system-clock.ts';
import type { OpenedChannel } from './channel.ts';
import { BrokerConnection } from './connection.ts';
import {
  declareLevelQueues,
  declareNotificationExchange,
  declareOrdersQueue,
  declareUnsealedQueue,
  levelQueueOf,
  parkedQueueOf,
  unsealedQueueOf,
} from './declare.ts';
import { parseAmqpUrls } from './endpoint.ts';
import type { Link } from './link.ts';

export interface ObserverOptions {
  readonly urls: string;
  readonly ordersQueue: string;
  readonly exchange: string;
  readonly prefix: string;
  readonly levelsMs: readonly number[];
  readonly log: Log;
  readonly onAnnouncement: (message: SeenMessage) => void;
}

export interface SeenMessage {
  readonly messageId: string | undefined;
  readonly correlationId: string | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Uint8Array;
}

export interface BrokerObserver {
  /** Messages ready on the orders queue, on the delay queues, and parked ones that are not recorded. */
  messagesLeft(): Promise<number>;
  /** Deletes everything that was declared, and disconnects. */
  deleteEverything(): Promise<void>;
  close(): Promise<void>;
}

const CONNECT_WALL_MS = 10_000;

/** Declares queue, exchange and delay queues, and begins to watch. */
export async function observeBroker(options: ObserverOptions): Promise<BrokerObserver> {
  const means = { clock: systemClock, random: systemRandom(), log: options.log };
  const { ordersQueue, exchange, prefix, levelsMs } = options;
  const connection = new BrokerConnection({
    ...means,
    role: 'consume',
    endpoints: parseAmqpUrls(options.urls),
  });
  connection.start();
  const link = await connection.whenOpen(AbortSignal.timeout(CONNECT_WALL_MS));

  await declareOrdersQueue({ ...means, link }, { queue: ordersQueue, prefix, mode: 'assert' });
  await declareNotificationExchange({ ...means, link }, { exchange, mode: 'assert' });
  await declareLevelQueues({ ...means, link }, { prefix, ordersQueue, levelsMs });
  await declareUnsealedQueue({ ...means, link }, prefix);
  await watch(link, options);

  const levels = levelsMs.map((levelMs) => levelQueueOf(prefix, ordersQueue, levelMs));
  const queues = [ordersQueue, ...levels, parkedQueueOf(prefix)];
  return {
    async messagesLeft() {
      const counts = await Promise.all(queues.map((queue) => readyIn(link, queue)));
      return counts.reduce((sum, ready) => sum + ready, 0);
    },
    async deleteEverything() {
      const opened = await link.openChannel();
      for (const queue of [...queues, unsealedQueueOf(prefix)]) await opened.channel.deleteQueue(queue);
      for (const name of [exchange, `${prefix}.dlx`]) await opened.channel.deleteExchange(name);
      await opened.close();
      await connection.close();
    },
    close: () => connection.close(),
  };
}

async function watch(link: Link, { exchange, onAnnouncement }: ObserverOptions): Promise<void> {
  const { channel } = await link.openChannel();
  const { queue } = await channel.assertQueue('', { exclusive: true });
  await channel.bindQueue(queue, exchange, '#');
  await consume(channel, queue, onAnnouncement);
}

async function consume(
  channel: Channel,
  queue: string,
  onMessage: (message: SeenMessage) => void,
): Promise<void> {
  await channel.consume(
    queue,
    (message) => {
      if (message !== null) onMessage(seen(message));
    },
    { noAck: true },
  );
}

function seen({ content, properties }: ConsumeMessage): SeenMessage {
  return {
    messageId: textOf(properties.messageId),
    correlationId: textOf(properties.correlationId),
    headers: properties.headers ?? {},
    body: content,
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

async function readyIn(link: Link, queue: string): Promise<number> {
  const opened: OpenedChannel<Channel> = await link.openChannel();
  try {
    return (await opened.channel.checkQueue(queue)).messageCount;
  } finally {
    await opened.close();
  }
}
