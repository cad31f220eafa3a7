/**
 * PostgreSQL as the order book sees it, at the level of its statements: rows, a clock, the version fence of the write
 * statement, unique keys, sessions with their locks. Two statements never run at once here, as row locks have it there;
 * what the schema's triggers and constraints forbid is refused, and taken for a violation as well, since a worker must
 * never try it.
 */
import { EventEmitter } from 'node:events';

import type pg from 'pg';

import type { Driver, Queryable, Statement } from '../../src/adapters/postgres/connection.ts';
import { RefusedByDatabase, unusable } from '../../src/adapters/postgres/database-error.ts';
import type { ReconciliationRun } from '../../src/ports/reconciliation-book.ts';
import { readMigrations } from '../../src/adapters/postgres/migration-files.ts';
import { ParkedTables } from './parked-tables.ts';
import { ForbiddenWrite, Tables, type FactRow } from './tables.ts';
import type { CallSite, Fault } from './faults.ts';
import { START_WALL_MS, type SimulatedProcess } from './machine.ts';
import { latencyMs, remoteCall, type Loss, type World } from './network.ts';

const MIGRATIONS = readMigrations();
/** How long TCP keepalive takes to notice that a machine is gone. */
const KEEPALIVE_MS = 11_000;

export class SimulatedDatabase {
  readonly tables = new Tables();
  readonly parked = new ParkedTables(this.tables, this.tables.audit, () => this.nowMs());
  /** Worker sessions that hold their locks. */
  readonly sessions = new Set<number>();
  /** Who works on which replay; 0: on the queue of unsealed messages. */
  readonly replayHolds = new Map<number, SimulatedProcess>();
  readonly reconciliations: ReconciliationRun[] = [];
  wallOffsetMs = 0;
  awayUntilMs = 0;
  /** Told of each order row that a process has read or written. */
  onSeen: (process: SimulatedProcess, orderId: string) => void = () => undefined;
  /** Told of the facts that a process is about to write. */
  onWrite: (process: SimulatedProcess, facts: readonly FactRow[]) => void = () => undefined;
  readonly #world: World;
  readonly #clients = new Set<SessionClient>();
  #lastWorker = 0;

  constructor(world: World) {
    this.#world = world;
  }

  nowMs(): number {
    return START_WALL_MS + this.wallOffsetMs + this.#world.time.nowMs;
  }

  get isAway(): boolean {
    return this.#world.time.nowMs < this.awayUntilMs;
  }

  /** Every connection and session ends; for so long it cannot be reached. */
  restart(awayMs: number): void {
    this.awayUntilMs = Math.max(this.awayUntilMs, this.#world.time.nowMs + awayMs);
    for (const client of [...this.#clients]) client.end_('the server went away');
    this.replayHolds.clear();
  }

  driverFor(process: SimulatedProcess): Driver {
    return {
      openPool: ({ wallMs }) => this.#pool(process, wallMs),
      connect: async ({ wallMs }) => {
        const client = new SessionClient(this, this.#world, process, wallMs);
        await client.connect();
        this.#clients.add(client);
        process.onKill(() => {
          this.#world.time.quietlyAfter(process.hasVanished ? KEEPALIVE_MS : 1, () => {
            client.end_('the process is gone');
          });
        });
        return client as unknown as pg.Client;
      },
    };
  }

  takeNumber(): number {
    this.#lastWorker += 1;
    return this.#lastWorker;
  }

  forget(client: SessionClient): void {
    this.#clients.delete(client);
  }

  #pool(process: SimulatedProcess, wallMs: number): Queryable & { close(): Promise<void> } {
    return {
      query: <Row extends object>(statement: Statement, values: readonly unknown[]) =>
        remoteCall<readonly object[]>(this.#world, {
          site: siteOf(statement),
          process,
          label: () => labelOf(statement, values),
          effect: (fault) => this.#execute(statement, values, process, fault),
          lost: (how) => {
            throw unusable(LOST[how]);
          },
          wallMs,
          isAway: () => this.isAway,
        }) as Promise<Row[]>,
      close: () => Promise.resolve(),
    };
  }

