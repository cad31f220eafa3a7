import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';

import { pgDriver, type Driver } from '../../src/adapters/postgres/connection.ts';
import { createOrderBook, type PostgresOrderBook } from '../../src/adapters/postgres/order-book.ts';
import { RecentOrders } from '../../src/adapters/postgres/recent-orders.ts';
import type { OrderTerms } from '../../src/domain/order.ts';
import { claim, outcome } from '../conformance/order-book.ts';
import { claimBy, OUTCOMES, orderAfter, outcomeOf, SELF } from '../domain/order-histories.ts';
import type { TestDatabase } from '../support/services.ts';
import { migratedDatabase, openBook, quietLog, realClock, untilAvailable } from './test-book.ts';

const DECLINED = { kind: 'declined', reason: 'card_declined', class: 'hard', code: 'lost_card' } as const;

describe('facts that follow at once', () => {
  let database: TestDatabase;
  let book: PostgresOrderBook;
  let otherBook: PostgresOrderBook;
  /** Names of the statements that `book` has run in this test. */
  let statements: string[] = [];

  before(async () => {
    database = await migratedDatabase();
    book = createOrderBook({
      databaseUrl: database.url,
      leaseMs: 60_000,
      keyWindowMs: 3_600_000,
      clock: realClock,
      log: quietLog,
      driver: listening((statement) => statements.push(statement)),
    });
    book.start();
    await untilAvailable(book);
    otherBook = await openBook(database.url);
  });
  beforeEach(() => {
    statements = [];
  });
  after(async () => {
    await Promise.all([book, otherBook].map((each) => each.close({ deadlineMs: 1_000 })));
    await database.drop();
  });

  it('are decided without reading the order again, and find what its row says', async () => {
    const { terms } = await claim(book);
    const approved = await outcome(book, terms, 1, approvalOf(terms));
    const notified = await book.apply(terms.orderId, NOTIFIED);
    assert.deepEqual(statements, ['read orders', 'write orders', 'write orders', 'write orders']);

    assert.ok((notified.order?.notifiedAtMs ?? 0) >= (approved.order?.decidedAtMs ?? Infinity));
    const stored = await otherBook.apply(terms.orderId, { kind: 'claim', terms });
    assert.deepEqual(stored.order, notified.order);
  });

  it('are decided again when somebody else was faster', async () => {
    const { terms } = await claim(book);
    const theirs = await outcome(otherBook, terms, 1, approvalOf(terms));
    const ours = await outcome(book, terms, 1, approvalOf(terms));
    assert.deepEqual(ours, { order: theirs.order, next: { step: 'announce' }, alarm: undefined });

    await otherBook.apply(terms.orderId, NOTIFIED);
    const marked = await book.apply(terms.orderId, NOTIFIED);
    assert.equal(marked.next.step, 'nothing');
    assert.equal(marked.alarm, undefined);
  });

  it('are decided on what is stored when they change nothing', async () => {
    const { terms } = await claim(book);
    await outcome(book, terms, 1, DECLINED);
    const command = { commandId: terms.orderId, actor: 'anna@ops', action: 'test', reason: 'a test' };
    await otherBook.apply(terms.orderId, { kind: 'reopened', generation: 1 }, command);

    const late = await outcome(book, terms, 1, DECLINED);
    assert.equal(late.order?.generation, 2);
    assert.notEqual(late.next.step, 'announce', 'a reopened order is not announced as denied');
  });

  it('are read when the order is claimed again', async () => {
    const { terms } = await claim(book);
    statements = [];
    await book.apply(terms.orderId, { kind: 'claim', terms });
    assert.deepEqual(statements, ['read orders', 'write orders']);
  });
});

describe('recent orders', () => {
  it('keep an order only while its worker goes on with it', () => {
    const recent = new RecentOrders(standing());
    const outcomeOfIt = { orderId: '1', fact: outcomeOf(OUTCOMES.approved, 1) };
    const order = orderAfter([claimBy(), 0, SELF]);
    recent.wrote('1', { order, next: { step: 'announce' }, alarm: undefined });
    assert.equal(recent.before(outcomeOfIt), order);
    assert.equal(recent.before({ orderId: '1', fact: claimBy() }), undefined, 'claims are read');
    recent.wrote('1', { order, next: { step: 'nothing' }, alarm: undefined });
    assert.equal(recent.before(outcomeOfIt), undefined);
  });

  it('are a few thousand at most: the oldest are read again', () => {
    const recent = new RecentOrders(standing());
    const order = orderAfter([claimBy(), 0, SELF]);
    const most = 4_096;
    for (let n = 0; n <= most; n += 1) {
      recent.wrote(String(n), { order, next: { step: 'announce' }, alarm: undefined });
    }
    const isKnown = (orderId: string) =>
      recent.before({ orderId, fact: outcomeOf(OUTCOMES.approved, 1) }) !== undefined;
    assert.deepEqual(['0', '1', String(most)].map(isKnown), [false, true, true]);
  });

  it("tell the database's time, which no slow answer turns back, but a clock that was set back does", () => {
    const clock = standing();
    const recent = new RecentOrders(clock);
    recent.setTime(1_000_000);
    clock.ms += 500;
    assert.equal(recent.nowMs(), 1_000_500);
    recent.setTime(1_000_480);
    assert.equal(recent.nowMs(), 1_000_500);
    clock.ms += 30;
    assert.equal(recent.nowMs(), 1_000_510);
    recent.setTime(500_000);
    assert.equal(recent.nowMs(), 500_000);
  });
});

const NOTIFIED = { kind: 'notified', generation: 1, status: 'ready-to-ship' } as const;

function approvalOf({ orderId }: OrderTerms) {
  return { kind: 'approved', reference: `ref-${orderId}` } as const;
}

function standing(): { ms: number; nowMs: () => number } {
  return {
    ms: 0,
    nowMs() {
      return this.ms;
    },
  };
}

/** `pg`, but each statement of a pool is told by its name. */
function listening(onStatement: (name: string) => void): Driver {
  return {
    ...pgDriver,
    openPool(options) {
      const pool = pgDriver.openPool(options);
      return {
        query(statement, values) {
          if (statement.name.endsWith(' orders')) onStatement(statement.name);
          return pool.query(statement, values);
        },
        close: () => pool.close(),
      };
    },
  };
}
