import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import type { Decision, NextStep, StoredOrder } from '../../src/domain/order-states.ts';
import type { OrderTerms } from '../../src/domain/order.ts';
import type { SoftDeclineRetry } from '../../src/domain/soft-declines.ts';
import type { AuthorizationOutcome } from '../../src/domain/outcome.ts';
import type { OrderBook } from '../../src/ports/order-book.ts';

/** A worker with a book of its own on the common store. */
export interface BookOfWorker {
  readonly book: OrderBook;
  /** Its session ends, as if the process had been killed; the book is not used any more. */
  die(): Promise<void>;
}

export interface Store {
  openWorker(): Promise<BookOfWorker>;
  /** Resolves once so much time has passed on the store's clock. */
  passTime(ms: number): Promise<void>;
  close(): Promise<void>;
}

export interface StoreSettings {
  readonly leaseMs: number;
  readonly keyWindowMs: number;
  readonly softDeclineRetry?: SoftDeclineRetry | undefined;
}

/** What every OrderBook does; each test uses orders of its own. */
export function orderBookConformance(
  name: string,
  openStore: (settings: StoreSettings) => Promise<Store>,
): void {
  describe(`${name} keeps the contract of an order book`, () => {
    let store: Store;
    let book: OrderBook;
    let otherBook: OrderBook;

    before(async () => {
      store = await openStore({ leaseMs: 60_000, keyWindowMs: 3_600_000 });
      book = (await store.openWorker()).book;
      otherBook = (await store.openWorker()).book;
    });
    after(() => store.close());

    it('is available', () => {
      assert.equal(book.availability.unavailableBecause(), undefined);
    });

    it('admits a new order and claims it', async () => {
      const terms = newTerms();
      const { order, next, alarm } = await book.apply(terms.orderId, { kind: 'claim', terms });
      assert.deepEqual(next, chargeStep(terms.orderId, 1));
      assert.equal(alarm, undefined);
      assert.equal(order?.status, 'authorizing');
      assert.equal(order.version, 1);
      assert.equal(order.attempts, 1);
      assert.equal(order.attempt?.maybeSent, false);
    });

    it('keeps what an order is about exactly, also beyond 53 bits and with fields left out', async () => {
      for (const terms of [
        newTerms({
          amountMinor: 9_007_199_254_740_993n,
          customerId: 'Ma"ry\'s \\ ünïcødé, {1}',
          currency: 'JPY',
        }),
        newTerms({ amountMinor: 0n, cardBrand: 'visa', cardLast4: '4242' }),
      ]) {
        const claimed = await book.apply(terms.orderId, { kind: 'claim', terms });
        const { order } = await otherBook.apply(terms.orderId, { kind: 'parked', reason: 'looked at' });
        assert.deepEqual(order, claimed.order);
        assert.deepEqual(pick(order, terms), terms);
      }
    });

    it('lets another worker wait while the claimant lives and its lease runs', async () => {
      const { terms, claimed } = await claim(book);
      const decision = await otherBook.apply(terms.orderId, { kind: 'claim', terms });
      assert.equal(decision.next.step, 'wait');
      assert.ok(decision.next.retryAfterMs > 0 && decision.next.retryAfterMs <= 60_000);
      assert.deepEqual(decision.order, claimed.order);
    });

    it('lets the claimant claim again, with the same key, and remembers that it may have been sent', async () => {
      const { terms } = await claim(book);
      const { order, next } = await book.apply(terms.orderId, { kind: 'claim', terms });
      assert.deepEqual(next, chargeStep(terms.orderId, 2));
      assert.equal(order?.attempt?.maybeSent, true);
    });

    it("gives a dead worker's claim to the next one at once", async () => {
      const mortal = await store.openWorker();
      const { terms } = await claim(mortal.book);
      await mortal.die();
      const { next } = await book.apply(terms.orderId, { kind: 'claim', terms });
      assert.deepEqual(next, chargeStep(terms.orderId, 2));
    });

    it('parks a copy with other content and changes nothing', async () => {
      const { terms, claimed } = await claim(book);
      const other = { ...terms, fingerprint: 'other' };
      for (const fact of [
        { kind: 'claim', terms: other },
        { kind: 'refuse', terms: other, reason: 'invalid_card_data' },
      ] as const) {
        const decision = await book.apply(terms.orderId, fact);
        assert.equal(parkReason(decision), 'order_conflict');
        assert.deepEqual(decision.order, claimed.order);
      }
    });

    it('records an approval once and for all, announces it, and marks the announcement once', async () => {
      const { terms } = await claim(book);
      const approved = await outcome(book, terms, 1, { kind: 'approved', reference: `ref-${terms.orderId}` });
      assert.deepEqual(approved.next, { step: 'announce' });
      assert.equal(approved.order?.status, 'ready-to-ship');
      assert.equal(approved.order.gatewayReference, `ref-${terms.orderId}`);
      assert.equal(approved.order.attempt?.state, 'approved');
      assert.equal(approved.order.attempt.leaseUntilMs, undefined);
      assert.notEqual(approved.order.decidedAtMs, undefined);

      const replayed = await otherBook.apply(terms.orderId, { kind: 'claim', terms });
      assert.deepEqual(replayed, { order: approved.order, next: { step: 'announce' }, alarm: undefined });

      const fact = { kind: 'notified', generation: 1, status: 'ready-to-ship' } as const;
      const notified = await book.apply(terms.orderId, fact);
      assert.deepEqual(notified.next, { step: 'nothing' });
      assert.ok((notified.order?.notifiedAtMs ?? 0) >= (approved.order.decidedAtMs ?? Infinity));
      const again = await otherBook.apply(terms.orderId, fact);
      assert.deepEqual(again, { order: notified.order, next: { step: 'nothing' }, alarm: undefined });
    });

    it('keeps an approval against whatever comes late, and raises the alarm', async () => {
      const { terms } = await claim(book);
      const { order } = await outcome(book, terms, 1, {
        kind: 'approved',
        reference: `ref-${terms.orderId}`,
      });
      for (const late of [
        { kind: 'declined', reason: 'card_declined', class: 'hard', code: 'lost_card' },
        { kind: 'approved', reference: `second-${terms.orderId}` },
        { kind: 'contradicted', reason: 'amount_mismatch' },
      ] as const) {
        const decision = await outcome(book, terms, 1, late);
        assert.deepEqual(decision.order, order);
        assert.deepEqual(decision.next, { step: 'announce' });
        assert.notEqual(decision.alarm, undefined);
      }
    });

    it('records a decline with its class', async () => {
      const { terms } = await claim(book);
      const decision = await outcome(book, terms, 1, {
        kind: 'declined',
        reason: 'card_declined',
        class: 'soft',
        code: 'insufficient_funds',
        reference: `ref-${terms.orderId}`,
      });
      assert.deepEqual(decision.next, { step: 'announce' });
      assert.equal(decision.order?.status, 'denied');
      assert.equal(decision.order.statusReason, 'card_declined');
      assert.equal(decision.order.attempt?.declineClass, 'soft');
      const replayed = await book.apply(terms.orderId, { kind: 'claim', terms });
      assert.deepEqual(replayed.order, decision.order);
    });

    it('sets an order free that was not sent, as if its key had never been used', async () => {
      const { terms } = await claim(book);
      const unavailable = { kind: 'unavailable', cause: 'breaker_open', detail: 'open' } as const;
      const { order, next } = await outcome(book, terms, 1, { ...unavailable, retryAfterMs: 7 });
      const retry = { step: 'retry', errorClass: 'breaker_open', detail: 'open', retryAfterMs: 7 };
      assert.deepEqual(next, retry);
      assert.equal(order?.status, 'received');
      assert.equal(order.attempt?.keyUsedSinceMs, undefined);
      const again = await otherBook.apply(terms.orderId, { kind: 'claim', terms });
      assert.deepEqual(again.next, chargeStep(terms.orderId, 2));
      assert.equal(again.order?.attempt?.maybeSent, false);
    });

    it('keeps an order unknown until a verdict is there, and resends with the same key', async () => {
      const { terms } = await claim(book);
      const unknown = { kind: 'unknown', cause: 'no_answer', detail: 'timed out' } as const;
      const { order } = await outcome(book, terms, 1, unknown);
      assert.equal(order?.status, 'authorization-unknown');
      const again = await otherBook.apply(terms.orderId, { kind: 'claim', terms });
      assert.deepEqual(again.next, chargeStep(terms.orderId, 2));
      assert.equal(again.order?.status, 'authorization-unknown');
      assert.equal(again.order.attempt?.maybeSent, true);
      const verdict = await outcome(otherBook, terms, 2, {
        kind: 'approved',
        reference: `ref-${terms.orderId}`,
      });
      assert.equal(verdict.order?.status, 'ready-to-ship');
    });

    it('gives contradictions and rejections to a person, and leaves them there', async () => {
      for (const [answer, reason] of [
        [{ kind: 'contradicted', reason: 'partial_approval' }, 'partial_approval'],
        [{ kind: 'rejected', code: 'parameter_missing' }, 'rejected: parameter_missing'],
      ] as const) {
        const { terms } = await claim(book);
        const decision = await outcome(book, terms, 1, answer);
        assert.equal(decision.order?.status, 'review');
        assert.equal(decision.order.statusReason, reason);
        const replayed = await otherBook.apply(terms.orderId, { kind: 'claim', terms });
        assert.equal(parkReason(replayed), 'review');
        assert.deepEqual(replayed.order, decision.order);
      }
    });

    it('gives an answer with the authorization of another order to a person', async () => {
      const { terms: first } = await claim(book);
      const reference = `ref-${first.orderId}`;
      const settled = await outcome(book, first, 1, { kind: 'approved', reference });
      const { terms } = await claim(book);
      const { order, next, alarm } = await outcome(book, terms, 1, { kind: 'approved', reference });
      assert.equal(next.step, 'park');
      assert.equal(order?.status, 'review');
      assert.equal(order.statusReason, 'reference_reused');
      assert.match(alarm ?? '', /reference_reused/);
      const { order: untouched } = await book.apply(first.orderId, { kind: 'claim', terms: first });
      assert.deepEqual(untouched, settled.order);
    });

    it('ignores what an overtaken claim came to, except that it may have been sent', async () => {
      const { terms } = await claim(book);
      await book.apply(terms.orderId, { kind: 'claim', terms });
      const stale = { kind: 'unknown', cause: 'connection_lost', detail: 'late' } as const;
      const { order } = await outcome(book, terms, 1, stale);
      assert.equal(order?.status, 'authorizing');
      assert.equal(order.attempt?.claim, 2);
      assert.notEqual(order.attempt.leaseUntilMs, undefined, 'the newer claim is still held');
      assert.equal(order.attempt.maybeSent, true);
    });

    it('raises the alarm at facts about orders that it does not have, and stores nothing', async () => {
      const { orderId } = newTerms();
      const approved = { kind: 'approved', reference: 'ref' } as const;
      const orphan = await book.apply(orderId, {
        kind: 'outcome',
        generation: 1,
        claim: 1,
        outcome: approved,
      });
      const announced = await book.apply(orderId, { kind: 'notified', generation: 1, status: 'denied' });
      assert.deepEqual([orphan.next.step, announced.next.step], ['retry', 'nothing']);
      for (const decision of [orphan, announced]) {
        assert.equal(decision.order, undefined);
        assert.notEqual(decision.alarm, undefined);
      }
    });

    it('refuses hopeless card data without an attempt, but never while a charge may be under way', async () => {
      const terms = newTerms();
      const fact = { kind: 'refuse', terms, reason: 'invalid_card_data' } as const;
      const refused = await book.apply(terms.orderId, fact);
      assert.deepEqual(refused.next, { step: 'announce' });
      assert.equal(refused.order?.status, 'denied');
      assert.equal(refused.order.attempt, undefined);
      assert.deepEqual((await otherBook.apply(terms.orderId, fact)).order, refused.order);

      const { terms: claimedTerms } = await claim(book);
      const late = await book.apply(claimedTerms.orderId, { ...fact, terms: claimedTerms });
      assert.equal(late.next.step, 'park');
      assert.equal(late.order?.status, 'authorizing');
    });

    it('has the announcement of a refused order looked after once its message is parked', async () => {
      const terms = newTerms();
      const { orderId } = terms;
      await book.apply(orderId, { kind: 'refuse', terms, reason: 'invalid_card_data' });
      const { order } = await book.apply(orderId, { kind: 'parked', reason: 'replays_exhausted' });
      assert.equal(order?.status, 'denied');
      assert.equal(order.attempt?.state, 'declined');
      assert.ok(order.attempt.resolveDueMs !== undefined && order.attempt.keyUsedSinceMs === undefined);
      assert.deepEqual((await otherBook.apply(orderId, { kind: 'resend' })).order, order);
      const marked = await book.apply(orderId, { kind: 'notified', generation: 1, status: 'denied' });
      assert.equal(marked.order?.attempt?.resolveDueMs, undefined);
    });

    it('changes nothing when the message was parked', async () => {
      const { terms, claimed } = await claim(book);
      const { order, next } = await book.apply(terms.orderId, {
        kind: 'parked',
        reason: 'replays_exhausted',
      });
      assert.deepEqual(next, { step: 'nothing' });
      assert.deepEqual(order, claimed.order);
      const { orderId } = newTerms();
      const unknown = await book.apply(orderId, { kind: 'parked', reason: 'amount_precision' });
      assert.equal(unknown.order, undefined);
    });

    it('applies the facts of one order in the order in which they were brought', async () => {
      const terms = newTerms();
      const { orderId } = terms;
      const decisions = await Promise.all([
        book.apply(orderId, { kind: 'claim', terms }),
        outcome(book, terms, 1, { kind: 'approved', reference: `ref-${orderId}` }),
        book.apply(orderId, { kind: 'notified', generation: 1, status: 'ready-to-ship' }),
        book.apply(orderId, { kind: 'claim', terms }),
      ]);
      const steps = decisions.map(({ next }) => next.step);
      assert.deepEqual(steps, ['charge', 'announce', 'nothing', 'announce']);
      assert.deepEqual(
        decisions.map(({ order }) => order?.version),
        [1, 2, 3, 3],
      );
    });

    it('lets one claim win when two workers claim the same new order at once, 200 times', async () => {
      const many = Array.from({ length: 200 }, () => newTerms());
      const claims = await Promise.all(
        many.flatMap((terms) =>
          [book, otherBook].map((each) => each.apply(terms.orderId, { kind: 'claim', terms })),
        ),
      );
      const steps = many.map((_, index) =>
        claims.slice(2 * index, 2 * index + 2).map(({ next }) => next.step),
      );
      for (const pair of steps) assert.deepEqual(pair.sort(), ['charge', 'wait']);
    });

    it('lets both workers bring everything twice, and decides each order once', async () => {
      const many = Array.from({ length: 50 }, () => newTerms());
      const all = await Promise.all(many.map((terms) => raceToTheEnd(terms, [book, otherBook])));
      for (const { order, charges } of all) {
        assert.equal(charges, 1);
        assert.equal(order?.status, 'ready-to-ship');
        assert.equal(order.version, 3);
      }
    });
  });

  describe(`${name} keeps time`, () => {
    let store: Store;
    let book: OrderBook;
    let otherBook: OrderBook;

    before(async () => {
      store = await openStore({ leaseMs: 50, keyWindowMs: 150 });
      book = (await store.openWorker()).book;
      otherBook = (await store.openWorker()).book;
    });
    after(() => store.close());

    it('respects the claim of a worker that lives until its lease has run out, not longer', async () => {
      const { terms } = await claim(book);
      await store.passTime(51);
      const { next } = await otherBook.apply(terms.orderId, { kind: 'claim', terms });
      assert.deepEqual(next, chargeStep(terms.orderId, 2));
    });

    it('never sends a key again that the gateway may have forgotten', async () => {
      const { terms } = await claim(book);
      await store.passTime(151);
      const decision = await book.apply(terms.orderId, { kind: 'claim', terms });
      assert.equal(parkReason(decision), 'key_window_passed');
      assert.equal(decision.order?.status, 'review');
      const reference = `ref-${terms.orderId}`;
      const verdict = await outcome(book, terms, 1, { kind: 'approved', reference });
      assert.notEqual(verdict.alarm, undefined);
      assert.equal(verdict.order?.status, 'review');
      assert.equal(verdict.order.gatewayReference, reference);
    });
  });
}

