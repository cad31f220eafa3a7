import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import pg from 'pg';
import { silent } from '../support/silent-log.ts';
import { migrateUp } from '../../src/adapters/postgres/migrate.ts';
import { levelQueueOf } from '../../src/adapters/rabbitmq/declare.ts';
import type { ApprovalEntry, LedgerEntry } from '../../src/simulator/ledger.ts';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import type { FaultRule, FaultScript } from '../../src/simulator/fault-script.ts';
import type { LoggedRequest } from '../../src/simulator/request-log.ts';
import { connectBroker, type BrokerClient, type Received } from '../support/broker-client.ts';
import { createBroker, createDatabase, type TestBroker } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';
import { ParkedOrders } from './parked-orders.ts';
import { cardauth, startProcess, type WorkerProcess } from '../support/worker-process.ts';

/** Whoever the stage is for: a test's context, or `{ after }` of node:test for a whole file. */
export interface Owner {
  after(cleanup: () => Promise<void>): void;
}

/** The owner for a stage that a whole suite shares; to be called in the suite's body, not in a hook. */
export function suiteOwner(): Owner {
  const cleanups: (() => Promise<void>)[] = [];
  after(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });
  return { after: (cleanup) => void cleanups.push(cleanup) };
}

export interface OrderRow {
  readonly order_id: string;
  readonly customer_id: string;
  readonly status: string;
  readonly status_reason: string | null;
  readonly amount_minor: string;
  readonly currency: string;
  readonly gateway_reference: string | null;
  readonly generation: number;
  readonly attempts: number;
  readonly notified_at: Date | null;
}

export type Environment = Readonly<Record<string, string>>;

/**
 * Everything a worker needs, real and its own: a database with the schema, a queue, an exchange with a receipts queue
 * bound to it, a gateway simulator with a ledger. Workers are real processes.
 */
export interface Stage {
  readonly owner: Owner;
  readonly broker: TestBroker;
  readonly client: BrokerClient;
  readonly database: pg.Pool;
  readonly databaseUrl: string;
  /** What downstream received so far. */
  readonly receipts: readonly Received[];
  readonly gateway: GatewayStage;
  /** What was given to a person. */
  readonly parked: ParkedOrders;
  /** Environment of the workers of this stage. */
  readonly environment: Environment;
  /** Starts a worker; resolves when it consumes, unless told otherwise. */
  startWorker(change?: Environment, until?: 'ready' | 'started'): Promise<WorkerProcess>;
  /** Publishes bodies as they are; strings are sent byte for byte. */
  publish(...bodies: readonly string[]): Promise<void>;
  order(orderId: string): Promise<OrderRow | undefined>;
  /** Waits until the order is announced and marked, and returns its row. */
  announced(orderId: string, options?: { timeoutMs?: number }): Promise<OrderRow>;
  receiptsOf(orderId: string): readonly Received[];
  /** Ends the worker in good order and asserts nothing was left on the queue. */
  endAndExpectEmptyQueue(worker: WorkerProcess): Promise<void>;
}

