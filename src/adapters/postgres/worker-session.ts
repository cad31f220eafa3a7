/**
 * A worker's life, as the other workers see it: a session with an advisory lock on the worker's number.
 *
 * The server gives the lock back when the connection ends, which it sees at once when the process dies; and by TCP
 * keepalive, set to give up after about eleven seconds, when the machine vanishes. Whoever finds a claim whose owner's
 * lock is gone takes it over. A number is never used twice: a lost session is followed by one with a new number, and
 * what the old one claimed is open to all, this worker included. The key makes that harmless.
 */
import type pg from 'pg';

import type { Log } from '../../ports/log.ts';
import type { Clock, Timer } from '../../topology/clock.ts';
import { endClient, run, type ConnectionOptions, type Driver, type Queryable } from './connection.ts';
import { fromDatabase, unusable } from './database-error.ts';

/** First half of the advisory locks' key, "card" in ASCII; the other half is the worker's number. */
export const LOCK_CLASS = 0x63617264;

/** How often the session is used, so that a connection that died in silence is noticed. */
const HEARTBEAT_MS = 2_000;

const SETTINGS = `
  set tcp_keepalives_idle = 5;
  set tcp_keepalives_interval = 2;
  set tcp_keepalives_count = 3`;

const TAKE_NUMBER = `select nextval('cardauth.worker_numbers')::int as worker`;
const TAKE_LOCK = `select pg_try_advisory_lock($1::int, $2::int) as taken`;

export class WorkerSession {
  readonly #options: ConnectionOptions;
  readonly #driver: Driver;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #onLost: (why: string) => void;
  #client: pg.Client | undefined;
  #worker: number | undefined;
  #heartbeat: Timer | undefined;
  #closed = false;

  /** `onLost` is called once for every session that ends without `close`. */
  constructor(options: {
    readonly connection: ConnectionOptions;
    readonly driver: Driver;
    readonly clock: Clock;
    readonly log: Log;
    readonly onLost: (why: string) => void;
  }) {
    this.#options = options.connection;
    this.#driver = options.driver;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#onLost = options.onLost;
  }

  /** The number whose lock is held; undefined while there is no session. */
  get worker(): number | undefined {
    return this.#worker;
  }

  /** Begins a session unless there is one. Rejects with what connection.ts throws. */
  async open(): Promise<void> {
    if (this.#worker !== undefined || this.#closed) return;
    const client = await this.#driver.connect(this.#options);
    try {
      const worker = await takeLock(client);
      this.#hold(client, worker);
    } catch (error) {
      void endClient(client);
      throw error;
    }
  }

  #hold(client: pg.Client, worker: number): void {
    this.#client = client;
    this.#worker = worker;
    client.on('end', () => {
      this.#lose(client, 'the connection of the worker session was lost');
    });
    this.#beatLater(client);
    this.#log.info({ worker }, 'worker session begun');
    if (this.#closed) void this.close();
  }

  #beatLater(client: pg.Client): void {
    this.#heartbeat = this.#clock.setTimer(HEARTBEAT_MS, () => {
      void this.#beat(client);
    });
  }

  async #beat(client: pg.Client): Promise<void> {
    try {
      await run(client, 'select 1');
      if (this.#client === client) this.#beatLater(client);
    } catch (error) {
      this.#lose(client, fromDatabase(error).message);
    }
  }

  #lose(client: pg.Client, why: string): void {
    if (this.#client !== client) return;
    const worker = this.#worker;
    this.#forget();
    void endClient(client);
    this.#log.warn({ worker, why }, 'worker session lost: its claims may be taken over');
    this.#onLost(why);
  }

  /** Gives the lock back. */
  async close(): Promise<void> {
    this.#closed = true;
    const client = this.#client;
    this.#forget();
    if (client !== undefined) await endClient(client);
  }

  #forget(): void {
    this.#heartbeat?.cancel();
    this.#client = undefined;
    this.#worker = undefined;
  }
}

async function takeLock(client: pg.Client): Promise<number> {
  await run(client, SETTINGS);
  const [number] = await run<{ worker: number }>(client, TAKE_NUMBER);
  if (number === undefined) throw unusable('it gave no worker number');
  const { worker } = number;
  const [lock] = await run<{ taken: boolean }>(client, TAKE_LOCK, [LOCK_CLASS, worker]);
  if (lock?.taken !== true) throw unusable(`the lock of worker ${worker} is held by somebody else`);
  return worker;
}

const LIVING = {
  name: 'living workers',
  text: `
    select objid::bigint::int as worker from pg_locks
    where locktype = 'advisory' and granted and objsubid = 2
      and database = (select oid from pg_database where datname = current_database())
      and classid::bigint = $1 and objid::bigint = any ($2::bigint[])`,
};

/** Which of `workers` still hold the locks of their sessions. Who does not will never hold it again. */
export async function livingWorkers(database: Queryable, workers: ReadonlySet<number>): Promise<Set<number>> {
  if (workers.size === 0) return new Set();
  const rows = await database.query<{ worker: number }>(LIVING, [LOCK_CLASS, [...workers]]);
  return new Set(rows.map((row) => row.worker));
}