/** Softly declined orders and their next tries. */
export function softDeclineConformance(
  name: string,
  openStore: (settings: StoreSettings) => Promise<Store>,
): void {
  describe(`${name} keeps softly declined orders for their next try`, () => {
    let store: Store;
    let book: OrderBook;
    let otherBook: OrderBook;
    const WAIT_MS = 1_000;

    before(async () => {
      const softDeclineRetry = { waitsMs: [WAIT_MS] };
      store = await openStore({ leaseMs: 60_000, keyWindowMs: 3_600_000, softDeclineRetry });
      book = (await store.openWorker()).book;
      otherBook = (await store.openWorker()).book;
    });
    after(() => store.close());

    const decline = (terms: OrderTerms, generation: number) =>
      ({
        kind: 'outcome',
        generation,
        claim: 1,
        outcome: {
          kind: 'declined',
          reason: 'card_declined',
          class: 'soft',
          code: 'insufficient_funds',
          reference: `declined-${generation}-${terms.orderId}`,
        },
      }) as const;

    it('lets nobody claim before the wait is over, and then one as the next generation', async () => {
      const { terms } = await claim(book);
      const { orderId } = terms;
      const declined = await book.apply(orderId, decline(terms, 1));
      assert.equal(declined.next.step, 'retry');
      assert.equal(declined.order?.status, 'received');
      for (const each of [book, otherBook]) {
        const early = await each.apply(orderId, { kind: 'claim', terms });
        assert.equal(early.next.step, 'retry');
        assert.deepEqual(early.order, declined.order);
      }
      await store.passTime(WAIT_MS + 1);
      const claims = await Promise.all(
        [book, otherBook].map((each) => each.apply(orderId, { kind: 'claim', terms })),
      );
      assert.deepEqual(claims.map(({ next }) => next.step).sort(), ['charge', 'wait']);
      const charge = claims.find(({ next }) => next.step === 'charge');
      assert.deepEqual(charge?.next, {
        step: 'charge',
        idempotencyKey: `order-${orderId}-2`,
        generation: 2,
        claim: 1,
      });

      const reference = `ref-${orderId}`;
      const outcome = { kind: 'approved', reference } as const;
      const approved = await book.apply(orderId, { kind: 'outcome', generation: 2, claim: 1, outcome });
      assert.equal(approved.order?.status, 'ready-to-ship');
      assert.equal(approved.order.gatewayReference, reference);
      const replayed = await otherBook.apply(orderId, { kind: 'claim', terms });
      assert.deepEqual(replayed, { order: approved.order, next: { step: 'announce' }, alarm: undefined });
    });

    it('denies when the waits are used up', async () => {
      const { terms } = await claim(book);
      await book.apply(terms.orderId, decline(terms, 1));
      await store.passTime(WAIT_MS + 1);
      await book.apply(terms.orderId, { kind: 'claim', terms });
      const { order, next } = await book.apply(terms.orderId, decline(terms, 2));
      assert.deepEqual(next, { step: 'announce' });
      assert.deepEqual([order?.status, order?.statusReason], ['denied', 'card_declined']);
      assert.deepEqual((await otherBook.apply(terms.orderId, { kind: 'claim', terms })).order, order);
    });

    it('stops trying, and calls a person, when the declined try turns out approved', async () => {
      for (const when of ['between the tries', 'during the next one']) {
        const { terms } = await claim(book);
        const { orderId } = terms;
        await book.apply(orderId, decline(terms, 1));
        if (when === 'during the next one') {
          await store.passTime(WAIT_MS + 1);
          await book.apply(orderId, { kind: 'claim', terms });
        }
        const reference = `late-${orderId}`;
        const late = await outcome(book, terms, 1, { kind: 'approved', reference });
        assert.match(late.alarm ?? '', new RegExp(reference), when);
        assert.equal(late.order?.status, 'review');
        assert.equal(late.order.gatewayReference, reference);
        await store.passTime(WAIT_MS + 1);
        const replayed = await otherBook.apply(orderId, { kind: 'claim', terms });
        assert.equal(parkReason(replayed), 'review');
        assert.deepEqual(replayed.order, late.order);
      }
    });
  });
}

