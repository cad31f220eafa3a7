import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { migrateUp } from '../../src/adapters/postgres/migrate.ts';
import { balance, type Books, type Evidence, type PublishedOrder } from '../../src/demo/books.ts';
import type { BrokerCluster } from '../support/cluster.ts';
import { createDatabase } from '../support/services.ts';
import { silent } from '../support/silent-log.ts';
import { openSteadyPublisher, type SteadyPublisher } from '../support/steady-publisher.ts';
import { openSteadyReceiver } from '../support/steady-receiver.ts';
import { waitFor } from '../support/wait-for.ts';
import { cardauth, startProcess, type WorkerProcess } from '../support/worker-process.ts';
import {
  newOrderId,
  openGateway,
  orderJson,
  type Environment,
  type GatewayStage,
  type OrderRow,
  type Owner,
} from './stage.ts';

const AMOUNT_MINOR = 4_223n;
const ORDER_EVERY_MS = 50;
const PATIENCE_MS = 60_000;
const LINES_IN_ERRORS = 40;
/** A node that freezes is noticed after two of these. */
const HEARTBEAT_SECONDS = 2;

/** Everything that a worker on a cluster needs; what is outside of the worker survives the loss of a node as well. */
export class ClusterStage {
  readonly cluster: BrokerCluster;
  readonly gateway: GatewayStage;
  readonly prefix: string;
  readonly ordersQueue: string;
  readonly #owner: Owner;
  readonly #database: pg.Pool;
  readonly #environment: Environment;
  readonly #publisher: SteadyPublisher;
  readonly #receipts: Evidence['receipts'][number][] = [];
  readonly #published: PublishedOrder[] = [];
  #worker: WorkerProcess | undefined;
  #loading: AbortController | undefined;
  #loaded: Promise<unknown> = Promise.resolve();

  private constructor(
    owner: Owner,
    parts: { cluster: BrokerCluster; gateway: GatewayStage; databaseUrl: string },
  ) {
    this.#owner = owner;
    this.cluster = parts.cluster;
    this.gateway = parts.gateway;
    this.prefix = `cluster-${randomBytes(4).toString('hex')}`;
    this.ordersQueue = `${this.prefix}.orders`;
    this.#database = new pg.Pool({ connectionString: parts.databaseUrl, max: 4 });
    this.#database.on('error', () => undefined);
    const exchange = `${this.prefix}.processed`;
    const urls = parts.cluster.nodes.map(({ url }) => `${url}?heartbeat=${HEARTBEAT_SECONDS}`).join(',');
    this.#environment = {
      AMQP_URL: urls,
      DATABASE_URL: parts.databaseUrl,
      CARDAUTH_BROKER_PREFIX: this.prefix,
      CARDAUTH_BROKER_DECLARE: 'assert',
      CARDAUTH_ORDERS_QUEUE: this.ordersQueue,
      CARDAUTH_NOTIFICATIONS_EXCHANGE: exchange,
      CARDAUTH_GATEWAY_URL: parts.gateway.url,
      CARDAUTH_GATEWAY_API_KEY: 'sk_test_stage',
      CARDAUTH_FINGERPRINT_KEY: 'a fingerprint key for tests only',
      CARDAUTH_RETRY_LEVELS_MS: '300,1000',
      CARDAUTH_HTTP_PORT: '0',
    };
    this.#publisher = openSteadyPublisher({ urls, queue: this.ordersQueue });
    const receiver = this.#receive(urls, exchange);
    owner.after(async () => {
      await Promise.all([this.#stopLoad(), this.#publisher.close(), receiver.close()]);
      await this.#database.end();
    });
  }

  static async open(owner: Owner, cluster: BrokerCluster): Promise<ClusterStage> {
    const database = await createDatabase();
    owner.after(() => database.drop());
    await migrateUp({ url: database.url, log: silent });
    const gateway = await openGateway();
    owner.after(async () => {
      await gateway.stop();
      rmSync(gateway.folder, { recursive: true, force: true });
    });
    return new ClusterStage(owner, { cluster, gateway, databaseUrl: database.url });
  }

  /** Resolves when it consumes. */
  async startWorker(): Promise<WorkerProcess> {
    const worker = startProcess({ owner: this.#owner, args: [cardauth, 'worker'], env: this.#environment });
    await worker.waitForLine('"msg":"ready"', { timeoutMs: PATIENCE_MS });
    this.#worker = worker;
    return worker;
  }

  /** Orders at a steady pace from now on, until `finish`. */
  startLoad(): void {
    const loading = new AbortController();
    this.#loading = loading;
    this.#loaded = this.#load(loading.signal);
  }

  /** Resolves after so many orders more have been authorized. */
  async goOn(orders: number): Promise<void> {
    const before = await this.#authorized();
    await this.#patiently(
      `${orders} more authorizations`,
      async () => (await this.#authorized()) >= before + orders,
    );
  }

  /** The longest time without an authorization, while there were orders all the time. */
  async longestGapMs(): Promise<number> {
    const times = (await this.gateway.approvals()).map(({ at }) => Date.parse(at)).sort((a, b) => a - b);
    return Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? time)));
  }

