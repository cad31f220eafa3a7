/**
 * Brings schema `cardauth` up to this program's migrations. Safe from several places at once: they take turns on an
 * advisory lock, and whoever comes later finds nothing to do. Each migration commits by itself, with its row in
 * cardauth.schema_migrations.
 */
import type pg from 'pg';

import type { Log } from '../../ports/log.ts';
import { connectClient, endClient, run } from './connection.ts';
import { fromDatabase, isAnsweredByServer } from './database-error.ts';
import { readMigrations, type Migration } from './migration-files.ts';
import { APPLIED, driftOf, type AppliedMigration } from './schema-problem.ts';
import { LOCK_CLASS } from './worker-session.ts';

export interface MigrationStatus {
  /** Names of the files that were applied, and of those that were not. */
  readonly applied: readonly string[];
  readonly pending: readonly string[];
  /** Why the two do not fit together; undefined when they do. */
  readonly problem: string | undefined;
}

/**
 * Applies what is pending and says what that was. Throws when what was applied before is not what this program has,
 * and when a migration fails: what came before it stays applied.
 */
export async function migrateUp(options: {
  readonly url: string;
  readonly log: Log;
  readonly migrations?: readonly Migration[];
}): Promise<{ readonly applied: readonly string[] }> {
  const { log, migrations = readMigrations() } = options;
  return withClient(options.url, async (client) => {
    await run(client, 'select pg_advisory_lock($1::int, $2::int)', [LOCK_CLASS, MIGRATION_LOCK]);
    if (!(await isPrepared(client))) await run(client, PREPARE);
    const before = await appliedMigrations(client);
    const drift = driftOf(migrations, before);
    if (drift !== undefined) throw new Error(drift);

    const pending = migrations.slice(before.length);
    for (const migration of pending) {
      await applyMigration(client, migration);
      log.info({ migration: migration.name }, 'migration applied');
    }
    return { applied: pending.map(({ name }) => name) };
  });
}

/** Changes nothing. */
export async function migrationStatus(options: {
  readonly url: string;
  readonly migrations?: readonly Migration[];
}): Promise<MigrationStatus> {
  const { migrations = readMigrations() } = options;
  return withClient(options.url, async (client) => {
    const applied = (await isPrepared(client)) ? await appliedMigrations(client) : [];
    return {
      applied: applied.map(({ name }) => name),
      pending: migrations.slice(applied.length).map(({ name }) => name),
      problem: driftOf(migrations, applied),
    };
  });
}

/** Second half of the advisory lock's key; worker numbers begin at 1. */
const MIGRATION_LOCK = 0;

const PREPARE = `
  create schema if not exists cardauth;
  create table cardauth.schema_migrations (
    version integer primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now()
  )`;

const RECORD = 'insert into cardauth.schema_migrations (version, name, checksum) values ($1, $2, $3)';

async function applyMigration(client: pg.Client, { version, name, checksum, sql }: Migration): Promise<void> {
  try {
    await client.query('begin');
    await client.query(sql);
    await client.query(RECORD, [version, name, checksum]);
    await client.query('commit');
  } catch (error) {
    throw migrationError(name, error);
  }
}

/** Errors of class 42 are about the SQL itself and quote nothing but it; others may quote rows. */
function migrationError(name: string, error: unknown): Error {
  if (!isAnsweredByServer(error)) return fromDatabase(error);
  const { code = 'none', constraint = '', message } = error;
  return new Error(
    `migration ${name} failed: SQLSTATE ${code}: ${code.startsWith('42') ? message : constraint}`,
  );
}

async function isPrepared(client: pg.Client): Promise<boolean> {
  const [state] = await run<{ prepared: boolean }>(
    client,
    `select to_regclass('cardauth.schema_migrations') is not null as prepared`,
  );
  return state?.prepared === true;
}

function appliedMigrations(client: pg.Client): Promise<AppliedMigration[]> {
  return run<AppliedMigration>(client, APPLIED.text);
}

/** A migration may work on a large table; the others wait for their turn as long. */
const STATEMENT_WALL_MS = 600_000;
const CONNECT_WALL_MS = 10_000;

async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connectClient({
    databaseUrl: url,
    applicationName: 'cardauth migrate',
    wallMs: STATEMENT_WALL_MS,
    connectWallMs: CONNECT_WALL_MS,
  });
  try {
    return await use(client);
  } finally {
    // Ending the connection rolls an open transaction back and gives the lock to the next one.
    await endClient(client);
  }
}
