import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrateUp } from '../adapters/postgres/migrate.ts';
import { createScratchDatabase } from '../adapters/postgres/scratch-database.ts';
import { observeBroker, type BrokerObserver, type SeenMessage } from '../adapters/rabbitmq/observer.ts';
import { createLog } from '../telemetry/log.ts';
import { demoFaults } from './faults.ts';
import { startProcess, type DemoProcess } from './processes.ts';

/** Everything the demo runs on; all of it was created for this one run. */
export interface DemoStage {
  /** For logs and the ledger. */
  readonly folder: string;
  readonly ledgerFile: string;
  readonly ordersQueue: string;
  /** Environment of the worker, and of whoever wants to look around. */
  readonly environment: Readonly<Record<string, string>>;
  readonly observer: BrokerObserver;
  /** Resolves when the worker takes in orders. */
  startWorker(): Promise<DemoProcess>;
  /** Aborted when the stage is being struck: nothing may start or wait on it any more. */
  readonly gone: AbortSignal;
  /** Takes everything away again. */
  strike(): Promise<void>;
}

export interface DemoSight {
  readonly onAnnouncement: (message: SeenMessage) => void;
}

/** A day's worth of patience would be shown by nobody: the demo's waits are short. */
const RETRY_LEVELS_MS = [300, 1_000, 3_000];

export async function setUpStage(
  amqpUrls: string,
  databaseUrl: string,
  sight: DemoSight,
): Promise<DemoStage> {
  const undo: (() => Promise<unknown>)[] = [];
  const striking = new AbortController();
  const strike = async (): Promise<void> => {
    striking.abort();
    for (const step of undo.reverse()) await step();
    undo.length = 0;
  };
  try {
    const log = createLog({ level: 'error', format: 'text', destination: process.stderr });
    const folder = await mkdtemp(join(tmpdir(), 'cardauth-demo-'));
    undo.push(() => rm(folder, { recursive: true, force: true }));

    const database = await createScratchDatabase(databaseUrl, 'demo');
    undo.push(() => database.drop());
    await migrateUp({ url: database.url, log });

    const prefix = `cardauth-demo-${randomBytes(4).toString('hex')}`;
    const [ordersQueue, exchange] = [`${prefix}.orders`, `${prefix}.processed`];
    const observer = await observeBroker({
      urls: amqpUrls,
      ordersQueue,
      exchange,
      prefix,
      levelsMs: RETRY_LEVELS_MS,
      log,
      ...sight,
    });
    undo.push(() => observer.deleteEverything());

    const ledgerFile = join(folder, 'ledger.ndjson');
    const simulator = startProcess(
      ['simulator', '--port', '0', '--ledger', ledgerFile, '--faults', JSON.stringify(demoFaults)],
      { env: process.env, outputFile: join(folder, 'simulator.log') },
    );
    undo.push(() => simulator.end('SIGTERM'));
    const [, gatewayUrl = ''] = await simulator.says(/listening on (http:\S+),/);

    const environment = {
      AMQP_URL: amqpUrls,
      DATABASE_URL: database.url,
      CARDAUTH_BROKER_PREFIX: prefix,
      CARDAUTH_ORDERS_QUEUE: ordersQueue,
      CARDAUTH_NOTIFICATIONS_EXCHANGE: exchange,
      CARDAUTH_GATEWAY_URL: gatewayUrl,
      CARDAUTH_GATEWAY_API_KEY: 'sk_test_demo',
      CARDAUTH_GATEWAY_TIMEOUT_MS: '2000',
      CARDAUTH_FINGERPRINT_KEY: randomBytes(16).toString('hex'),
      CARDAUTH_RETRY_LEVELS_MS: RETRY_LEVELS_MS.join(','),
      CARDAUTH_INQUIRY_WAITS_MS: '1000,2000,4000',
      CARDAUTH_MAX_ATTEMPTS: '5',
      CARDAUTH_HTTP_PORT: '0',
    };
    return {
      folder,
      ledgerFile,
      ordersQueue,
      environment,
      observer,
      gone: striking.signal,
      async startWorker() {
        striking.signal.throwIfAborted();
        const env = { ...process.env, ...environment };
        const worker = startProcess(['worker'], { env, outputFile: join(folder, 'worker.log') });
        undo.push(() => worker.end('SIGKILL'));
        await worker.says(/"msg":"ready"/);
        return worker;
      },
      strike,
    };
  } catch (error) {
    await strike();
    throw error;
  }
}
