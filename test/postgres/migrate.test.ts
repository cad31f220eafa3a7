import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import pg from 'pg';

import { Database } from '../../src/adapters/postgres/connection.ts';
import { migrateUp, migrationStatus } from '../../src/adapters/postgres/migrate.ts';
import { readMigrations, type Migration } from '../../src/adapters/postgres/migration-files.ts';
import { schemaProblem } from '../../src/adapters/postgres/schema-problem.ts';
import { createDatabase } from '../support/services.ts';
import { quietLog } from './test-book.ts';

const names = readMigrations().map(({ name }) => name);

describe('migrations', () => {
  it('are applied once, however often and from wherever they are started', async (t) => {
    const url = await emptyDatabase(t);
    const runs = await Promise.all(Array.from({ length: 5 }, () => migrateUp({ url, log: quietLog })));
    const applied = runs.map((run) => run.applied).filter((list) => list.length > 0);
    assert.deepEqual(applied, [names]);
    assert.deepEqual(await migrateUp({ url, log: quietLog }), { applied: [] });
    assert.deepEqual(await migrationStatus({ url }), { applied: names, pending: [], problem: undefined });
  });

  it('are reported without being applied', async (t) => {
    const url = await emptyDatabase(t);
    assert.deepEqual(await migrationStatus({ url }), { applied: [], pending: names, problem: undefined });
    assert.match((await problemOf(url)) ?? '', /is missing: run `cardauth migrate up`/);
  });

  it('continue where they were left, each committed by itself', async (t) => {
    const url = await emptyDatabase(t);
    const [first, good, bad] = numbered('create table cardauth.a (n int)', 'select 1', 'select nonsense');
    assert.ok(first && good && bad);
    await migrateUp({ url, log: quietLog, migrations: [first] });
    const migrations = [first, good, bad];
    await assert.rejects(migrateUp({ url, log: quietLog, migrations }), /0003-test\.sql failed: .*42703/);
    const { applied, pending } = await migrationStatus({ url, migrations });
    assert.deepEqual(applied, [first.name, good.name]);
    assert.deepEqual(pending, [bad.name]);
    const mended = { ...bad, sql: 'select 3', checksum: 'mended' };
    await migrateUp({ url, log: quietLog, migrations: [first, good, mended] });
  });

  it('undo a migration that failed half way', async (t) => {
    const url = await emptyDatabase(t);
    const migrations = numbered('create table cardauth.half (n int); select 1 / 0');
    await assert.rejects(migrateUp({ url, log: quietLog, migrations }), /22012/);
    const client = await connect(t, url);
    const { rows } = await client.query<{ half: string | null }>(
      `select to_regclass('cardauth.half') as half`,
    );
    assert.deepEqual(rows, [{ half: null }]);
  });

  it('refuse a file whose text has changed since it was applied', async (t) => {
    const url = await emptyDatabase(t);
    await migrateUp({ url, log: quietLog });
    const client = await connect(t, url);
    await client.query(`update cardauth.schema_migrations set checksum = 'another' where version = 1`);
    const message = /0001-order-book\.sql was applied with another text/;
    await assert.rejects(migrateUp({ url, log: quietLog }), message);
    assert.match((await migrationStatus({ url })).problem ?? '', message);
    assert.match((await problemOf(url)) ?? '', message);
  });

  it('refuse a database that is ahead of this program, and the worker one that is behind', async (t) => {
    const url = await emptyDatabase(t);
    await migrateUp({ url, log: quietLog });
    assert.equal(await problemOf(url), undefined);

    const client = await connect(t, url);
    const version = names.length + 1;
    await client.query(`insert into cardauth.schema_migrations values ($1, 'future.sql', '')`, [version]);
    await assert.rejects(migrateUp({ url, log: quietLog }), /future\.sql, which this program does not know/);
    assert.match((await problemOf(url)) ?? '', /use a newer cardauth/);

    await client.query('delete from cardauth.schema_migrations where version >= $1', [version - 1]);
    assert.match(
      (await problemOf(url)) ?? '',
      /1 migration\(s\) behind this program: run `cardauth migrate up`/,
    );
  });

  it('say that the server is away, without the password', async () => {
    const url = 'postgres://me:hunter2@127.0.0.1:1/nowhere';
    await assert.rejects(migrateUp({ url, log: quietLog }), (error: Error) => {
      assert.match(error.message, /cannot be used: .*ECONNREFUSED/);
      assert.doesNotMatch(String(error.stack), /hunter2/);
      return true;
    });
  });

  it('are numbered without a gap', async (t) => {
    assert.ok(names.length > 0);
    const folder = await mkdtemp(join(tmpdir(), 'cardauth-migrations-'));
    t.after(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, '0001-first.sql'), 'select 1');
    await writeFile(join(folder, '0003-third.sql'), 'select 3');
    assert.throws(() => readMigrations(folder), /0003-third\.sql: expected 0002-/);
  });
});

function numbered(...texts: string[]): Migration[] {
  return texts.map((sql, index) => ({
    version: index + 1,
    name: `000${index + 1}-test.sql`,
    checksum: `checksum of ${sql}`,
    sql,
  }));
}

async function emptyDatabase(t: TestContext): Promise<string> {
  const database = await createDatabase();
  t.after(() => database.drop());
  return database.url;
}

async function connect(t: TestContext, url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  // The database is dropped under it, by force.
  client.on('error', () => undefined);
  await client.connect();
  t.after(() => client.end());
  return client;
}

async function problemOf(databaseUrl: string): Promise<string | undefined> {
  const database = new Database({
    databaseUrl,
    applicationName: 'cardauth test',
    wallMs: 5_000,
    connections: 1,
    settings: '',
    log: quietLog,
  });
  try {
    return await schemaProblem(database);
  } finally {
    await database.close();
  }
}
