/** Whether the database's schema is the one that this program was written for. */
import type { Queryable } from './connection.ts';
import { readMigrations, type Migration } from './migration-files.ts';

/** A row of cardauth.schema_migrations. */
export interface AppliedMigration {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
}

/** Why a worker cannot use the database, which answers; undefined when it can. Rejects as connection.ts does. */
export async function databaseProblem(database: Queryable): Promise<string | undefined> {
  const [state] = await database.query<{ read_only: boolean }>(STATE, []);
  if (state?.read_only === true) return 'the database is read-only: is it a standby?';
  return schemaProblem(database);
}

/** They do not change under a running program, and workers probe again and again. */
let ours: readonly Migration[] | undefined;

/** What is wrong with the schema: it is missing, behind, ahead, or another one; undefined when it fits. */
export async function schemaProblem(database: Queryable): Promise<string | undefined> {
  const migrations = (ours ??= readMigrations());
  const [state] = await database.query<{ migrated: boolean }>(STATE, []);
  if (state?.migrated !== true) return 'schema cardauth is missing: run `cardauth migrate up`';
  const applied = await database.query<AppliedMigration>(APPLIED, []);
  const drift = driftOf(migrations, applied);
  if (drift !== undefined) return drift;
  const behind = migrations.length - applied.length;
  return behind > 0
    ? `schema cardauth is ${behind} migration(s) behind this program: run \`cardauth migrate up\``
    : undefined;
}

/** Why `migrations` are not a continuation of what was applied; undefined when they are. */
export function driftOf(
  migrations: readonly Migration[],
  applied: readonly AppliedMigration[],
): string | undefined {
  for (const { version, name, checksum } of applied) {
    const known = migrations[version - 1];
    if (known === undefined) {
      return `schema cardauth has migration ${name}, which this program does not know: use a newer cardauth`;
    }
    if (known.checksum !== checksum) {
      return `migration ${name} was applied with another text than this program has: restore the file, add a new one`;
    }
  }
  return undefined;
}

const STATE = {
  name: 'database state',
  text: `
    select
      current_setting('transaction_read_only') = 'on' as read_only,
      to_regclass('cardauth.schema_migrations') is not null as migrated`,
};

export const APPLIED = {
  name: 'applied migrations',
  text: 'select version, name, checksum from cardauth.schema_migrations order by version',
};
