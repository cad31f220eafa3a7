/**
 * Connections on which nothing waits for ever: connecting, waiting for a free connection, each statement and each
 * lock have a limit on the server's side, and a wall on ours for a server that accepts and never answers. A
 * connection whose statement ran into our wall is destroyed, never used again.
 *
 * Everything thrown from here is a RetriableError of class `database` or a RefusedByDatabase (database-error.ts), so
 * that no text of the server that may quote a row leaves this folder.
 */
import pg from 'pg';

import type { Log } from '../../ports/log.ts';
import { fromDatabase, isAnsweredByServer } from './database-error.ts';

export interface ConnectionOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly databaseUrl: string;
  /** `application_name`, as seen in pg_stat_activity. */
  readonly applicationName: string;
  /** The wall of one statement; the server's own limits lie below it. */
  readonly wallMs: number;
  /** The wall of connecting; `wallMs` unless given. */
  readonly connectWallMs?: number;
}

/** SQL with a name: it is prepared once per connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** Asks within a transaction. */
export type Query = <Row extends object>(statement: Statement, values: readonly unknown[]) => Promise<Row[]>;

const BEGIN = { name: 'begin', text: 'begin' };
const COMMIT = { name: 'commit', text: 'commit' };

/** Runs statements that are each a transaction of their own. Rejects as this file says. */
export interface Queryable {
  query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]>;
}

/** How a database is reached: `pg`, or what a test has in its place. */
export interface Driver {
  openPool(options: PoolOptions): Queryable & { close(): Promise<void> };
  /** One connection of its own, for what lives as long as a session does. */
  connect(options: ConnectionOptions): Promise<pg.Client>;
}

export interface PoolOptions extends ConnectionOptions {
  readonly connections: number;
  /** Run once on every new connection. */
  readonly settings: string;
  readonly log: Log;
}

/** A few connections; each statement is a transaction of its own, unless several are made one. */
export class Database implements Queryable {
  readonly #pool: pg.Pool;
  readonly #clients = new Set<pg.Client>();

  constructor(options: PoolOptions) {
    const { log } = options;
    this.#pool = new pg.Pool({
      ...connectionLimits(options),
      max: options.connections,
      idleTimeoutMillis: 0,
      verify: (client, done) => {
        client.query(options.settings).then(
          () => {
            done();
          },
          (error: unknown) => {
            done(fromDatabase(error));
          },
        );
      },
    });
    this.#pool.on('connect', (client) => {
      this.#clients.add(client);
      // While a client is in use the pool does not listen; an error without a listener would end the process. The
      // statement that was running rejects by itself.
      client.on('error', () => undefined);
    });
    this.#pool.on('remove', (client) => this.#clients.delete(client));
    // An idle connection went away. The next statement opens another one, or says why it cannot.
    this.#pool.on('error', (error) => {
      log.debug({ reason: fromDatabase(error).message }, 'an idle database connection was lost');
    });
  }

  async query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const client = await this.#connect();
    let broken = true;
    try {
      const { rows } = await client.query<Row>({ ...statement, values: [...values] });
      broken = false;
      return rows;
    } catch (error) {
      broken = !isAnsweredByServer(error);
      throw fromDatabase(error);
    } finally {
      client.release(broken);
    }
  }

  /**
   * What `work` asks of the database, as one transaction: committed when it resolves. When it rejects, the connection
   * is given up, and with it the transaction.
   */
  async transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    const query: Query = async <Row extends object>(statement: Statement, values: readonly unknown[]) => {
      try {
        return (await client.query<Row>({ ...statement, values: [...values] })).rows;
      } catch (error) {
        throw fromDatabase(error);
      }
    };
    let broken = true;
    try {
      await query(BEGIN, []);
      const result = await work(query);
      await query(COMMIT, []);
      broken = false;
      return result;
    } finally {
      client.release(broken);
    }
  }

  async #connect(): Promise<pg.PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw fromDatabase(error);
    }
  }

  /** Cuts off what is running; waits for the goodbye of the server, but not for long. */
  async close(): Promise<void> {
    const ended = this.#pool.end();
    await Promise.all([...this.#clients].map(endClient));
    await ended;
  }
}

/** One connection of its own, for what lives as long as a session does. */
export async function connectClient(options: ConnectionOptions): Promise<pg.Client> {
  const client = new pg.Client(connectionLimits(options));
  // Without a listener a connection lost between two statements would end the process; the loss itself is seen by
  // whoever watches for 'end'.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    throw fromDatabase(error);
  }
  return client;
}

/** Runs SQL on a client of connectClient; several statements, when there are no values. */
export async function run<Row extends pg.QueryResultRow>(
  client: pg.Client,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  try {
    const result = await (values.length === 0
      ? client.query<Row>(text)
      : client.query<Row>(text, [...values]));
    return result.rows;
  } catch (error) {
    throw fromDatabase(error);
  }
}

/** PostgreSQL. */
export const pgDriver: Driver = {
  openPool: (options) => new Database(options),
  connect: connectClient,
};

const GOODBYE_MS = 500;

/** Ends a connection, by force when the server does not answer. Never rejects. */
export async function endClient(client: pg.Client): Promise<void> {
  const force = setTimeout(() => client.connection.stream.destroy(), GOODBYE_MS);
  await client.end().catch(() => undefined);
  clearTimeout(force);
}

/**
 * Settings of connections that look up single rows only. A plan that was cached while a table was small must not
 * scan it once it has grown; and what was reported as recorded must survive a crash of the server.
 */
export const POINT_ACCESS_SETTINGS = `
  set enable_seqscan = off;
  set enable_hashjoin = off;
  set enable_mergejoin = off;
  set jit = off;
  select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'
`;

function connectionLimits(options: ConnectionOptions): pg.ClientConfig {
  const { databaseUrl, applicationName, wallMs } = options;
  if (!URL.canParse(databaseUrl)) {
    // The URL is not repeated: it holds a password.
    throw new Error('the database URL cannot be read: write postgres://user:password@host:port/database');
  }
  return {
    connectionString: databaseUrl,
    application_name: applicationName,
    connectionTimeoutMillis: options.connectWallMs ?? wallMs,
    query_timeout: wallMs,
    statement_timeout: Math.ceil(wallMs * 0.8),
    lock_timeout: Math.ceil(wallMs * 0.2),
    idle_in_transaction_session_timeout: wallMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
  };
}
