/**
 * The adapter as the worker wires it, on a real broker: two connections, one publisher for copies and parked orders,
 * the spout, and a topology whose bolts are the test's own.
 */
import {
  declareLevelQueues,
  declareOrdersQueue,
  declareParkedQueue,
  levelQueueOf,
  parkedQueueOf,
  type DeclareMode,
} from '../../src/adapters/rabbitmq/declare.ts';
import { OrdersSpout } from '../../src/adapters/rabbitmq/orders-spout.ts';
import { BrokerParkingLot } from '../../src/adapters/rabbitmq/parking-lot.ts';
import { Publisher } from '../../src/adapters/rabbitmq/publisher.ts';
import { RetryCopies } from '../../src/adapters/rabbitmq/retry-copies.ts';
import { asUpstreamSentIt } from '../../src/ports/copy-body.ts';
import type { OrderMessage } from '../../src/ports/message.ts';
import { TopologyBuilder } from '../../src/topology/builder.ts';
import { shuffle } from '../../src/topology/groupings.ts';
import { seededRandom, type RandomSource } from '../../src/topology/random.ts';
import { TopologyRunner } from '../../src/topology/runner.ts';
import { systemClock } from '../../src/topology/system-clock.ts';
import { realConnection, silentLog } from './scene.ts';

export interface OrderValues {
  readonly message: OrderMessage;
  readonly [field: string]: unknown;
}

export interface WorkerOptions {
  readonly consumeUrl: string;
  readonly publishUrl: string;
  readonly prefix: string;
  readonly ordersQueue: string;
  readonly mode?: DeclareMode;
  readonly levelsMs?: readonly number[];
  readonly holdUpToMs?: number;
  readonly maxReplays?: number;
  readonly maxSpoutPending?: number;
  /** Of the waits between attempts to connect. */
  readonly random?: RandomSource;
  /** What becomes of an order; a rejection fails its tree. */
  readonly execute: (message: OrderMessage) => Promise<void> | void;
}

export async function startWorker(options: WorkerOptions) {
  const { prefix, ordersQueue, levelsMs = [300], maxSpoutPending = 100 } = options;
  const common = { clock: systemClock, random: options.random ?? seededRandom(11), log: silentLog };
  const consuming = realConnection('consume', options.consumeUrl, options.random);
  const publishing = realConnection('publish', options.publishUrl, options.random);
  const publisher = new Publisher({
    ...common,
    name: 'retries and parked orders',
    connection: publishing,
    prepare: async (link) => {
      await declareParkedQueue({ link, ...common }, prefix);
      await declareLevelQueues({ link, ...common }, { prefix, ordersQueue, levelsMs });
    },
  });
  const parkingLot = new BrokerParkingLot({
    publisher,
    prefix,
    workerVersion: '0.0.0',
    clock: systemClock,
    copyBody: asUpstreamSentIt,
  });
  const spout = new OrdersSpout<OrderValues>({
    ...common,
    connection: consuming,
    queue: ordersQueue,
    prepare: (link) =>
      declareOrdersQueue(
        { link, ...common },
        { queue: ordersQueue, prefix, mode: options.mode ?? 'passive' },
      ),
    scheme: (message) => ({ messageId: message.messageId ?? 'no id', values: { message } }),
    parkingLot,
    retryCopies: new RetryCopies({ publisher, prefix, ordersQueue, levelsMs, copyBody: asUpstreamSentIt }),
    replayRules: { otherwise: { baseMs: 1, capMs: 10, maxReplays: options.maxReplays ?? 8 } },
    maxSpoutPending,
    ...(options.holdUpToMs === undefined ? {} : { holdUpToMs: options.holdUpToMs }),
  });
  const topology = new TopologyBuilder()
    .spout('orders', {
      spout,
      streams: { orders: ['message'], exhausted: ['message', 'exhaustedBecause'] },
      maxSpoutPending,
    })
    .bolt('work', {
      create: () => ({
        kind: 'basic' as const,
        execute: (tuple: { values: OrderValues }) => options.execute(tuple.values.message),
      }),
      inputs: [{ from: 'orders', stream: 'orders', grouping: shuffle }],
      concurrency: maxSpoutPending,
    })
    .bolt('park', {
      create: () => ({
        kind: 'basic' as const,
        execute: ({ values }: { values: OrderValues & { exhaustedBecause: string } }) =>
          parkingLot.park({
            orderId: values.message.messageId,
            reason: 'replays_exhausted',
            class: 'exhausted',
            error: values.exhaustedBecause,
            message: values.message,
            readable: true,
          }),
      }),
      inputs: [{ from: 'orders', stream: 'exhausted', grouping: shuffle }],
    })
    .build();
  const runner = new TopologyRunner(topology, {
    ...common,
    random: seededRandom(11),
    closeTimeoutMs: 15_000,
  });
  publishing.start();
  publisher.start();
  await runner.start();
  return {
    spout,
    runner,
    consuming,
    publishing,
    publisher,
    ownQueues: [parkedQueueOf(prefix), ...levelsMs.map((ms) => levelQueueOf(prefix, ordersQueue, ms))],
    stop: async () => {
      const report = await runner.drain(5_000);
      await publisher.close();
      await publishing.close();
      return report;
    },
  };
}

export type Worker = Awaited<ReturnType<typeof startWorker>>;
