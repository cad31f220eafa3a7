/** A worker under a small supervisor: started, killed, started again, each time as another process. */
import { buildWorker, type Outside, type Worker } from '../../src/app.ts';
import { guardGateway } from '../../src/adapters/gateway/guard.ts';
import type { WorkerConfig } from '../../src/config/config.ts';
import { Secret } from '../../src/domain/card.ts';
import { seededRandom } from '../../src/topology/random.ts';
import { dialFor } from './amqp.ts';
import type { SimulatedBroker } from './broker.ts';
import type { SimulatedDatabase } from './database.ts';
import type { SimulatedGateway } from './gateway.ts';
import type { IntakeSwitch } from './intake-switch.ts';
import { SimulatedProcess } from './machine.ts';
import type { Monitor } from './monitor.ts';
import type { World } from './network.ts';
import type { ProcessLogs } from './process-log.ts';

/** What differs between workers of one run, as between two versions or settings during a rolling update. */
export interface WorkerSettings {
  readonly messageTimeoutMs: number;
  readonly leaseMs: number;
  readonly gatewayTimeoutMs: number;
  readonly maxSpoutPending: number;
  readonly maxAttempts: number;
  readonly softDeclineWaitsMs: readonly number[] | undefined;
}

export interface WorkerSurroundings {
  readonly world: World;
  readonly database: SimulatedDatabase;
  readonly broker: SimulatedBroker;
  readonly gateway: SimulatedGateway;
  readonly intake: IntakeSwitch;
  readonly monitor: Monitor;
  readonly logs: ProcessLogs;
  /** Plants a bug: gives the worker something else in place of what it would have. */
  readonly alter: Alter;
  readonly randomSeed: () => number;
}

/** Gives a process another outside than its own. */
export type Alter = (
  outside: Outside,
  of: { readonly process: SimulatedProcess; readonly database: SimulatedDatabase },
) => Outside;

export const KEY_WINDOW_MS = 200_000;
/** Longer in all than a key may be used: some orders are still without a verdict then. */
export const INQUIRY_WAITS_MS: readonly number[] = [20_000, 30_000, 60_000, 120_000];
export const LEVELS_MS: readonly number[] = [1_000, 8_000];
export const ADMISSION_RULES = {
  defaultCurrency: 'USD',
  maxAmount: '999999.99',
  fingerprintKey: Buffer.from('the key of fingerprints in simulations'),
};
export const NAMES = { orders: 'orders', prefix: 'cardauth', announcements: 'orders.processed' } as const;

export class SupervisedWorker {
  readonly name: string;
  readonly #settings: WorkerSettings;
  readonly #around: WorkerSurroundings;
  #starts = 0;
  #isEnding = false;
  #running: { readonly process: SimulatedProcess; readonly worker: Worker } | undefined;

  constructor(name: string, settings: WorkerSettings, around: WorkerSurroundings) {
    this.name = name;
    this.#settings = settings;
    this.#around = around;
  }

  get starts(): number {
    return this.#starts;
  }

  /** It was told to end, and is not there yet. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  get process(): SimulatedProcess | undefined {
    return this.#running?.process;
  }

  start(): void {
    const { alter, broker, database, gateway, intake, logs, monitor, randomSeed, world } = this.#around;
    this.#starts += 1;
    const process = new SimulatedProcess(`${this.name}.${this.#starts}`, world.time);
    const { gatewayTimeoutMs: wallMs } = this.#settings;
    const own: Outside = {
      clock: process,
      random: seededRandom(randomSeed()),
      dial: dialFor(world, broker, process, monitor),
      driver: database.driverFor(process),
      openFleetLink: () =>
        intake.linkFor((listener) => {
          process.later(0, listener);
        }),
      // Nothing reads reports or the ledger, and recorder.ts sees to what is parked: none of them decides.
      openRetryLedger: () => ({ sent: () => undefined, returned: () => undefined, ...idle }),
      buildParkedTopology: () => ({
        start: () => Promise.resolve(),
        drain: () => Promise.resolve(),
        close: () => Promise.resolve(),
      }),
      openGateway: () => gateway.portFor(process, wallMs),
      guardGateway: (unguarded, options) => {
        const guarded = guardGateway(unguarded, options);
        // The breaker's library keeps a timer of Node's, which a real process would take along.
        process.onKill(() => {
          guarded.close();
        });
        return guarded;
      },
    };
    const log = logs.of(process, this.#settings.messageTimeoutMs);
    const outside = alter(own, { process, database });
    const worker = buildWorker(configOf(this.#settings), '1.0.0', log, outside);
    this.#running = { process, worker };
    world.trace.note(world.time.nowMs, process.name, () => 'starts');
    process.later(0, () => {
      void worker.start();
    });
  }

  /** Its process is dead: it can be started again. */
  buried(): void {
    this.#running = undefined;
    this.#isEnding = false;
  }

  /** SIGTERM: drains, then the process ends by itself. Calls `ended` in the world outside. */
  terminate(ended: (process: SimulatedProcess) => void): void {
    const running = this.#running;
    if (running === undefined || this.#isEnding) return;
    this.#isEnding = true;
    running.process.later(0, () => {
      void running.worker.drain().then(() => {
        if (this.#running !== running) return;
        this.#running = undefined;
        this.#isEnding = false;
        ended(running.process);
      });
    });
  }
}

const idle = { start: () => undefined, close: () => Promise.resolve() };

function configOf(settings: WorkerSettings): WorkerConfig {
  const { softDeclineWaitsMs } = settings;
  return {
    broker: {
      urls: new Secret('amqp://guest:guest@127.0.0.1:5672'),
      ordersQueue: NAMES.orders,
      notificationsExchange: NAMES.announcements,
      declare: 'passive',
      prefix: NAMES.prefix,
      tls: { ca: undefined, cert: undefined, key: undefined },
      managementUrl: undefined,
    },
    database: { url: new Secret('postgres://127.0.0.1:5432/orders') },
    operator: { actor: undefined },
    gateway: {
      dialect: 'stripe',
      url: 'http://127.0.0.1:1',
      merchantAccount: undefined,
      apiKey: new Secret('none'),
      timeoutMs: settings.gatewayTimeoutMs,
      keyWindowMs: KEY_WINDOW_MS,
      inquiryWaitsMs: INQUIRY_WAITS_MS,
      connections: 8,
    },
    orders: {
      defaultCurrency: ADMISSION_RULES.defaultCurrency,
      maxAmount: ADMISSION_RULES.maxAmount,
      fingerprintKey: new Secret(ADMISSION_RULES.fingerprintKey.toString()),
      softDeclineRetry: softDeclineWaitsMs && { waitsMs: softDeclineWaitsMs },
      cardKeys: undefined,
    },
    topology: {
      messageTimeoutMs: settings.messageTimeoutMs,
      leaseMs: settings.leaseMs,
      maxSpoutPending: settings.maxSpoutPending,
      maxAttempts: settings.maxAttempts,
      retryLevelsMs: LEVELS_MS,
      drainMs: 25_000,
    },
    transport: { allowPlaintext: true },
    http: { host: '127.0.0.1', port: 0 },
    log: { level: 'silent', format: 'json' },
  };
}
