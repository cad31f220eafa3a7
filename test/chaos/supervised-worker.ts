import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrokerCluster } from '../support/cluster.ts';
import type { Keeper, Kept } from '../support/private-services.ts';
import { startAmqpProxy, startProxy, type Proxy } from '../support/tcp-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { record } from './files.ts';
import type { WireLog } from './wire-watch.ts';

/** A line of exits.ndjson. */
export interface WorkerExit {
  readonly atMs: number;
  readonly worker: number;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The signal that we sent last in this life, if any. */
  readonly sent: NodeJS.Signals | undefined;
}

export interface WorkerParts {
  readonly keeper: Keeper;
  readonly folder: string;
  readonly number: number;
  /** The `cardauth` program, the real one or one with a planted bug. */
  readonly program: string;
  readonly environment: Readonly<Record<string, string>>;
}

const RESTART_AFTER_MS = 100;
const READY_TIMEOUT_MS = 60_000;
const HEARTBEAT_SECONDS = 3;

/** Its ways to every broker node and to the database. */
interface Ways {
  readonly broker: readonly Pick<Proxy<never>, 'url' | 'cut' | 'close'>[];
  readonly database: Pick<Proxy<never>, 'url' | 'cut' | 'close'>;
}

/** One worker under a small supervisor: whenever it ends, it is started again, until `endWell`. */
export class SupervisedWorker {
  readonly #parts: WorkerParts;
  readonly #ways: Ways;
  #process: Kept | undefined;
  #sent: NodeJS.Signals | undefined;
  #isWanted = false;
  #outputBefore = 0;
  #supervising: Promise<void> = Promise.resolve();

  private constructor(parts: WorkerParts, ways: Ways) {
    this.#parts = parts;
    this.#ways = ways;
  }

  static async behindProxies(
    parts: WorkerParts,
    to: { readonly cluster: BrokerCluster; readonly databaseUrl: string; readonly wire: WireLog },
  ): Promise<SupervisedWorker> {
    const broker = to.cluster.nodes.map(({ url }) =>
      startAmqpProxy({ target: url, watch: to.wire.watch(parts.number) }),
    );
    const database = await startProxy({ target: to.databaseUrl });
    return new SupervisedWorker(parts, { broker: await Promise.all(broker), database });
  }

  start(): void {
    this.#isWanted = true;
    this.#supervising = this.#supervise();
  }

  /** Kills it, or the one that is just being started instead; not one that was about to end anyway. */
  async kill(): Promise<void> {
    for (;;) {
      const victim = await waitFor(`worker ${this.#parts.number} to be there`, () => this.#process);
      this.send('SIGKILL');
      const { signal } = await victim.exited;
      if (signal === 'SIGKILL') return;
    }
  }

  send(signal: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): void {
    if (this.#process === undefined) return;
    if (signal === 'SIGKILL' || signal === 'SIGTERM') this.#sent = signal;
    try {
      process.kill(this.#process.pid, signal);
    } catch (error) {
      // It has just ended by itself, and we have not heard of it yet.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  cut(way: 'broker' | 'database'): void {
    for (const proxy of way === 'broker' ? this.#ways.broker : [this.#ways.database]) proxy.cut();
  }

  /** Resolves when it, or one that was started instead of it, takes in orders. */
  async ready(): Promise<void> {
    await waitFor(
      `worker ${this.#parts.number} to be ready`,
      () => this.#output().includes('"msg":"ready"'),
      {
        timeoutMs: READY_TIMEOUT_MS,
        intervalMs: 100,
      },
    );
  }

  /** Ends it in good order, for now. */
  async endWell(): Promise<void> {
    this.#isWanted = false;
    this.send('SIGTERM');
    await this.#supervising;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#ways.broker, this.#ways.database].map((proxy) => proxy.close()));
  }

  async #supervise(): Promise<void> {
    do {
      this.#sent = undefined;
      this.#outputBefore = this.#output(0).length;
      this.#process = await this.#spawn();
      const { code, signal } = await this.#process.exited;
      this.#process = undefined;
      const { folder, number: worker } = this.#parts;
      record(folder, 'exits', { atMs: Date.now(), worker, code, signal, sent: this.#sent });
      await sleep(RESTART_AFTER_MS);
    } while (this.#isWanted);
  }

  /** What it printed, of this life unless said otherwise. */
  #output(from = this.#outputBefore): string {
    const path = this.#logFile;
    return existsSync(path) ? readFileSync(path, 'utf8').slice(from) : '';
  }

  get #logFile(): string {
    return join(this.#parts.folder, `worker-${this.#parts.number}.log`);
  }

  #spawn(): Promise<Kept> {
    const { keeper, folder, program, environment } = this.#parts;
    const amqpUrls = this.#ways.broker.map(({ url }) => `${url}?heartbeat=${HEARTBEAT_SECONDS}`);
    return keeper.spawn({
      command: process.execPath,
      args: [program, 'worker'],
      env: {
        ...process.env,
        ...environment,
        AMQP_URL: amqpUrls.join(','),
        DATABASE_URL: this.#ways.database.url,
      },
      cwd: folder,
      logFile: this.#logFile,
      stopSignals: ['SIGKILL'],
    });
  }
}
