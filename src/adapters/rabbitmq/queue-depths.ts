/** Depths by passive declares, each on a channel of its own: a refusal closes its channel, and says why. */
import type { Log } from '../../ports/log.ts';
import type { QueueDepth, QueueDepths } from '../../ports/queue-depths.ts';
import type { Clock } from '../../topology/clock.ts';
import { RetriableError } from '../../topology/errors.ts';
import type { RandomSource } from '../../topology/random.ts';
import { BrokerConnection } from './connection.ts';
import { withDeadline } from './deadline.ts';
import { levelQueueOf, parkedQueueOf } from './declare.ts';
import { parseAmqpUrls } from './endpoint.ts';
import type { Link } from './link.ts';

export interface QueueDepthsOptions {
  readonly urls: string;
  readonly ordersQueue: string;
  readonly prefix: string;
  readonly levelsMs: readonly number[];
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Log;
}

const CONNECT_WALL_MS = 3_000;
const CHECK_WALL_MS = 3_000;

/** Keeps one connection, and connects again when it was lost. */
export function openQueueDepths(options: QueueDepthsOptions): QueueDepths & { close(): Promise<void> } {
  const connection = new BrokerConnection({
    ...options,
    role: 'publish',
    endpoints: parseAmqpUrls(options.urls),
  });
  const queues = queuesOf(options);
  connection.start();
  return {
    async look() {
      const link = await connected(connection);
      return Promise.all(queues.map((each) => depthOf(link, each, options.clock)));
    },
    close: () => connection.close(),
  };
}

interface KnownQueue {
  readonly role: string;
  readonly queue: string;
}

function queuesOf({ levelsMs, ordersQueue, prefix }: QueueDepthsOptions): KnownQueue[] {
  const levels = levelsMs.map((levelMs) => ({
    role: `retry ${levelMs} ms`,
    queue: levelQueueOf(prefix, ordersQueue, levelMs),
  }));
  return [
    { role: 'orders', queue: ordersQueue },
    { role: 'parked', queue: parkedQueueOf(prefix) },
    ...levels,
  ];
}

async function connected(connection: BrokerConnection): Promise<Link> {
  try {
    return await connection.whenOpen(AbortSignal.timeout(CONNECT_WALL_MS));
  } catch (cause) {
    const because = connection.unavailableBecause() ?? 'no answer';
    throw new RetriableError(because, { errorClass: 'publisher_unavailable', cause });
  }
}

async function depthOf(link: Link, { queue, role }: KnownQueue, clock: Clock): Promise<QueueDepth> {
  const opened = await link.openChannel();
  try {
    const checking = opened.channel.checkQueue(queue);
    const counts = await withDeadline(clock, CHECK_WALL_MS, `checking ${queue}`, checking);
    return { role, queue, ready: counts.messageCount, consumers: counts.consumerCount, problem: undefined };
  } catch (error) {
    return { role, queue, ready: undefined, consumers: undefined, problem: problemOf(error) };
  } finally {
    void opened.close();
  }
}

function problemOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 404) return 'it does not exist';
  if (code === 403) return 'no right to look at it';
  return error instanceof Error ? error.message : 'unknown trouble';
}
