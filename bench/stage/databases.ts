import { randomBytes } from 'node:crypto';
import pg from 'pg';

/** A database server, and the databases that the bench has made on it. */
export interface Databases {
  readonly url: string;
  /** A new one, empty or a copy of `template`, one of ours that nobody is connected to; resolves to its URL. */
  create(template?: string): Promise<string>;
  drop(url: string): Promise<void>;
  /** Writes back what is dirty, so that nobody pays for the writes of whoever was before. */
  checkpoint(): Promise<void>;
  dropAll(): Promise<void>;
}

/** `flushMs`: what each flush of the log takes longer; the server pauses for it as it would for a disk, with its log locked. */
export function databasesOn(url: string, flushMs = 0): Databases {
  const made = new Set<string>();
  const nameOf = (of: string): string => new URL(of).pathname.slice(1);
  const drop = async (old: string): Promise<void> => {
    await query(url, `drop database ${nameOf(old)} with (force)`);
    made.delete(old);
  };
  return {
    url,
    async create(template) {
      const own = new URL(url);
      own.pathname = `/cardauth_bench_${randomBytes(6).toString('hex')}`;
      const copy = template === undefined ? '' : ` template ${nameOf(template)}`;
      await query(url, `create database ${nameOf(own.href)}${copy}`);
      made.add(own.href);
      if (flushMs > 0) {
        const settings = { commit_delay: Math.round(flushMs * 1000), commit_siblings: 0 };
        for (const [name, value] of Object.entries(settings))
          await query(url, `alter database ${nameOf(own.href)} set ${name} = ${value}`);
      }
      return own.href;
    },
    drop,
    async checkpoint() {
      await query(url, 'checkpoint');
    },
    async dropAll() {
      for (const old of [...made]) await drop(old);
    },
  };
}

/** One statement on a connection of its own. */
export async function query<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text, [...values])).rows;
  } finally {
    await client.end();
  }
}