let orders = 0;

/** Terms of an order that no other test has. */
export function newTerms(given: Partial<OrderTerms> = {}): OrderTerms {
  orders += 1;
  return {
    orderId: `order ${process.pid}/${orders}`.replace(' ', '-'),
    customerId: '5678',
    amountMinor: 4223n,
    currency: 'USD',
    fingerprint: `fingerprint-${orders}`,
    ...given,
  };
}

export async function claim(book: OrderBook): Promise<{ terms: OrderTerms; claimed: Decision }> {
  const terms = newTerms();
  const claimed = await book.apply(terms.orderId, { kind: 'claim', terms });
  assert.equal(claimed.next.step, 'charge');
  return { terms, claimed };
}

export function outcome(
  book: OrderBook,
  { orderId }: OrderTerms,
  claimNumber: number,
  answer: AuthorizationOutcome,
): Promise<Decision> {
  return book.apply(orderId, { kind: 'outcome', generation: 1, claim: claimNumber, outcome: answer });
}

export function chargeStep(orderId: string, claimNumber: number): NextStep {
  return { step: 'charge', idempotencyKey: `order-${orderId}-1`, generation: 1, claim: claimNumber };
}

function parkReason({ next }: Decision): string | undefined {
  return next.step === 'park' ? next.reason : undefined;
}

function pick(order: StoredOrder | undefined, like: OrderTerms): Partial<OrderTerms> {
  const wanted = Object.keys(like);
  return Object.fromEntries(Object.entries(order ?? {}).filter(([key]) => wanted.includes(key)));
}

/** Every book claims; who may charge brings the approval and the mark, and everyone brings those again. */
async function raceToTheEnd(
  terms: OrderTerms,
  books: readonly OrderBook[],
): Promise<{ order: StoredOrder | undefined; charges: number }> {
  const { orderId } = terms;
  const claims = await Promise.all(books.map((book) => book.apply(orderId, { kind: 'claim', terms })));
  const charges = claims.filter(({ next }) => next.step === 'charge').length;
  const approved = { kind: 'approved', reference: `ref-${orderId}` } as const;
  await Promise.all(books.map((book) => outcome(book, terms, 1, approved)));
  const marks = await Promise.all(
    books.map((book) => book.apply(orderId, { kind: 'notified', generation: 1, status: 'ready-to-ship' })),
  );
  return { order: marks[0]?.order, charges };
}
