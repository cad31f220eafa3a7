import type { Log } from '../../src/ports/log.ts';
import type { SoftDeclineRetry } from '../../src/domain/soft-declines.ts';
import type { Clock } from '../../src/topology/clock.ts';
import { migrateUp } from '../../src/adapters/postgres/migrate.ts';
import { createOrderBook, type PostgresOrderBook } from '../../src/adapters/postgres/order-book.ts';
import { createDatabase, type TestDatabase } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';

export const quietLog: Log = {
  trace: () => undefined,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export const realClock: Clock = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return {
      cancel: () => {
        clearTimeout(timer);
      },
    };
  },
  defer: (callback) => {
    const immediate = setImmediate(callback);
    return {
      cancel: () => {
        clearImmediate(immediate);
      },
    };
  },
};

/** A database of its own, with the schema in it. */
export async function migratedDatabase(): Promise<TestDatabase> {
  const database = await createDatabase();
  await migrateUp({ url: database.url, log: quietLog });
  return database;
}

export interface BookSettings {
  readonly leaseMs?: number;
  readonly keyWindowMs?: number;
  readonly deadlineMs?: number;
  readonly softDeclineRetry?: SoftDeclineRetry | undefined;
  readonly log?: Log;
}

/** A started book; it may still be connecting. */
export function startBook(databaseUrl: string, settings: BookSettings = {}): PostgresOrderBook {
  const book = createOrderBook({
    databaseUrl,
    leaseMs: 60_000,
    keyWindowMs: 3_600_000,
    clock: realClock,
    log: quietLog,
    ...settings,
  });
  book.start();
  return book;
}

export async function untilAvailable(book: PostgresOrderBook): Promise<void> {
  await waitFor('the order book to be available', () => book.availability.unavailableBecause() === undefined);
}

export async function openBook(databaseUrl: string, settings: BookSettings = {}): Promise<PostgresOrderBook> {
  const book = startBook(databaseUrl, settings);
  await untilAvailable(book);
  return book;
}
