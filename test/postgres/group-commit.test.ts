import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';

import type { PostgresOrderBook } from '../../src/adapters/postgres/order-book.ts';
import type { OrderFact } from '../../src/domain/order-states.ts';
import { NonRetriableError, RetriableError } from '../../src/topology/errors.ts';
import { claim, newTerms, outcome } from '../conformance/order-book.ts';
import type { TestDatabase } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';
import { migratedDatabase, openBook } from './test-book.ts';

it('an order is updated within its page where that has room: no index is written for it', async () => {
  const database = await migratedDatabase();
  const book = await openBook(database.url);
  // Few enough for one page with all their versions, whatever gathers in a commit.
  for (let orders = 0; orders < 5; orders += 1) {
    const { terms } = await claim(book);
    const { orderId } = terms;
    await outcome(book, terms, 1, { kind: 'approved', reference: `ref-${orderId}` });
    await book.apply(orderId, { kind: 'notified', generation: 1, status: 'ready-to-ship' });
  }
  // A server process hands its counts in when it ends, at the latest.
  await book.close({ deadlineMs: 5_000 });
  const client = new pg.Client(database.url);
  await client.connect();
  const counted = await waitFor('all updates to be counted', async () => {
    const { rows } = await client.query<{ updates: number; within_page: number }>(
      `select n_tup_upd::int as updates, n_tup_hot_upd::int as within_page
       from pg_stat_user_tables where relid = 'cardauth.orders'::regclass`,
    );
    return rows.find((row) => row.updates === 10);
  });
  await client.end();
  await database.drop();
  assert.deepEqual(counted, { updates: 10, within_page: 10 });
});

