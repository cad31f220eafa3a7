import pg from 'pg';

import { LOCK_CLASS } from '../../src/adapters/postgres/worker-session.ts';
import type { PostgresOrderBook } from '../../src/adapters/postgres/order-book.ts';
import {
  orderBookConformance,
  softDeclineConformance,
  type Store,
  type StoreSettings,
} from '../conformance/order-book.ts';
import { operatorFactsConformance } from '../conformance/operator-facts.ts';
import { waitFor } from '../support/wait-for.ts';
import { migratedDatabase, openBook } from './test-book.ts';

orderBookConformance('PostgreSQL', openStore);
softDeclineConformance('PostgreSQL', openStore);
operatorFactsConformance('PostgreSQL', openStore);

async function openStore(settings: StoreSettings): Promise<Store> {
  const database = await migratedDatabase();
  const observer = new pg.Client(database.url);
  await observer.connect();
  const books: PostgresOrderBook[] = [];

  const now = async (): Promise<number> => {
    const { rows } = await observer.query<{ now: Date }>('select clock_timestamp() as now');
    return rows[0]?.now.getTime() ?? 0;
  };
  return {
    openWorker: async () => {
      const book = await openBook(database.url, settings);
      books.push(book);
      const { worker } = book;
      return {
        book,
        die: async () => {
          await observer.query(END_SESSION, [LOCK_CLASS, worker]);
          await waitFor('a new session', () => book.worker !== undefined && book.worker !== worker);
        },
      };
    },
    passTime: async (ms) => {
      const startMs = await now();
      await waitFor(`${ms} ms to pass`, async () => (await now()) - startMs >= ms);
    },
    close: async () => {
      await Promise.all(books.map((book) => book.close({ deadlineMs: 1_000 })));
      await observer.end();
      await database.drop();
    },
  };
}

const END_SESSION = `
  select pg_terminate_backend(pid) from pg_locks
  where locktype = 'advisory' and classid::bigint = $1 and objid::bigint = $2`;
