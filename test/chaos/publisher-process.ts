/** Upstream: publishes the demo's orders at a steady pace, each until the broker has confirmed it, and keeps a journal. */
import { setTimeout as sleep } from 'node:timers/promises';
import { demoOrders, type DemoOrder } from '../../src/demo/orders.ts';
import { openSteadyPublisher } from '../support/steady-publisher.ts';
import { EXPIRING_QUEUE, wayOf } from './expiring.ts';
import { record } from './files.ts';

export interface PublisherTask {
  readonly folder: string;
  readonly urls: string;
  readonly queue: string;
  /** Of all messages; those before `from` are left out. */
  readonly orders: number;
  readonly from: number;
  readonly overMs: number;
  /** Some go by the queue on which they expire: see expiring.ts. */
  readonly someExpire: boolean;
}

/** A line of journal.ndjson. */
export interface JournalEntry {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly messageId: string;
  /** undefined where the message has no usable one. */
  readonly orderId?: string;
  /** `confirmed`, or why not. */
  readonly outcome: string;
}

const task = JSON.parse(process.argv[2] ?? '') as PublisherTask;
const { folder, from, overMs, queue, urls } = task;
const orders = demoOrders(task.orders).slice(from);
const orderIds = new Map(orders.map(({ messageId, orderId }) => [messageId, orderId]));
const [publisher, expiring] = [queue, EXPIRING_QUEUE].map((name) =>
  openSteadyPublisher({
    urls,
    queue: name,
    onAttempt: ({ messageId, outcome }) => {
      const orderId = orderIds.get(messageId);
      record(folder, 'journal', { atMs: Date.now(), messageId, orderId, outcome });
    },
  }),
);

const startedAtMs = performance.now();
const publishing: Promise<void>[] = [];
for (const [index, order] of orders.entries()) {
  const dueInMs = startedAtMs + (index * overMs) / orders.length - performance.now();
  if (dueInMs > 1) await sleep(dueInMs);
  publishing.push(publish(order));
}
await Promise.all(publishing);
await publisher?.close();
await expiring?.close();

async function publish(order: DemoOrder): Promise<void> {
  const message = { body: Buffer.from(order.body), messageId: order.messageId };
  const way = task.someExpire ? wayOf(order) : 'orders';
  if (way !== 'orders') await expiring?.publish(message);
  if (way !== 'expiring') await publisher?.publish(message);
}
