import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migrateUp } from '../../src/adapters/postgres/migrate.ts';
import { connectBroker } from '../support/broker-client.ts';
import { startCluster, type BrokerCluster } from '../support/cluster.ts';
import { freePorts, type Keeper, type Kept } from '../support/private-services.ts';
import { silent } from '../support/silent-log.ts';
import { waitFor } from '../support/wait-for.ts';
import { cardauth } from '../support/worker-process.ts';
import { EXPIRING_QUEUE, expiringQueueArguments } from './expiring.ts';
import { OperatorCli } from './operator-cli.ts';
import { operatorsWith, type Operators } from './operators.ts';
import { WORKERS } from './plan.ts';
import { PrivateDatabase } from './private-database.ts';
import type { PublisherTask } from './publisher-process.ts';
import { createRoles, type Role } from './roles.ts';
import type { ReceiverTask } from './receiver-process.ts';
import type { SimulatorTask } from './simulator-process.ts';
import { SupervisedWorker } from './supervised-worker.ts';
import type { WireLog } from './wire-watch.ts';

export const ORDERS_QUEUE = 'orders';
export const PARKED_QUEUE = 'cardauth.parked';
export const RECEIPTS_QUEUE = 'receipts';
const EXCHANGE = 'orders.processed';
const DEAD_LETTER_EXCHANGE = 'cardauth.dlx';
const RETRY_LEVELS_MS = [300, 1_000, 3_000];
/** Everything that workers put messages of orders on, and where nothing may be left in the end. */
export const WORK_QUEUES = [
  ORDERS_QUEUE,
  EXPIRING_QUEUE,
  PARKED_QUEUE,
  ...RETRY_LEVELS_MS.map((ms) => `cardauth.retry.${ms}`),
];

/** Real and private, each a process of its own: three broker nodes, a database, a gateway, upstream, downstream, workers. */
export interface Stage {
  readonly folder: string;
  readonly cluster: BrokerCluster;
  readonly database: PrivateDatabase;
  readonly gatewayUrl: string;
  readonly simulator: Kept;
  readonly receiver: Kept;
  readonly workers: readonly SupervisedWorker[];
  readonly operators: Operators;
  /** The database, as each of those who use it. */
  readonly databaseUrls: Readonly<Record<Role, string>>;
  /** Of workers and operators; secrets in it. */
  readonly environment: Readonly<Record<string, string>>;
  readonly program: string;
  readonly keeper: Keeper;
  /** What must appear in nothing that is printed, stored or published, by name. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Upstream, which ends when every message is confirmed. */
  startPublisher(task: Pick<PublisherTask, 'orders' | 'from' | 'overMs' | 'someExpire'>): Promise<Kept>;
}

export interface StageOptions {
  readonly keeper: Keeper;
  /** Of the private services. */
  readonly directory: string;
  /** Where the evidence goes; must be empty or not there. */
  readonly folder: string;
  /** Of the faults at the gateway. */
  readonly seed: number;
  /** Another `cardauth` than the real one. */
  readonly program?: string | undefined;
  /** Who reads along between workers and broker. */
  readonly wire: WireLog;
  /** Settings of the workers besides the usual ones. */
  readonly settings?: Readonly<Record<string, string>>;
}

