import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import pg from 'pg';
import { connectBroker } from './broker-client.ts';

export interface TestServices {
  readonly amqpUrl: string;
  readonly databaseUrl: string;
}

/** The broker and the database server that scripts/test.mjs found or started. */
export function testServices(): TestServices {
  return {
    // Of several nodes, as AMQP_URL may name, one is enough for a test.
    amqpUrl: fromTestScript('CARDAUTH_TEST_AMQP_URL').replace(/,.*/, ''),
    databaseUrl: fromTestScript('CARDAUTH_TEST_DATABASE_URL'),
  };
}

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** A new, empty database; existing ones are never touched. `drop` also ends the sessions that are left. */
export async function createDatabase(): Promise<TestDatabase> {
  const { databaseUrl } = testServices();
  const name = `cardauth_test_${randomName()}`;
  await query(databaseUrl, `CREATE DATABASE ${name}`);
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => query(databaseUrl, `DROP DATABASE ${name} WITH (FORCE)`) };
}

export interface TestBroker {
  readonly url: string;
  /** For CARDAUTH_BROKER_PREFIX: what the worker calls its own objects starts with this. */
  readonly prefix: string;
  readonly ordersQueue: string;
  readonly exchange: string;
  /** Deletes the two objects above and the named ones. */
  cleanup(also?: { queues?: readonly string[]; exchanges?: readonly string[] }): Promise<void>;
}

/**
 * Names of one test file's own on the common broker; nothing is declared yet. This works with a broker that
 * we may not administer. Where a virtual host is needed, see `createVhost`.
 */
export function createBroker(url = testServices().amqpUrl): TestBroker {
  const prefix = `cardauth-test-${randomName()}`;
  const ordersQueue = `${prefix}.orders`;
  const exchange = `${prefix}.processed`;
  return {
    url,
    prefix,
    ordersQueue,
    exchange,
    async cleanup({ queues = [], exchanges = [] } = {}) {
      const client = await connectBroker(url);
      try {
        for (const name of [ordersQueue, ...queues]) await client.deleteQueue(name);
        for (const name of [exchange, ...exchanges]) await client.deleteExchange(name);
      } finally {
        await client.close();
      }
    },
  };
}

/** False when the broker is not ours to administer: `rabbitmqctl` and `createVhost` then throw. */
export const canAdministerBroker = process.env['CARDAUTH_TEST_RABBITMQCTL'] !== undefined;

/** Runs rabbitmqctl against the private broker (about a second each) and returns what it printed. */
export async function rabbitmqctl(...args: string[]): Promise<string> {
  const { command, env } = JSON.parse(fromTestScript('CARDAUTH_TEST_RABBITMQCTL')) as {
    command: string;
    env: Record<string, string>;
  };
  const { stdout } = await promisify(execFile)(command, ['--quiet', ...args], { env, timeout: 60_000 });
  return stdout;
}

export interface TestVhost {
  readonly url: string;
  readonly name: string;
  drop(): Promise<void>;
}

/** A virtual host of its own, in which a test may use any names. */
export async function createVhost(): Promise<TestVhost> {
  const name = `cardauth-test-${randomName()}`;
  const url = new URL(testServices().amqpUrl);
  await rabbitmqctl('add_vhost', name);
  await rabbitmqctl('set_permissions', '--vhost', name, url.username || 'guest', '.*', '.*', '.*');
  url.pathname = `/${name}`;
  return {
    url: url.href,
    name,
    async drop() {
      await rabbitmqctl('delete_vhost', name);
    },
  };
}

function fromTestScript(variable: string): string {
  const value = process.env[variable];
  if (!value) {
    throw new Error(`${variable} is not set: run the tests with \`npm test -- <part of a file's path>\``);
  }
  return value;
}

function randomName(): string {
  return randomBytes(6).toString('hex');
}

async function query(databaseUrl: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
