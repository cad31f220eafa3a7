import { randomBytes } from 'node:crypto';

import { connectClient, endClient, run } from './connection.ts';

/** A database that was created to be dropped again. */
export interface ScratchDatabase {
  readonly url: string;
  /** Ends the sessions that are left in it, too. */
  drop(): Promise<void>;
}

/** Creates a new, empty database on the server of `url`; nothing that exists there is touched. Needs CREATEDB. */
export async function createScratchDatabase(url: string, label: string): Promise<ScratchDatabase> {
  const name = `cardauth_${label}_${randomBytes(6).toString('hex')}`;
  await execute(url, `create database ${name}`);
  const own = new URL(url);
  own.pathname = `/${name}`;
  return { url: own.href, drop: () => execute(url, `drop database ${name} with (force)`) };
}

async function execute(url: string, sql: string): Promise<void> {
  const client = await connectClient({
    databaseUrl: url,
    applicationName: 'cardauth scratch',
    wallMs: WALL_MS,
  });
  try {
    await run(client, sql);
  } finally {
    await endClient(client);
  }
}

const WALL_MS = 30_000;
