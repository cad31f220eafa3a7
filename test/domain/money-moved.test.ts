import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  hasMoneyMoved,
  nextActionOf,
  verdictOf,
  type AttemptOfGeneration,
  type MoneyVerdict,
} from '../../src/domain/money-moved.ts';
import { INQUIRY_WAITS_MS, type OrderFact, type StoredOrder } from '../../src/domain/order-states.ts';
import { claimBy, contextAt, DEAD, inquired, KEY_REUSED, KEY_WINDOW_MS, LEASE_MS, NO_VERDICTS, orderAfter, outcomeOf, OUTCOMES, PARTIAL, PEER, RETRY_WAITS_MS, SELF, START_MS, TERMS, VOID_OUTCOMES, voided } from './order-histories.ts'; // prettier-ignore
import { reachableOrders } from './reachable-orders.ts';

const claimed = (worker: number, atMs = 0) => [claimBy(), atMs, worker] as const;
const answered = (outcome: keyof typeof OUTCOMES, claim = 1) => told(outcomeOf(OUTCOMES[outcome], claim));
const told = (fact: OrderFact, atMs = 0) => [fact, atMs, SELF] as const;
const announced = (status: 'ready-to-ship' | 'denied') => told({ kind: 'notified', generation: 1, status });
const refused = told({ kind: 'refuse', terms: TERMS, reason: 'invalid_card_data' });
const unresolved = INQUIRY_WAITS_MS.map((_, inquiry) => told(inquired(NO_VERDICTS.notFound, inquiry)));
const [FIRST_RETRY_MS] = RETRY_WAITS_MS;
const SECOND = 1_000;

const approval = { reference: 'pi_1', amountMinor: 4223n, currency: 'USD' };