  /** Ends the load, waits until all is done, ends the worker in good order, and makes up the books. */
  async finish(worker: WorkerProcess): Promise<Books> {
    await this.#stopLoad();
    await this.#patiently('every order to be announced and marked', () => this.#allNotified());
    // A copy of an order that was done already, redelivered or published twice, may still be on its way.
    await this.#patiently('all copies to be acked', async () => (await this.#left()) === 0);
    worker.kill('SIGTERM');
    const exit = await worker.exited;
    if (exit.code !== 0) throw new Error(`the worker ended with ${JSON.stringify(exit)}, not with code 0`);
    await waitFor(
      'downstream to have heard everything',
      async () => (await this.cluster.messagesIn(this.#receiptsQueue)) === 0,
      { timeoutMs: PATIENCE_MS },
    );
    return balance({
      published: this.#published,
      approvals: await this.gateway.approvals(),
      orders: await this.#rows(),
      receipts: this.#receipts,
      parked: [],
      leftOnQueues: await this.#left(),
    });
  }

  get #receiptsQueue(): string {
    return `${this.prefix}-receipts`;
  }

  #receive(urls: string, exchange: string) {
    const queue = this.#receiptsQueue;
    return openSteadyReceiver({
      urls,
      queue,
      prepare: async (channel) => {
        await channel.assertExchange(exchange, 'topic', { durable: true });
        await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
        await channel.bindQueue(queue, exchange, '#');
      },
      onMessage: ({ content, properties }) => {
        const { orderId, status } = JSON.parse(content.toString()) as { orderId: string; status: string };
        this.#receipts.push({ orderId, status, eventId: properties.messageId as string });
      },
    });
  }

  async #patiently(what: string, condition: () => Promise<boolean>): Promise<void> {
    try {
      await waitFor(what, condition, { timeoutMs: PATIENCE_MS, intervalMs: 100 });
    } catch (cause) {
      throw new Error(await this.#whereItStands(), { cause });
    }
  }

  async #whereItStands(): Promise<string> {
    const said = this.#worker?.lines.slice(-LINES_IN_ERRORS).map(({ text }) => text) ?? [];
    return [
      `no order goes on; ${this.#published.length} are published, ${await this.#authorized()} authorized`,
      ...(await this.cluster.queues()).map((queue) => JSON.stringify(queue)),
      "the worker's last lines:",
      ...said,
    ].join('\n');
  }

  async #load(signal: AbortSignal): Promise<void> {
    const publishing: Promise<void>[] = [];
    while (!signal.aborted) {
      const published = this.#publishOne();
      // What could not be published is told by the end of the load.
      published.catch(() => undefined);
      publishing.push(published);
      await sleep(ORDER_EVERY_MS);
    }
    await Promise.all(publishing);
  }

  async #publishOne(): Promise<void> {
    const orderId = newOrderId();
    await this.#publisher.publish({ body: Buffer.from(orderJson(orderId)), messageId: orderId });
    this.#published.push({ orderId, messageId: orderId, amountMinor: AMOUNT_MINOR });
  }

  async #stopLoad(): Promise<void> {
    this.#loading?.abort();
    await this.#loaded;
  }

  async #authorized(): Promise<number> {
    const sql = `select count(*)::int as count from cardauth.orders where status = 'ready-to-ship'`;
    return (await this.#database.query<{ count: number }>(sql)).rows[0]?.count ?? 0;
  }

  async #allNotified(): Promise<boolean> {
    const sql = 'select count(*)::int as count from cardauth.orders where notified_at is not null';
    return (await this.#database.query<{ count: number }>(sql)).rows[0]?.count === this.#published.length;
  }

  async #rows(): Promise<Evidence['orders']> {
    const { rows } = await this.#database.query<OrderRow>('select * from cardauth.orders');
    return rows.map((row) => ({
      orderId: row.order_id,
      status: row.status,
      amountMinor: BigInt(row.amount_minor),
      currency: row.currency,
      gatewayReference: row.gateway_reference ?? undefined,
      notified: row.notified_at !== null,
    }));
  }

  async #left(): Promise<number> {
    const queues = await this.cluster.queues();
    return queues
      .filter(({ name }) => name.startsWith(`${this.prefix}.`))
      .reduce((sum, { messages }) => sum + messages, 0);
  }
}