export async function setUp(options: StageOptions): Promise<Stage> {
  const { directory, folder, keeper, program = cardauth, seed, settings, wire } = options;
  mkdirSync(folder, { recursive: true });
  const [cluster, database] = await Promise.all([
    startCluster(keeper, directory),
    PrivateDatabase.start(keeper, directory),
  ]);
  await migrateUp({ url: database.url, log: silent });
  const databaseUrls = await createRoles(database.url);
  await declareExpiringQueue(cluster);

  const [port = 0] = await freePorts(1);
  const process = processStarter(keeper, folder);
  const urls = cluster.nodes.map(({ url }) => `${url}?heartbeat=3`).join(',');
  const simulator = await process('simulator', { folder, port, seed } satisfies SimulatorTask);
  const receiver = await process('receiver', {
    folder,
    urls,
    queue: RECEIPTS_QUEUE,
    exchange: EXCHANGE,
  } satisfies ReceiverTask);

  const secrets = {
    'API key': `sk_test_${randomBytes(12).toString('hex')}`,
    'fingerprint key': randomBytes(16).toString('hex'),
    'card key': randomBytes(32).toString('base64url'),
  };
  const gatewayUrl = `http://127.0.0.1:${port}`;
  const environment = { ...workerEnvironment(secrets), CARDAUTH_GATEWAY_URL: gatewayUrl, ...settings };
  const workers = await Promise.all(
    Array.from({ length: WORKERS }, (_, number) =>
      SupervisedWorker.behindProxies(
        { keeper, folder, number, program, environment },
        { cluster, databaseUrl: databaseUrls.worker, wire },
      ),
    ),
  );
  const operatorEnvironment = {
    ...environment,
    AMQP_URL: urls,
    DATABASE_URL: databaseUrls.operator,
    CARDAUTH_ACTOR: 'an operator',
    LOG_LEVEL: 'silent',
  };
  const cli = new OperatorCli({ keeper, folder, program, environment: operatorEnvironment });
  return {
    folder,
    operators: operatorsWith(cli),
    databaseUrls,
    environment,
    program,
    keeper,
    cluster,
    database,
    gatewayUrl,
    simulator,
    receiver,
    workers,
    secrets,
    startPublisher: (task) =>
      process('publisher', { folder, urls, queue: ORDERS_QUEUE, ...task } satisfies PublisherTask),
  };
}

async function declareExpiringQueue({ nodes }: BrokerCluster): Promise<void> {
  const client = await connectBroker(nodes[0]?.url ?? '');
  await client.declareQueue(EXPIRING_QUEUE, expiringQueueArguments(DEAD_LETTER_EXCHANGE, PARKED_QUEUE));
  await client.close();
}

/** Short waits, so that what takes days in production takes seconds here; they nest as the real ones do. */
function workerEnvironment(secrets: Record<'API key' | 'fingerprint key' | 'card key', string>) {
  return {
    CARDAUTH_BROKER_DECLARE: 'assert',
    CARDAUTH_ORDERS_QUEUE: ORDERS_QUEUE,
    CARDAUTH_NOTIFICATIONS_EXCHANGE: EXCHANGE,
    CARDAUTH_GATEWAY_API_KEY: secrets['API key'],
    CARDAUTH_FINGERPRINT_KEY: secrets['fingerprint key'],
    CARDAUTH_CARD_KEY: JSON.stringify({ kty: 'oct', k: secrets['card key'] }),
    CARDAUTH_GATEWAY_TIMEOUT_MS: '1200',
    CARDAUTH_LEASE_MS: '4000',
    CARDAUTH_MESSAGE_TIMEOUT_MS: '6000',
    CARDAUTH_DRAIN_MS: '4000',
    CARDAUTH_MAX_ATTEMPTS: '20',
    CARDAUTH_MAX_SPOUT_PENDING: '100',
    CARDAUTH_RETRY_LEVELS_MS: RETRY_LEVELS_MS.join(','),
    CARDAUTH_INQUIRY_WAITS_MS: '1000,2000,3000,5000,8000',
    CARDAUTH_HTTP_PORT: '0',
    LOG_LEVEL: 'info',
  };
}

/** Starts `<name>-process` beside this file. */
function processStarter(keeper: Keeper, folder: string) {
  return (name: string, task: object): Promise<Kept> => {
    const program = fileURLToPath(new URL(`${name}-process.js`, import.meta.url));
    return keeper.spawn({
      command: process.execPath,
      args: ['--enable-source-maps', program, JSON.stringify(task)],
      env: process.env,
      cwd: folder,
      logFile: join(folder, `${name}.log`),
      stopSignals: ['SIGKILL'],
    });
  };
}

/** No faults at the gateway any more; it may have been started just now. */
export async function healGateway({ gatewayUrl }: Pick<Stage, 'gatewayUrl'>): Promise<void> {
  await waitFor('the gateway to be healed', async () => {
    return (await fetch(`${gatewayUrl}/__faults`, { method: 'PUT', body: '[]' })).ok;
  });
}
