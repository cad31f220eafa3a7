import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import {
  openAttentionLists,
  type PostgresAttentionLists,
} from '../../src/adapters/postgres/attention-lists.ts';
import type { PostgresOrderBook } from '../../src/adapters/postgres/order-book.ts';
import { allUnannounced, listUnannounced } from '../../src/ops/resend-notifications.ts';
import { listUnknown } from '../../src/ops/list-unknown.ts';
import { claim, outcome } from '../conformance/order-book.ts';
import { silent } from '../support/silent-log.ts';
import { migratedDatabase, openBook } from './test-book.ts';

describe("operators' lists in PostgreSQL", () => {
  let database: Awaited<ReturnType<typeof migratedDatabase>>;
  let book: PostgresOrderBook;
  let lists: PostgresAttentionLists;

  before(async () => {
    database = await migratedDatabase();
    book = await openBook(database.url, { leaseMs: 60_000, keyWindowMs: 3_600_000 });
    lists = openAttentionLists({ databaseUrl: database.url, log: silent });
  });
  after(async () => {
    await Promise.all([book.close({ deadlineMs: 1_000 }), lists.close()]);
    await database.drop();
  });

  it('go through all orders page by page, none twice and none left out, the oldest first', async () => {
    const [unknown, announced, unannounced]: string[][] = [[], [], []];
    const all = await Promise.all(Array.from({ length: 21 }, () => claim(book)));
    await Promise.all(
      all.map(async ({ terms }, n) => {
        const kind = n % 3;
        const { orderId } = terms;
        if (kind === 0) {
          unknown?.push(orderId);
          return outcome(book, terms, 1, { kind: 'unknown', cause: 'no_answer', detail: 'timed out' });
        }
        const decided = await outcome(book, terms, 1, { kind: 'approved', reference: `ref-${orderId}` });
        (kind === 1 ? announced : unannounced)?.push(orderId);
        if (kind === 1) await book.apply(orderId, { kind: 'notified', generation: 1, status: 'ready-to-ship' });
        return decided;
      }),
    );
    assert.deepEqual((await pages((after) => listUnknown(lists, { limit: 2, after }))).sort(), unknown?.sort());
    const found = await pages((after) => listUnannounced(lists, { limit: 2, after }));
    assert.deepEqual([...found].sort(), unannounced?.sort());
    assert.deepEqual((await allUnannounced(lists)).sort(), unannounced?.sort());

    const client = new pg.Client(database.url);
    await client.connect();
    const { rows } = await client.query<{ order_id: string }>(
      'select order_id from cardauth.orders where order_id = any ($1) order by decided_at, order_id', [found]);
    await client.end();
    assert.deepEqual(found, rows.map((row) => row.order_id));
  }); // prettier-ignore

  it('leave out what a worker has in hand', async () => {
    const { terms } = await claim(book);
    const { orders } = await listUnknown(lists, { limit: 1_000, after: undefined });
    assert.equal(orders.some(({ orderId }) => orderId === terms.orderId), false);
  }); // prettier-ignore
});

async function pages(
  next: (after: string | undefined) => Promise<{ orders: { orderId: string }[]; next: string | null }>,
): Promise<string[]> {
  const ids: string[] = [];
  let after: string | undefined;
  do {
    const page = await next(after);
    ids.push(...page.orders.map(({ orderId }) => orderId));
    after = page.next ?? undefined;
  } while (after !== undefined);
  return ids;
}
