/**
 * A worker under load while something happens between it and its broker, and the books afterwards: ledger, database,
 * receipts, parking lot and queues are held against each other, and the worker's own word counts for nothing.
 *
 * Upstream publishes each order until it is confirmed; downstream's queue is durable, so that what was announced is
 * still there after a restart of the broker. Everything the worker sends and receives goes through a proxy that
 * watches settlements.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { levelQueueOf } from '../../src/adapters/rabbitmq/declare.ts';
import { balance, type Books, type PublishedOrder } from '../../src/demo/books.ts';
import type { AmqpFrame } from '../support/amqp-frames.ts';
import { connectBroker, type BrokerClient } from '../support/broker-client.ts';
import { watchSettlements, type SettlementWatch } from '../support/settlement-watch.ts';
import { startAmqpProxy, type Proxy } from '../support/tcp-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import type { ParkedRow } from './parked-orders.ts';
import { startObserved, type ObservedWorker } from './observed-worker.ts';
import {
  newOrderId,
  openStage,
  orderJson,
  type Environment,
  type OrderRow,
  type Owner,
  type Stage,
} from './stage.ts';

export interface OrdealOptions {
  /** Of the broker; the common one by default. */
  readonly amqpUrl?: string;
  readonly ordersPerSecond?: number;
  readonly environment?: Environment;
  /** Declares the orders queue like this; a plain quorum queue by default. */
  readonly queueArguments?: Readonly<Record<string, unknown>>;
}

export interface Ordeal {
  readonly stage: Stage;
  readonly proxy: Proxy<AmqpFrame>;
  readonly watched: SettlementWatch;
  /** Every order whose message was confirmed. */
  readonly published: readonly PublishedOrder[];
  startWorker(change?: Environment, until?: 'ready' | 'started'): Promise<ObservedWorker>;
  /** Publishes one order, until it is confirmed. */
  publish(body?: string, orderId?: string): Promise<void>;
  /** Publishes what is no order, until it is confirmed. */
  publishUnreadable(body: string): Promise<void>;
  /** Publishes every order once more that is not announced yet, as upstream would after a loss of its queue. */
  publishUnfinishedAgain(): Promise<void>;
  /** Orders come in at a steady pace before, during and after `fault`. */
  underLoad(fault: () => Promise<void>): Promise<void>;
  /** Binds downstream's queue, which an exchange that was deleted has lost. */
  bindReceipts(): Promise<void>;
  /** Waits until every order is announced or parked, ends the workers in good order, and asserts that all is well. */
  expectBalance(options?: { readonly parked?: number; readonly timeoutMs?: number }): Promise<Books>;
}

const SETTINGS = { LOG_LEVEL: 'info' };
const BEFORE_MS = 500;
const AFTER_MS = 1_000;

export async function beginOrdeal(owner: Owner, options: OrdealOptions = {}): Promise<Ordeal> {
  const stage = await openStage(owner, options);
  const { broker } = stage;
  const watched = watchSettlements();
  const proxy = await startAmqpProxy({ target: broker.url, watch: watched.watch });
  const upstream = new Upstream(broker.url);
  const receiptsQueue = `${broker.prefix}.receipts`;
  if (options.queueArguments !== undefined) {
    await stage.client.deleteQueue(broker.ordersQueue);
    await stage.client.declareQueue(broker.ordersQueue, options.queueArguments);
  }
  await stage.client.declareQueue(receiptsQueue);
  await stage.client.bind(receiptsQueue, broker.exchange, '#');
  owner.after(async () => {
    await upstream.ask((client) => client.deleteQueue(receiptsQueue));
    await upstream.close();
    await proxy.close();
  });

  const published: PublishedOrder[] = [];
  const bodies = new Map<string, string>();
  const workers: ObservedWorker[] = [];

  const ordeal: Ordeal = {
    stage,
    proxy,
    watched,
    published,
    async startWorker(change = {}, until = 'ready') {
      const environment = { ...SETTINGS, ...options.environment, AMQP_URL: proxy.url, ...change };
      const worker = await startObserved(stage, environment, until);
      workers.push(worker);
      return worker;
    },
    async publish(body, orderId = newOrderId()) {
      const text = body ?? orderJson(orderId);
      await upstream.publish(broker.ordersQueue, text, orderId);
      bodies.set(orderId, text);
      published.push({ messageId: orderId, orderId, amountMinor: 4223n });
    },
    async publishUnreadable(body) {
      const messageId = newOrderId();
      await upstream.publish(broker.ordersQueue, body, messageId);
      published.push({ messageId, orderId: undefined, amountMinor: undefined });
    },
    async publishUnfinishedAgain() {
      const announced = await announcedOrders(stage);
      const unfinished = [...bodies].filter(([orderId]) => !announced.has(orderId));
      for (const [orderId, body] of unfinished) await upstream.publish(broker.ordersQueue, body, orderId);
    },
    async underLoad(fault) {
      const publishing: Promise<void>[] = [];
      const timer = setInterval(
        () => publishing.push(ordeal.publish()),
        1_000 / (options.ordersPerSecond ?? 30),
      );
      try {
        await sleep(BEFORE_MS);
        await fault();
        await sleep(AFTER_MS);
      } finally {
        clearInterval(timer);
      }
      await Promise.all(publishing);
    },
    bindReceipts: () => upstream.ask((client) => client.bind(receiptsQueue, broker.exchange, '#')),
    async expectBalance({ parked: expectedParked = 0, timeoutMs = 60_000 } = {}) {
      const queues = queuesOf(stage);
      await waitFor(
        'every order to be announced or parked, and the queues to be empty',
        async () => {
          const announced = await announcedOrders(stage);
          const missing = published.filter(({ orderId = '' }) => !announced.has(orderId)).length;
          const left = await upstream.ask((client) => readyIn(client, queues));
          return missing === expectedParked && left === 0;
        },
        { timeoutMs, intervalMs: 200 },
      ).catch(() => undefined); // The books say it better.
      for (const worker of workers) await expectGoodEnd(worker);
      await finishLeftovers(ordeal, () => upstream.ask((client) => readyIn(client, queues)));

      const receipts = await upstream.ask((client) => client.takeAll(receiptsQueue));
      const parked = await parkedRows(stage);
      const books = balance({
        published: [...new Map(published.map((order) => [order.messageId, order])).values()],
        approvals: await stage.gateway.approvals(),
        orders: (await rowsOf(stage)).map((row) => ({
          orderId: row.order_id,
          status: row.status,
          amountMinor: BigInt(row.amount_minor),
          currency: row.currency,
          gatewayReference: row.gateway_reference ?? undefined,
          notified: row.notified_at !== null,
        })),
        receipts: receipts.map(({ properties, body }) => {
          const { orderId, status } = JSON.parse(body.toString()) as { orderId: string; status: string };
          return { orderId, status, eventId: properties.messageId as string };
        }),
        parked: parked.map((row) => ({
          orderId: row.order_id ?? row.message_id ?? undefined,
          messageId: row.message_id ?? undefined,
        })),
        leftOnQueues: await upstream.ask((client) => readyIn(client, queues)),
      });
      assert.deepEqual(books.problems, []);
      assert.deepEqual([books.chargedTwice, books.lost], [0, 0]);
      assert.equal(parked.length, expectedParked, 'parked orders');
      assert.ok(books.readyToShip > 0, 'nothing was authorized at all');
      assert.deepEqual(watched.violations, []);
      assert.ok(watched.settled > 0, 'the watch saw no settlement');
      return books;
    },
  };
  return ordeal;
}