/** What is stored, what it says of the money, whether money is held, what may be done. */
const TABLE: readonly (readonly [
  name: string,
  order: StoredOrder | undefined,
  sinceStartMs: number,
  verdict: MoneyVerdict,
  moved: ReturnType<typeof hasMoneyMoved>,
  next: ReturnType<typeof nextActionOf>,
])[] = [
  ['not stored', undefined, 0, { kind: 'nothing-known' }, 'no', 'authorize'],
  ['given back unsent', orderAfter(claimed(SELF), answered('unavailable')), SECOND, { kind: 'not-sent' }, 'no', 'authorize'],
  ['after a page of a proxy', orderAfter(claimed(SELF), answered('proxyPage')), SECOND, { kind: 'unknown', reference: undefined }, 'unknown', 'ask-gateway'],
  ['claimed by a living worker', orderAfter(claimed(PEER)), SECOND, { kind: 'in-flight', leaseUntilMs: START_MS + LEASE_MS }, 'unknown', 'wait'],
  ['claimed, lease over', orderAfter(claimed(PEER)), LEASE_MS, { kind: 'unknown', reference: undefined }, 'unknown', 'ask-gateway'],
  ['claimed by a dead worker', orderAfter(claimed(DEAD)), SECOND, { kind: 'unknown', reference: undefined }, 'unknown', 'ask-gateway'],
  ['no answer', orderAfter(claimed(SELF), answered('unknown')), SECOND, { kind: 'unknown', reference: undefined }, 'unknown', 'ask-gateway'],
  ['no answer, resent right now', orderAfter(claimed(SELF), answered('unknown'), claimed(PEER)), SECOND, { kind: 'in-flight', leaseUntilMs: START_MS + LEASE_MS }, 'unknown', 'wait'],
  ['pending at the gateway', orderAfter(claimed(SELF), answered('unknown'), told(inquired(NO_VERDICTS.pending, 0))), SECOND, { kind: 'unknown', reference: 'pi_1' }, 'unknown', 'ask-gateway'],
  ['asked in vain to the end', orderAfter(claimed(SELF), answered('unknown'), ...unresolved), SECOND, { kind: 'unknown', reference: undefined }, 'unknown', 'ask-gateway'],
  ['key too old', orderAfter(claimed(DEAD), claimed(SELF, KEY_WINDOW_MS + 1)), KEY_WINDOW_MS + 2, { kind: 'unknown', reference: undefined }, 'unknown', 'ask-gateway'],
  ['key reused', orderAfter(claimed(SELF), told(outcomeOf(KEY_REUSED, 1))), SECOND, { kind: 'unknown', reference: undefined }, 'unknown', 'ask-gateway'],
  ['rejected', orderAfter(claimed(SELF), answered('rejected')), SECOND, { kind: 'rejected', reason: 'rejected: parameter_missing' }, 'no', 'review'],
  ['rejected after no answer', orderAfter(claimed(SELF), answered('unknown'), claimed(SELF), answered('rejected', 2)), SECOND, { kind: 'unknown', reference: undefined }, 'unknown', 'ask-gateway'],
  ['rejected, approved after all', orderAfter(claimed(SELF), answered('rejected'), answered('approved')), SECOND, { kind: 'unknown', reference: 'pi_1' }, 'unknown', 'ask-gateway'],
  ['another amount', orderAfter(claimed(SELF), answered('contradicted')), SECOND, { kind: 'contradicted', reason: 'amount_mismatch', reference: 'pi_9' }, 'unknown', 'review'],
  ['a part of the amount', orderAfter(claimed(SELF), told(outcomeOf(PARTIAL, 1))), SECOND, { kind: 'unwanted-hold', reference: 'pi_7', voiding: 'due', isUnannounced: false }, 'yes', 'wait'],
  ['a part of the amount, given back', orderAfter(claimed(SELF), told(outcomeOf(PARTIAL, 1)), told(voided(VOID_OUTCOMES.voided, 'pi_7'))), SECOND, { kind: 'unwanted-hold', reference: 'pi_7', voiding: 'confirmed', isUnannounced: false }, 'no', 'review'],
  ['a part of the amount, not given back', orderAfter(claimed(SELF), told(outcomeOf(PARTIAL, 1)), told(voided(VOID_OUTCOMES.refused, 'pi_7'))), SECOND, { kind: 'unwanted-hold', reference: 'pi_7', voiding: 'refused', isUnannounced: false }, 'yes', 'review'],
  ['declined softly', orderAfter(claimed(SELF), answered('declinedSoftly')), SECOND, { kind: 'declined-for-now', retryAtMs: START_MS + FIRST_RETRY_MS, isDue: false }, 'no', 'wait'],
  ['declined softly, wait over', orderAfter(claimed(SELF), answered('declinedSoftly')), FIRST_RETRY_MS, { kind: 'declined-for-now', retryAtMs: START_MS + FIRST_RETRY_MS, isDue: true }, 'no', 'authorize'],
  ['declined softly, approved after all', orderAfter(claimed(SELF), answered('declinedSoftly'), answered('approved')), SECOND, { kind: 'contradicted', reason: 'money_after_decline', reference: 'pi_1' }, 'unknown', 'review'],
  ['second try', orderAfter(claimed(SELF), answered('declinedSoftly'), claimed(SELF, FIRST_RETRY_MS)), FIRST_RETRY_MS, { kind: 'in-flight', leaseUntilMs: START_MS + FIRST_RETRY_MS + LEASE_MS }, 'unknown', 'wait'],
  ['declined', orderAfter(claimed(SELF), answered('declined')), SECOND, { kind: 'denied-unannounced', reason: 'card_declined', wasSent: true }, 'no', 'announce'],
  ['declined, announced', orderAfter(claimed(SELF), answered('declined'), announced('denied')), SECOND, { kind: 'denied-announced', reason: 'card_declined', wasSent: true }, 'no', 'nothing'],
  ['card data unusable', orderAfter(refused), SECOND, { kind: 'denied-unannounced', reason: 'invalid_card_data', wasSent: false }, 'no', 'announce'],
  ['card data unusable, announced', orderAfter(refused, announced('denied')), SECOND, { kind: 'denied-announced', reason: 'invalid_card_data', wasSent: false }, 'no', 'nothing'],
  ['card data refused by the gateway', orderAfter(claimed(SELF), told(outcomeOf({ ...OUTCOMES.declined, reason: 'invalid_card_data' }, 1))), SECOND, { kind: 'denied-unannounced', reason: 'invalid_card_data', wasSent: true }, 'no', 'announce'],
  ['denied, approved after all', orderAfter(claimed(SELF), answered('declined'), answered('approved')), SECOND, { kind: 'unwanted-hold', reference: 'pi_1', voiding: 'due', isUnannounced: true }, 'yes', 'announce'],
  ['denied and announced, approved after all', orderAfter(claimed(SELF), answered('declined'), announced('denied'), answered('approved')), SECOND, { kind: 'unwanted-hold', reference: 'pi_1', voiding: 'due', isUnannounced: false }, 'yes', 'wait'],
  ['denied and announced, hold not given back', orderAfter(claimed(SELF), answered('declined'), announced('denied'), answered('approved'), told(voided(VOID_OUTCOMES.refused, 'pi_1'))), SECOND, { kind: 'unwanted-hold', reference: 'pi_1', voiding: 'refused', isUnannounced: false }, 'yes', 'review'],
  ['denied, hold given back', orderAfter(claimed(SELF), answered('declined'), answered('approved'), told(voided(VOID_OUTCOMES.voided, 'pi_1'))), SECOND, { kind: 'denied-unannounced', reason: 'card_declined', wasSent: true }, 'no', 'announce'],
  ['approved', orderAfter(claimed(SELF), answered('approved')), SECOND, { kind: 'approved-unannounced', ...approval }, 'yes', 'announce'],
  ['approved, announced', orderAfter(claimed(SELF), answered('approved'), announced('ready-to-ship')), SECOND, { kind: 'approved-announced', ...approval }, 'yes', 'nothing'],
]; // prettier-ignore