export interface GatewayStage {
  readonly port: number;
  readonly url: string;
  approvals(orderId?: string): Promise<ApprovalEntry[]>;
  requests(orderId?: string): Promise<LoggedRequest[]>;
  setFaults(script: FaultScript): Promise<void>;
  /** The script, and how often each of its rules was met. */
  faults(): Promise<(FaultRule & { readonly hits: number })[]>;
  /** Lets held requests go. */
  release(): Promise<void>;
  /** The gateway is away: connections are refused until `start`. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** On the common broker, unless `amqpUrl` names another one. */
export async function openStage(owner: Owner, options: { readonly amqpUrl?: string } = {}): Promise<Stage> {
  const database = await createDatabase();
  const pool = new pg.Pool({ connectionString: database.url, max: 4 });
  pool.on('error', () => undefined);
  await migrateUp({ url: database.url, log: silent });

  const broker = createBroker(options.amqpUrl);
  const client = await connectBroker(broker.url);
  await client.declareQueue(broker.ordersQueue);
  await client.declareExchange(broker.exchange);
  const receipts = await client.collect(broker.exchange);
  const gateway = await openGateway();

  const environment = {
    AMQP_URL: broker.url,
    DATABASE_URL: database.url,
    CARDAUTH_BROKER_PREFIX: broker.prefix,
    CARDAUTH_ORDERS_QUEUE: broker.ordersQueue,
    CARDAUTH_NOTIFICATIONS_EXCHANGE: broker.exchange,
    CARDAUTH_GATEWAY_URL: gateway.url,
    CARDAUTH_GATEWAY_API_KEY: 'sk_test_stage',
    CARDAUTH_FINGERPRINT_KEY: 'a fingerprint key for tests only',
    CARDAUTH_RETRY_LEVELS_MS: '300,1000',
    CARDAUTH_HTTP_PORT: '0',
    LOG_LEVEL: 'trace',
  };

  const stage: Stage = {
    owner,
    broker,
    client,
    database: pool,
    databaseUrl: database.url,
    receipts,
    gateway,
    parked: new ParkedOrders(pool, client, broker.prefix),
    environment,
    async startWorker(change = {}, until = 'ready') {
      const worker = startProcess({ owner, args: [cardauth, 'worker'], env: { ...environment, ...change } });
      if (until === 'ready') await worker.waitForLine((line) => isReadyLine(line.text));
      return worker;
    },
    async publish(...bodies) {
      for (const body of bodies) {
        await client.publish({ routingKey: broker.ordersQueue, body: Buffer.from(body) });
      }
    },
    async order(orderId) {
      const { rows } = await pool.query<OrderRow>('select * from cardauth.orders where order_id = $1', [
        orderId,
      ]);
      return rows[0];
    },
    announced: (orderId, { timeoutMs = 20_000 } = {}) =>
      waitFor(
        `order ${orderId} to be announced and marked`,
        async () => {
          const row = await stage.order(orderId);
          return row?.notified_at === null ? undefined : row;
        },
        { timeoutMs },
      ),
    receiptsOf: (orderId) => receipts.filter(({ properties }) => properties.correlationId === orderId),
    async endAndExpectEmptyQueue(worker) {
      worker.kill('SIGTERM');
      const exit = await worker.exited;
      if (exit.code !== 0)
        throw new Error(`the worker ended with ${JSON.stringify(exit)} instead of exit code 0`);
      const counts = await client.counts(broker.ordersQueue);
      if (counts?.ready !== 0) throw new Error(`${String(counts?.ready)} messages are left on the queue`);
    },
  };
  owner.after(async () => {
    await gateway.stop();
    await client.close();
    await broker.cleanup({
      exchanges: [`${broker.prefix}.dlx`],
      queues: [
        `${broker.prefix}.parked`,
        `${broker.prefix}.parked.unsealed`,
        ...ownQueuesOf(broker, environment.CARDAUTH_RETRY_LEVELS_MS),
      ],
    });
    await pool.end();
    await database.drop();
    rmSync(gateway.folder, { recursive: true, force: true });
  });
  return stage;
}

/** An order as upstream would send it, with a card that the simulator approves. */
export function orderJson(id: string | number, change: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    id,
    customerId: 5678,
    creditCardNumber: '4242424242424242',
    creditCardExpiration: '122034',
    creditCardCode: '123',
    chargeAmount: 42.23,
    ...change,
  });
}

/** A fresh order id, so that no test meets another's order. */
export function newOrderId(): string {
  return `t-${randomBytes(5).toString('hex')}`;
}

function isReadyLine(text: string): boolean {
  return text.includes('"msg":"ready"');
}

function ownQueuesOf(broker: TestBroker, levelsMs: string): string[] {
  return levelsMs.split(',').map((ms) => levelQueueOf(broker.prefix, broker.ordersQueue, Number(ms)));
}

export async function openGateway(): Promise<GatewayStage & { readonly folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'cardauth-ledger-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let simulator: Simulator | undefined;
  const ask = async <T>(path: string, init: RequestInit = {}): Promise<T> => {
    const response = await fetch(url + path, init);
    return (await response.json()) as T;
  };
  const gateway = {
    folder,
    port,
    url,
    async approvals(orderId?: string) {
      const { entries } = await ask<{ entries: LedgerEntry[] }>('/__ledger');
      return entries.filter(
        (entry): entry is ApprovalEntry =>
          entry.kind === 'approval' && (orderId ?? entry.orderId) === entry.orderId,
      );
    },
    async requests(orderId?: string) {
      const query = orderId === undefined ? '' : `?orderId=${encodeURIComponent(orderId)}`;
      return (await ask<{ recent: LoggedRequest[] }>(`/__requests${query}`)).recent;
    },
    async setFaults(script: FaultScript) {
      await ask('/__faults', { method: 'PUT', body: JSON.stringify(script) });
    },
    async faults() {
      return (await ask<{ rules: (FaultRule & { readonly hits: number })[] }>('/__faults')).rules;
    },
    async release() {
      await ask('/__release', { method: 'POST' });
    },
    async stop() {
      await simulator?.close();
      simulator = undefined;
    },
    async start() {
      const ledgerFile = join(folder, 'ledger.ndjson');
      simulator = await startSimulator({ port, ledgerFile, requestLogSize: 50_000 });
    },
  };
  await gateway.start();
  return gateway;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