  #execute(
    { name, text }: Statement,
    values: readonly unknown[],
    process: SimulatedProcess,
    fault: Fault | undefined,
  ): readonly object[] {
    if (fault?.kind === 'refused') throw unusable('it has no connection left (53300)');
    switch (name) {
      case 'database state':
        return [{ read_only: fault?.kind === 'read-only', migrated: true }];
      case 'applied migrations':
        return MIGRATIONS;
      case 'read orders': {
        const orderIds = values[0] as readonly string[];
        const rows = orderIds.map((orderId) => this.tables.read(orderId, this.nowMs()));
        for (const orderId of orderIds) this.onSeen(process, orderId);
        return rows;
      }
      case 'living workers':
        return (values[1] as readonly number[])
          .filter((worker) => this.sessions.has(worker))
          .map((worker) => ({ worker }));
      case 'write orders': {
        if (fault?.kind === 'collision') throw new RefusedByDatabase('40001', undefined);
        const facts = JSON.parse(values[0] as string) as readonly FactRow[];
        this.onWrite(process, facts);
        const taken = this.#write(facts);
        for (const { order_id: orderId } of taken) this.onSeen(process, orderId);
        return taken;
      }
      case 'find repeated commands': {
        const [orderIds, commandIds] = values as readonly [readonly string[], readonly string[]];
        const { audit } = this.tables;
        return orderIds
          .filter((orderId, at) => audit.has(commandIds[at] ?? '', `order:${orderId}`))
          .map((orderId) => ({ order_id: orderId }));
      }
      case 'take unresolved orders':
        return this.tables.takeDue(values[0] as number, values[1] as number, this.nowMs());
      default:
        throw new Error(`the simulated database does not know the statement '${name}': ${text}`);
    }
  }

  #write(facts: readonly FactRow[]): readonly { readonly order_id: string }[] {
    try {
      return this.tables.write(facts, this.nowMs());
    } catch (error) {
      if (error instanceof ForbiddenWrite) this.#world.violated('I5', error.message);
      throw error instanceof ForbiddenWrite ? new RefusedByDatabase('23514', error.message) : error;
    }
  }
}

export const LOST: Readonly<Record<Loss, string>> = {
  away: 'connect ECONNREFUSED',
  before: 'Connection terminated unexpectedly',
  after: 'Connection terminated unexpectedly',
  silence: 'it accepted a statement and did not answer in time',
};

const SITES: Readonly<Record<string, CallSite>> = {
  'read orders': 'database.read',
  'find repeated commands': 'database.read',
  'living workers': 'database.living',
  'write orders': 'database.write',
  'take unresolved orders': 'database.take',
};

function siteOf({ name }: Statement): CallSite {
  return SITES[name] ?? 'database.probe';
}

function labelOf({ name }: Statement, values: readonly unknown[]): string {
  if (name === 'read orders') return (values[0] as readonly string[]).join(' ');
  if (name !== 'write orders') return name;
  const facts = JSON.parse(values[0] as string) as readonly FactRow[];
  return facts
    .map(
      (row) =>
        `${row.order_id} ${row.fact}: ${row['status_before'] ?? 'new'} -> ${row['status'] ?? '?'}${row['outcome'] === undefined ? '' : ` (${row['outcome']})`}`,
    )
    .join(', ');
}

/** The connection of a worker session, as far as worker-session.ts uses a client of pg. */
class SessionClient extends EventEmitter {
  readonly connection = { stream: { destroy: () => undefined } };
  readonly #database: SimulatedDatabase;
  readonly #world: World;
  readonly #process: SimulatedProcess;
  readonly #wallMs: number;
  #worker: number | undefined;
  #isOpen = true;

  constructor(database: SimulatedDatabase, world: World, process: SimulatedProcess, wallMs: number) {
    super();
    this.#database = database;
    this.#world = world;
    this.#process = process;
    this.#wallMs = wallMs;
  }

  connect(): Promise<void> {
    return this.#ask('database.session', () => undefined, 'connect');
  }

  query(text: string): Promise<{ rows: object[] }> {
    if (text.includes('set tcp_')) return Promise.resolve({ rows: [] });
    if (text.includes('nextval')) {
      // The number and its lock in one step: what lies between them is nobody else's.
      return this.#ask(
        'database.session',
        () => {
          this.#worker = this.#database.takeNumber();
          this.#database.sessions.add(this.#worker);
          return { rows: [{ worker: this.#worker }] };
        },
        'take a worker number',
      );
    }
    if (text.includes('pg_try_advisory_lock')) {
      const taken = this.#worker !== undefined && this.#database.sessions.has(this.#worker);
      return Promise.resolve({ rows: [{ taken }] });
    }
    return this.#ask(
      'database.heartbeat',
      (fault) => {
        if (fault?.kind === 'session-lost') this.end_('terminated by an administrator');
        if (fault?.kind === 'session-lost-unnoticed') this.#release();
        return { rows: [] };
      },
      'heartbeat',
    );
  }

  end(): Promise<void> {
    this.#isOpen = false;
    this.#world.time.quietlyAfter(latencyMs(this.#world.random), () => {
      this.#release();
    });
    return Promise.resolve();
  }

  /** The server's side of it ends; the process hears of it. */
  end_(why: string): void {
    this.#release();
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#world.trace.note(
      this.#world.time.nowMs,
      'database',
      () => `session ${String(this.#worker)} ends: ${why}`,
    );
    this.#process.later(latencyMs(this.#world.random), () => {
      this.emit('end');
    });
  }

  #release(): void {
    this.#database.forget(this);
    if (this.#worker !== undefined) this.#database.sessions.delete(this.#worker);
  }

  #ask<T>(site: CallSite, effect: (fault: Fault | undefined) => T, label: string): Promise<T> {
    return remoteCall<T>(this.#world, {
      site,
      process: this.#process,
      label: () => label,
      effect,
      lost: (how) => {
        throw unusable(LOST[how]);
      },
      wallMs: this.#wallMs,
      isAway: () => this.#database.isAway || !this.#isOpen,
    });
  }
}