describe('has money moved?', () => {
  for (const [name, order, sinceStartMs, verdict, moved, next] of TABLE) {
    test(name, () => {
      const actual = verdictOf(order, [], contextAt(sinceStartMs));
      assert.deepEqual(actual, verdict);
      assert.equal(hasMoneyMoved(actual), moved);
      assert.equal(nextActionOf(actual), next);
    });
  }

  test('money under the key of an earlier generation is for a person, whatever the current one says', () => {
    const order = orderAfter(claimed(SELF), answered('unavailable'));
    const { attempt } = order;
    assert.ok(attempt);
    const reopened: StoredOrder = { ...order, generation: 2, attempt: undefined };
    const earlier = (change: Partial<AttemptOfGeneration>): AttemptOfGeneration => {
      return { ...attempt, generation: 1, state: 'declined', ...change };
    };
    const hold = (state: 'due' | 'confirmed' | 'refused') => ({
      voiding: { reference: 'pi_1', state, tries: 1 },
    });
    const verdict = (attempts: AttemptOfGeneration[]) => verdictOf(reopened, attempts, contextAt(0)).kind;
    assert.equal(verdict([earlier({})]), 'not-sent');
    assert.equal(verdict([earlier(hold('confirmed'))]), 'not-sent');
    assert.equal(verdict([earlier(hold('due'))]), 'contradicted');
    assert.equal(verdict([earlier({}), earlier(hold('refused'))]), 'contradicted');
    assert.equal(verdict([earlier({ state: 'approved' })]), 'contradicted');
  });
});

describe('in every state that a few facts can lead to', () => {
  const reachable = reachableOrders();

  test('"no" is said only where no request can be holding money, unless an alarm was raised about it', () => {
    let noes = 0;
    for (const { order, attempts, truth, context, path } of reachable) {
      const verdict = verdictOf(order, attempts, context);
      if (hasMoneyMoved(verdict) !== 'no') continue;
      noes++;
      if (truth.alarmed) continue;
      assert.equal(truth.mayHoldMoney, false, `${verdict.kind} after ${path.join(', ')}`);
    }
    assert.ok(noes > 200, `only ${noes} states without money were seen`);
  });

  test('"yes" is said only where the gateway named a hold', () => {
    let ayes = 0;
    for (const { order, attempts, truth, context, path } of reachable) {
      const verdict = verdictOf(order, attempts, context);
      if (hasMoneyMoved(verdict) !== 'yes') continue;
      ayes++;
      assert.equal(truth.holdWasNamed, true, `${verdict.kind} after ${path.join(', ')}`);
    }
    assert.ok(ayes > 100, `only ${ayes} states with money were seen`);
  });

  test('a new charge is offered only where the worker, given the message, would charge or let it wait', () => {
    for (const { order, attempts, context, path, onReplay } of reachable) {
      const verdict = verdictOf(order, attempts, context);
      const where = `${verdict.kind} after ${path.join(', ')}: a replay would ${onReplay}`;
      const next = nextActionOf(verdict);
      if (next === 'authorize') assert.equal(onReplay, 'charge', where);
      if (next === 'announce' || next === 'nothing') assert.equal(onReplay, 'announce', where);
      if (next === 'review') assert.ok(onReplay === 'park' || onReplay === 'announce', where);
      if (onReplay === 'charge') assert.ok(['authorize', 'ask-gateway', 'wait'].includes(next), where);
    }
  });

  test('every verdict was seen', () => {
    const seen = new Set(
      reachable.map(({ order, attempts, context }) => verdictOf(order, attempts, context).kind),
    );
    const all: Record<MoneyVerdict['kind'], true> = {
      'nothing-known': true,
      'not-sent': true,
      'in-flight': true,
      unknown: true,
      'declined-for-now': true,
      rejected: true,
      'denied-unannounced': true,
      'denied-announced': true,
      'approved-unannounced': true,
      'approved-announced': true,
      'unwanted-hold': true,
      contradicted: true,
    };
    assert.deepEqual([...seen].toSorted(), Object.keys(all).toSorted());
  });
});