describe('group commits', () => {
  let database: TestDatabase;
  let observer: pg.Client;
  let book: PostgresOrderBook;
  let otherBook: PostgresOrderBook;

  before(async () => {
    database = await migratedDatabase();
    observer = new pg.Client(database.url);
    await observer.connect();
    book = await openBook(database.url);
    otherBook = await openBook(database.url);
  });
  after(async () => {
    await Promise.all([book, otherBook].map((each) => each.close({ deadlineMs: 1_000 })));
    await observer.end();
    await database.drop();
  });

  it('writes facts that are brought together in one transaction', async () => {
    const many = Array.from({ length: 200 }, () => newTerms());
    await Promise.all(many.map((terms) => book.apply(terms.orderId, { kind: 'claim', terms })));
    const ids = many.map(({ orderId }) => orderId);
    const { rows } = await observer.query<{ transaction: string }>(
      `select xmin::text as transaction from cardauth.orders where order_id = any ($1)
       union select xmin::text from cardauth.attempts where order_id = any ($1)
       union select xmin::text from cardauth.order_events where order_id = any ($1)`,
      [ids],
    );
    assert.equal(rows.length, 1, 'orders, attempts and events of one commit have one transaction');
  });

  it('takes more facts than fit into one commit', async () => {
    const many = Array.from({ length: 700 }, () => newTerms());
    const claims = await Promise.all(
      many.map((terms) => book.apply(terms.orderId, { kind: 'claim', terms })),
    );
    assert.ok(claims.every(({ next }) => next.step === 'charge'));
  });

  it('refuses only the fact that broke a rule, and does not say its values', async () => {
    const many = Array.from({ length: 50 }, () => newTerms());
    many[20] = newTerms({ amountMinor: -4711n });
    many[30] = newTerms({ customerId: 'secret\0secret' });
    const claims = await Promise.allSettled(
      many.map((terms) => book.apply(terms.orderId, { kind: 'claim', terms })),
    );
    const refused = claims.flatMap((each, index) => (each.status === 'rejected' ? [index] : []));
    assert.deepEqual(refused, [20, 30]);
    for (const each of claims) {
      if (each.status === 'fulfilled') {
        assert.equal(each.value.next.step, 'charge');
        continue;
      }
      const error: unknown = each.reason;
      assert.ok(error instanceof NonRetriableError);
      assert.equal(error.errorClass, 'database_refused');
      assert.match(
        error.message,
        /^order \S+: 'claim' was not recorded: .*(23514.*orders_amount_not_negative|22)/,
      );
      assert.doesNotMatch(error.message, /4711|secret/);
      assert.equal(error.cause, undefined);
    }
    assert.equal(book.availability.unavailableBecause(), undefined);
  });

  it('rejects only the fact that meets a bug, and stays available', async () => {
    const terms = newTerms();
    const nonsense = { kind: 'nonsense' } as unknown as OrderFact;
    const [bug, claimed] = await Promise.allSettled([
      book.apply(newTerms().orderId, nonsense),
      book.apply(terms.orderId, { kind: 'claim', terms }),
    ]);
    assert.equal(bug.status, 'rejected');
    assert.match(String(bug.reason), /^Error: bug: order \S+: 'nonsense' could not be decided/);
    assert.equal(claimed.status, 'fulfilled');
    assert.equal(book.availability.unavailableBecause(), undefined);
  });

  it('keeps two orders apart that were answered with the same authorization in one commit', async () => {
    const [one, two] = [await claim(book), await claim(book)];
    const approved = { kind: 'approved', reference: `shared-${one.terms.orderId}` } as const;
    const decisions = await Promise.all([one, two].map(({ terms }) => outcome(book, terms, 1, approved)));
    const statuses = decisions.map(({ order }) => order?.status);
    assert.deepEqual(statuses.sort(), ['ready-to-ship', 'review']);
    const { rows } = await observer.query<{ detail: string }>(
      `select detail from cardauth.order_events where order_id = $1 and status_after = 'review'`,
      [two.terms.orderId],
    );
    assert.deepEqual(rows, [
      { detail: `approved with reference ${approved.reference}, which another order has` },
    ]);
  });

  it('keeps what the gateway said of another order, without the reference that is not ours', async () => {
    const { terms: first } = await claim(book);
    await outcome(book, first, 1, { kind: 'approved', reference: `first-${first.orderId}` });
    const { terms } = await claim(book);
    const mixedUp = {
      kind: 'contradicted',
      reason: 'order_mismatch',
      reference: `first-${first.orderId}`,
    } as const;
    const { order } = await outcome(book, terms, 1, mixedUp);
    assert.equal(order?.statusReason, 'order_mismatch');
    assert.equal(order.gatewayReference, undefined);
  });

  it('holds up only the order whose row somebody else has locked', async () => {
    const { terms: locked } = await claim(book);
    const { terms: free } = await claim(book);
    await observer.query('begin');
    await observer.query('select from cardauth.orders where order_id = $1 for update', [locked.orderId]);
    try {
      const [held, passed] = await Promise.allSettled(
        [locked, free].map((terms) =>
          outcome(book, terms, 1, { kind: 'approved', reference: terms.orderId }),
        ),
      );
      assert.equal(passed?.status, 'fulfilled');
      assert.equal(held?.status, 'rejected');
      assert.ok(held.reason instanceof RetriableError);
      assert.equal(held.reason.errorClass, 'database');
      assert.match(held.reason.message, /another session holds a lock/);
    } finally {
      await observer.query('rollback');
    }
    const { order } = await outcome(book, locked, 1, { kind: 'approved', reference: locked.orderId });
    assert.equal(order?.status, 'ready-to-ship');
  });

  it('never deadlocks, whatever orders two workers bring in whatever sequence', async () => {
    const pool = Array.from({ length: 40 }, () => newTerms());
    const steps = Array.from({ length: 30 }, async () => {
      for (const each of [book, otherBook]) {
        const some = pool.filter(() => Math.random() < 0.5).sort(() => Math.random() - 0.5);
        await Promise.all(
          some.map(async (terms) => {
            const { next } = await each.apply(terms.orderId, { kind: 'claim', terms });
            if (next.step !== 'charge') return;
            const unknown = { kind: 'unknown', cause: 'no_answer', detail: 'timed out' } as const;
            await outcome(each, terms, next.claim, unknown);
          }),
        );
      }
    });
    await Promise.all(steps);
    const { rows } = await observer.query<{ deadlocks: number }>(
      'select deadlocks::int from pg_stat_database where datname = current_database()',
    );
    assert.deepEqual(rows, [{ deadlocks: 0 }]);
  });

  it('finishes what it was brought before it closes, and then takes no more', async () => {
    const closing = await openBook(database.url);
    const terms = newTerms();
    const claimed = closing.apply(terms.orderId, { kind: 'claim', terms });
    await closing.close({ deadlineMs: 5_000 });
    assert.equal((await claimed).next.step, 'charge');
    await assert.rejects(closing.apply(terms.orderId, { kind: 'claim', terms }), /closing/);
  });
});
