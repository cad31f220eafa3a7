import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';

import { openOrderHistory, type PostgresOrderHistory } from '../../src/adapters/postgres/order-history.ts';
import type { PostgresOrderBook } from '../../src/adapters/postgres/order-book.ts';
import { claim, newTerms, outcome } from '../conformance/order-book.ts';
import { collectingLog } from '../gateway/collecting-log.ts';
import type { TestDatabase } from '../support/services.ts';
import { migratedDatabase, openBook, quietLog } from './test-book.ts';

describe('the history of orders', () => {
  let database: TestDatabase;
  let book: PostgresOrderBook;
  let history: PostgresOrderHistory;

  before(async () => {
    database = await migratedDatabase();
    book = await openBook(database.url);
    history = openOrderHistory({ databaseUrl: database.url, log: quietLog });
  });
  after(async () => {
    await Promise.all([book.close({ deadlineMs: 1_000 }), history.close()]);
    await database.drop();
  });

  it('shows an order with its attempts and every fact that changed it', async () => {
    const { terms } = await claim(book);
    const detail = 'no answer within 8000 ms\n(asked twice)';
    await outcome(book, terms, 1, { kind: 'unknown', cause: 'no_answer', detail });
    await book.apply(terms.orderId, { kind: 'claim', terms });
    const declined = {
      kind: 'declined',
      reason: 'card_declined',
      class: 'soft',
      code: 'insufficient_funds',
    } as const;
    await outcome(book, terms, 2, { ...declined, reference: `ref-${terms.orderId}` });
    const { order } = await outcome(book, terms, 2, { kind: 'approved', reference: 'late' });

    const shown = await history.show(terms.orderId);
    assert.deepEqual(shown?.order, order);
    const [attempt, ...more] = shown?.attempts ?? [];
    assert.equal(more.length, 0);
    assert.equal(attempt?.generation, 1);
    assert.equal(attempt.claim, 2);
    assert.equal(attempt.state, 'declined');
    assert.equal(attempt.gatewayReference, `ref-${terms.orderId}`);
    // The latest answer: it came late, and the hold behind it is to be voided.
    assert.equal(attempt.lastOutcome, 'approved');
    assert.equal(attempt.detail, 'late');
    assert.deepEqual(attempt.voiding, { reference: 'late', state: 'due', tries: 0 });
    assert.ok(attempt.updatedAtMs >= attempt.createdAtMs);

    const events = shown?.events.map((e) => [
      e.fact,
      e.claim,
      e.statusBefore,
      e.statusAfter,
      e.outcome,
      e.detail,
    ]);
    const [resent, nowDenied] = ['authorization-unknown', 'denied'];
    assert.deepEqual(events, [
      ['claim', 1, undefined, 'authorizing', undefined, undefined],
      ['outcome', 1, 'authorizing', resent, 'unknown: no_answer', 'no answer within 8000 ms (asked twice)'],
      ['claim', 2, resent, resent, undefined, undefined],
      ['outcome', 2, resent, nowDenied, 'declined: card_declined', 'insufficient_funds'],
      ['outcome', 2, nowDenied, nowDenied, 'approved', 'late'],
    ]);
    assert.match(shown?.events.at(-1)?.alarm ?? '', /it is voided/);
    assert.ok(shown?.events.every(({ worker }) => worker === book.worker));
  });

  it('says every alarm in the log, once, with the order', async () => {
    const log = collectingLog();
    const watched = await openBook(database.url, { log });
    const { terms } = await claim(watched);
    await outcome(watched, terms, 1, { kind: 'approved', reference: `ref-${terms.orderId}` });
    const late = { kind: 'declined', reason: 'card_declined', class: 'hard', code: 'lost_card' } as const;
    const { alarm } = await outcome(watched, terms, 1, late);
    await watched.close({ deadlineMs: 1_000 });
    assert.notEqual(alarm, undefined);
    const alarms = log.lines.filter(({ level }) => level === 'error').map(({ fields }) => fields);
    assert.deepEqual(alarms, [{ orderId: terms.orderId, alarm, step: 'outcome' }]);
  });

  it('shows one attempt a generation, each with its own key and reference', async (t) => {
    const { terms } = await claim(book);
    const { orderId } = terms;
    const declined = {
      kind: 'declined',
      reason: 'card_declined',
      class: 'soft',
      code: 'try_again_later',
    } as const;
    await outcome(book, terms, 1, { ...declined, reference: `first-${orderId}` });
    const operator = new pg.Client(database.url);
    await operator.connect();
    t.after(() => operator.end());
    await operator.query(
      `update cardauth.orders
       set status = 'received', status_reason = null, decided_at = null, generation = 2, version = version + 1
       where order_id = $1`,
      [orderId],
    );

    const { next } = await book.apply(orderId, { kind: 'claim', terms });
    assert.deepEqual(next, { step: 'charge', idempotencyKey: `order-${orderId}-2`, generation: 2, claim: 1 });
    const approved = { kind: 'approved', reference: `second-${orderId}` } as const;
    await book.apply(orderId, { kind: 'outcome', generation: 2, claim: 1, outcome: approved });
    const shown = await history.show(orderId);
    assert.equal(shown?.order?.status, 'ready-to-ship');
    assert.deepEqual(
      shown.attempts.map((attempt) => [attempt.idempotencyKey, attempt.state, attempt.gatewayReference]),
      [
        [`order-${orderId}-1`, 'declined', `first-${orderId}`],
        [`order-${orderId}-2`, 'approved', `second-${orderId}`],
      ],
    );
  });

  it('shows what is known of an order that was never stored', async () => {
    const { orderId } = newTerms();
    assert.equal(await history.show(orderId), undefined);
    await book.apply(orderId, { kind: 'parked', reason: 'amount_precision' });
    const shown = await history.show(orderId);
    assert.equal(shown?.order, undefined);
    assert.deepEqual(
      shown?.events.map(({ fact, detail }) => [fact, detail]),
      [['parked', 'amount_precision']],
    );
  });

  it('shows where the message waited for a person, and what operators did, of this order alone', async (t) => {
    const { terms } = await claim(book);
    const { orderId } = terms;
    const operator = new pg.Client(database.url);
    await operator.connect();
    t.after(() => operator.end());
    for (const id of [orderId, `${orderId}0`]) {
      await operator.query(
        `insert into cardauth.parked_orders (order_id, reason, class, attempts, error, origin_queue, first_seen_at, parked_at,
           not_replayable_because)
         values ($1, 'replays_exhausted', 'exhausted', 3, 'no answer', 'orders', '2026-01-01Z', '2026-01-02Z',
           'a test')`,
        [id],
      );
      await operator.query(
        `insert into cardauth.audit_log (command_id, actor, action, reason, subject, happened_at)
         values ($1, 'anna@ops', 'reopen', 'the bank said so', 'order:' || $1::text, '2026-01-03Z')`,
        [id],
      );
    }
    const shown = await history.show(orderId);
    assert.deepEqual(
      shown?.parkings.map((parking) => ({ ...parking, parkedId: 'any' })),
      [
        {
          parkedId: 'any',
          parkedAtMs: Date.UTC(2026, 0, 2),
          firstSeenMs: Date.UTC(2026, 0, 1),
          reason: 'replays_exhausted',
          class: 'exhausted',
          error: 'no answer',
          attempts: 3,
          state: 'parked',
          closedAtMs: undefined,
        },
      ],
    );
    assert.deepEqual(shown.actions, [
      { happenedAtMs: Date.UTC(2026, 0, 3), actor: 'anna@ops', action: 'reopen', reason: 'the bank said so' },
    ]);
    assert.deepEqual(shown.livingWorkers, new Set([book.worker]));
    assert.ok(shown.seenAtMs !== undefined && shown.readAtMs >= shown.seenAtMs);
    // Only the parking and the action are known of the other one, and that is something.
    const other = await history.show(`${orderId}0`);
    assert.deepEqual([other?.order, other?.parkings.length, other?.actions.length], [undefined, 1, 1]);
  });

  it('writes nothing for a fact that changed nothing', async () => {
    const { terms } = await claim(book);
    await outcome(book, terms, 1, { kind: 'approved', reference: `ref-${terms.orderId}` });
    const before = await history.show(terms.orderId);
    for (let copy = 0; copy < 3; copy += 1) await book.apply(terms.orderId, { kind: 'claim', terms });
    const after = await history.show(terms.orderId);
    assert.deepEqual(after, { ...before, readAtMs: after?.readAtMs });
  });

  it('bounds texts, whatever a gateway says', async () => {
    const { terms } = await claim(book);
    const detail = `\0\ud800${'x'.repeat(10_000)}`;
    const { next } = await outcome(book, terms, 1, { kind: 'unknown', cause: 'unreadable_answer', detail });
    assert.equal(next.step, 'retry');
    const shown = await history.show(terms.orderId);
    assert.equal(shown?.attempts[0]?.detail, `  ${'x'.repeat(498)}`);
  });

  it('counts and lists all orders', async (t) => {
    const fresh = await migratedDatabase();
    t.after(() => fresh.drop());
    const [itsBook, itsHistory] = [
      await openBook(fresh.url),
      openOrderHistory({ databaseUrl: fresh.url, log: quietLog }),
    ];
    t.after(() => Promise.all([itsBook.close({ deadlineMs: 1_000 }), itsHistory.close()]));

    const many = await Promise.all(Array.from({ length: 2_500 }, () => claim(itsBook)));
    const [first, second, third] = many.map(({ terms }) => terms);
    assert.ok(first && second && third);
    await outcome(itsBook, first, 1, { kind: 'approved', reference: 'first' });
    await outcome(itsBook, second, 1, { kind: 'approved', reference: 'second' });
    await itsBook.apply(first.orderId, { kind: 'notified', generation: 1, status: 'ready-to-ship' });
    await outcome(itsBook, third, 1, { kind: 'rejected', code: 'x' });

    assert.deepEqual(await itsHistory.countsByStatus(), {
      received: 0,
      authorizing: 2_497,
      'authorization-unknown': 0,
      review: 1,
      'ready-to-ship': 2,
      denied: 0,
    });
    assert.equal(await itsHistory.countDecidedUnnotified(), 1);
    const listed = [];
    for await (const order of itsHistory.list()) listed.push(order);
    assert.deepEqual(
      listed.map(({ orderId }) => orderId),
      many.map(({ terms }) => terms.orderId).sort(),
    );
    const listedFirst = listed.find(({ orderId }) => orderId === first.orderId);
    assert.notEqual(listedFirst?.notifiedAtMs, undefined);
    assert.deepEqual(
      { ...listedFirst, notifiedAtMs: undefined },
      {
        orderId: first.orderId,
        status: 'ready-to-ship',
        amountMinor: first.amountMinor,
        currency: 'USD',
        gatewayReference: 'first',
        notifiedAtMs: undefined,
      },
    );
  });

  it('reads amounts exactly although the process parses int8 as it likes', async (t) => {
    const { INT8 } = pg.types.builtins;
    pg.types.setTypeParser(INT8, Number);
    t.after(() => {
      pg.types.setTypeParser(INT8, String);
    });
    const terms = newTerms({ amountMinor: 9_007_199_254_740_993n });
    await book.apply(terms.orderId, { kind: 'claim', terms });
    const shown = await history.show(terms.orderId);
    assert.equal(shown?.order?.amountMinor, 9_007_199_254_740_993n);
  });
});