/** A connection that comes back, to a broker that does. */
class Upstream {
  readonly #url: string;
  #client: Promise<BrokerClient> | undefined;
  #isClosed = false;

  constructor(url: string) {
    this.#url = url;
  }

  /** Until the broker has confirmed it and a queue took it. */
  async publish(queue: string, body: string, messageId: string): Promise<void> {
    const publication = { routingKey: queue, body: Buffer.from(body), properties: { messageId } };
    await this.ask((client) => client.publish(publication));
  }

  /** Asks again, over a new connection, until it works. */
  async ask<T>(ask: (client: BrokerClient) => Promise<T>): Promise<T> {
    for (;;) {
      const connecting = (this.#client ??= connectBroker(this.#url));
      try {
        return await ask(await connecting);
      } catch (error) {
        if (this.#isClosed) throw error;
        if (this.#client === connecting) this.#client = undefined;
        void connecting.then((client) => client.close()).catch(() => undefined);
        await sleep(100);
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#client?.then((client) => client.close()).catch(() => undefined);
  }
}

/** It was alive all the time, ends with 0, and never complained of itself. */
async function expectGoodEnd({ process }: ObservedWorker): Promise<void> {
  process.kill('SIGTERM');
  const exit = await process.exited;
  if (exit.signal === 'SIGKILL') return; // By the test itself.
  const said = process.lines.map(({ text }) => text);
  const last = said.slice(-10).join('\n');
  assert.deepEqual(exit, { code: 0, signal: null }, last);
  assert.ok(said.length < 5_000, 'more was logged than is kept, so the check below would miss some of it');
  assert.deepEqual(
    process.lines.filter(({ from }) => from === 'stderr'),
    [],
  );
  const complaints = said.filter((text) => /"level":"(error|fatal)"|a bug|unhandled|uncaught/i.test(text));
  assert.deepEqual(complaints, []);
}

/** Acks that were lost with their channel leave finished orders on the queue; another worker takes them. */
async function finishLeftovers(ordeal: Ordeal, left: () => Promise<number>): Promise<void> {
  for (let round = 0; round < 3 && (await left()) > 0; round += 1) {
    const worker = await ordeal.startWorker();
    await waitFor('the queues to be empty', async () => (await left()) === 0, { timeoutMs: 30_000 });
    await expectGoodEnd(worker);
  }
}

function queuesOf({ broker, environment }: Stage): string[] {
  const levelsMs = environment['CARDAUTH_RETRY_LEVELS_MS']?.split(',') ?? [];
  const { ordersQueue, prefix } = broker;
  return [
    ordersQueue,
    `${prefix}.parked`,
    ...levelsMs.map((ms) => levelQueueOf(prefix, ordersQueue, Number(ms))),
  ];
}

async function readyIn(client: BrokerClient, queues: readonly string[]): Promise<number> {
  const counts = await Promise.all(queues.map((queue) => client.counts(queue)));
  return counts.reduce((sum, queue) => sum + (queue?.ready ?? 0), 0);
}

async function announcedOrders(stage: Stage): Promise<Set<string>> {
  const rows = await rowsOf(stage);
  return new Set(rows.filter((row) => row.notified_at !== null).map((row) => row.order_id));
}

async function rowsOf(stage: Stage): Promise<OrderRow[]> {
  return (await stage.database.query<OrderRow>('select * from cardauth.orders')).rows;
}

/** One a parked message: what it holds may have been on the queue more than once. */
export async function parkedRows(stage: Pick<Stage, 'database'>): Promise<ParkedRow[]> {
  return (await stage.database.query<ParkedRow>('select * from cardauth.parked_orders')).rows;
}
