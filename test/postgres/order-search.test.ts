import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';

import type { PostgresOrderBook } from '../../src/adapters/postgres/order-book.ts';
import {
  openOrderSearch,
  searchStatement,
  type PostgresOrderSearch,
} from '../../src/adapters/postgres/order-search.ts';
import { hasMoneyMoved, verdictOf } from '../../src/domain/money-moved.ts';
import type { OrderTerms } from '../../src/domain/order.ts';
import type { AuthorizationOutcome } from '../../src/domain/outcome.ts';
import type { FoundOrder, OrderFilter, OrderPage } from '../../src/ports/order-search.ts';
import { claim, newTerms, outcome } from '../conformance/order-book.ts';
import type { TestDatabase } from '../support/services.ts';
import { migratedDatabase, openBook, quietLog } from './test-book.ts';

const ALL: OrderFilter = { statuses: [], isUnannounced: false, newestFirst: false, limit: 100 };

describe('the search for orders', () => {
  let database: TestDatabase;
  let book: PostgresOrderBook;
  let search: PostgresOrderSearch;
  let operator: pg.Client;
  /** Orders by what they are in these tests. */
  const orders = new Map<string, OrderTerms>();

  /** An order with an outcome (or none), first seen at this time. */
  async function make(
    name: string,
    seenAt: string,
    outcomes: readonly AuthorizationOutcome[],
    terms: Partial<OrderTerms> = {},
  ): Promise<OrderTerms> {
    const made = newTerms(terms);
    await book.apply(made.orderId, { kind: 'claim', terms: made });
    for (const one of outcomes) await outcome(book, made, 1, one);
    await operator.query(
      'update cardauth.orders set created_at = $2, version = version + 1 where order_id = $1',
      [made.orderId, seenAt],
    );
    orders.set(name, made);
    return made;
  }

  before(async () => {
    database = await migratedDatabase();
    book = await openBook(database.url);
    search = openOrderSearch({ databaseUrl: database.url, log: quietLog });
    operator = new pg.Client(database.url);
    await operator.connect();
    const declined = { kind: 'declined', reason: 'card_declined', class: 'hard', code: 'lost_card' } as const;
    const approved = (reference: string) => ({ kind: 'approved', reference }) as const;
    await make('approved', '2026-01-01T00:00:00.000001Z', [approved('pi_a')], { cardLast4: '4242' });
    const told = await make('announced', '2026-01-01T00:00:00.000002Z', [approved('pi_b')], {
      cardLast4: '4242',
    });
    await book.apply(told.orderId, { kind: 'notified', generation: 1, status: 'ready-to-ship' });
    await make('declined', '2026-01-02T00:00:00Z', [declined], { customerId: 'c-1' });
    await make('late', '2026-01-03T00:00:00Z', [declined, approved('pi_late')], { customerId: 'c-1' });
    await make('unknown', '2026-01-04T00:00:00Z', [{ kind: 'unknown', cause: 'no_answer', detail: '' }]);
    await make('in flight', '2026-01-05T00:00:00Z', []);
    await make('rejected', '2026-01-06T00:00:00Z', [{ kind: 'rejected', code: 'x' }]);
  });
  after(async () => {
    await Promise.all([book.close({ deadlineMs: 1_000 }), search.close(), operator.end()]);
    await database.drop();
  });

  const nameOf = ({ order }: FoundOrder) =>
    [...orders].find(([, { orderId }]) => orderId === order.orderId)?.[0] ?? 'another';
  const find = async (filter: Partial<OrderFilter>) =>
    (await search.find({ ...ALL, ...filter })).orders.map(nameOf);

  it('finds by each filter, and by all of them together', async () => {
    const table: readonly (readonly [Partial<OrderFilter>, readonly string[]])[] = [
      [{}, ['approved', 'announced', 'declined', 'late', 'unknown', 'in flight', 'rejected']],
      [{ newestFirst: true, limit: 2 }, ['rejected', 'in flight']],
      [{ statuses: ['denied', 'review'] }, ['declined', 'late', 'rejected']],
      [{ statuses: ['authorizing', 'authorization-unknown'] }, ['unknown', 'in flight']],
      [{ isUnannounced: true }, ['approved', 'declined', 'late']],
      [{ isUnannounced: true, statuses: ['ready-to-ship'] }, ['approved']],
      [{ isUnannounced: true, statuses: ['review'] }, []],
      [{ reason: 'card_declined' }, ['declined', 'late']],
      [{ reason: 'rejected: x' }, ['rejected']],
      [{ reference: 'pi_b' }, ['announced']],
      [{ reference: 'pi_late' }, ['late']],
      [{ reference: 'pi_' }, []],
      [{ cardLast4: '4242' }, ['approved', 'announced']],
      [{ customerId: 'c-1' }, ['declined', 'late']],
      [{ customerId: `' or true --` }, []],
      [{ seenBeforeMs: Date.UTC(2026, 0, 2) }, ['approved', 'announced']],
      [{ seenSinceMs: Date.UTC(2026, 0, 5) }, ['in flight', 'rejected']],
      [{ seenSinceMs: Date.UTC(2026, 0, 2), seenBeforeMs: Date.UTC(2026, 0, 4), customerId: 'c-1', newestFirst: true }, ['late', 'declined']],
    ]; // prettier-ignore
    for (const [filter, names] of table) assert.deepEqual(await find(filter), names, JSON.stringify(filter));
  });

  it('says of each whether money has moved, by whether its claim lives', async () => {
    const { orders: found, ...page } = await search.find(ALL);
    const moved = (at: OrderPage, one: FoundOrder) =>
      verdictOf(one.order, one.earlierAttempts, {
        nowMs: at.readAtMs,
        isAlive: (w) => at.livingWorkers.has(w),
      });
    const kinds = found.map((one) => [nameOf(one), moved({ ...page, orders: [] }, one).kind]);
    assert.deepEqual(Object.fromEntries(kinds), {
      approved: 'approved-unannounced',
      announced: 'approved-announced',
      declined: 'denied-unannounced',
      late: 'unwanted-hold',
      unknown: 'unknown',
      'in flight': 'in-flight',
      rejected: 'rejected',
    });

    const dead = await openBook(database.url);
    const { terms } = await claim(dead);
    orders.set('of a dead worker', terms);
    await dead.close({ deadlineMs: 1_000 });
    const after = await search.find({ ...ALL, newestFirst: true, limit: 1 });
    const [latest] = after.orders;
    assert.ok(latest);
    assert.equal(nameOf(latest), 'of a dead worker');
    assert.equal(moved(after, latest).kind, 'unknown');
    assert.equal(hasMoneyMoved(moved(after, latest)), 'unknown');
  });

  it('pages through orders that were seen in the same instant, each once, in both directions', async () => {
    const same: string[] = [];
    for (let n = 0; n < 7; n++)
      same.push((await make(`same ${n}`, '2025-01-01T00:00:00.123456Z', [])).orderId);
    for (const newestFirst of [false, true]) {
      const seen: string[] = [];
      let end: OrderPage['end'];
      do {
        const filter = { ...ALL, seenBeforeMs: Date.UTC(2025, 5), newestFirst, limit: 2, after: end };
        const page: OrderPage = await search.find(filter);
        seen.push(...page.orders.map(({ order }) => order.orderId));
        end = page.end;
      } while (end !== undefined);
      const expected = same.toSorted();
      assert.deepEqual(seen, newestFirst ? expected.toReversed() : expected);
    }
  });

  it('reads earlier generations with what they still hold', async () => {
    const terms = await make('second try', '2024-01-01T00:00:00Z', [
      { kind: 'declined', reason: 'card_declined', class: 'soft', code: 'later' },
      { kind: 'approved', reference: 'pi_second_try' },
    ]);
    await operator.query(
      `update cardauth.orders set status = 'received', status_reason = null, decided_at = null, generation = 2,
       version = version + 1 where order_id = $1`,
      [terms.orderId],
    );
    const { orders: [found], ...page } = await search.find({ ...ALL, limit: 1 }); // prettier-ignore
    assert.ok(found);
    assert.equal(found.order.attempt, undefined);
    assert.deepEqual(
      found.earlierAttempts.map(({ generation, voiding }) => [generation, voiding?.state]),
      [[1, 'due']],
    );
    const verdict = verdictOf(found.order, found.earlierAttempts, {
      nowMs: page.readAtMs,
      isAlive: () => true,
    });
    assert.equal(verdict.kind, 'contradicted');
  });

  it('answers every filter from an index', async () => {
    await operator.query('set enable_seqscan = off; set enable_sort = off; set enable_bitmapscan = off');
    // To the planner there are many orders, few of them unfinished.
    await operator.query(
      `update pg_class set reltuples = 1000000, relpages = 1 where oid = 'cardauth.orders'::regclass`,
    );
    const indexes: readonly (readonly [index: string, filter: Partial<OrderFilter>])[] = [
      ['orders_by_age', {}],
      ['orders_by_age', { newestFirst: true, after: { seenAtUs: '1', orderId: 'x' } }],
      ['unfinished_orders_pkey', { isUnannounced: true }],
      ['unfinished_orders_pkey', { statuses: ['review', 'authorization-unknown'] }],
      ['orders_by_customer', { customerId: 'x', newestFirst: true }],
      ['orders_by_card', { cardLast4: '4242' }],
      ['orders_by_reason', { reason: 'x', seenSinceMs: 1 }],
    ];
    for (const [index, filter] of indexes) {
      const { statement, values } = searchStatement({ ...ALL, ...filter });
      const { rows } = await operator.query<{ 'QUERY PLAN': string }>(`explain ${statement.text}`, [
        ...values,
      ]);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      assert.match(
        plan,
        new RegExp(
          `Limit .*\\n( +-> +Nested Loop .*\\n)? +-> +Index (Only )?Scan (Backward )?using ${index} on`,
        ),
        plan,
      );
    }
    const { statement, values } = searchStatement({ ...ALL, reference: 'pi_1' });
    const { rows } = await operator.query<{ 'QUERY PLAN': string }>(`explain ${statement.text}`, [...values]);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    for (const index of ['attempts_gateway_reference_key', 'attempts_void_reference'])
      assert.match(plan, new RegExp(`using ${index} `), plan);
  });
});
