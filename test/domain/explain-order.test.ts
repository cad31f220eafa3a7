import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { explainOrder, type ExplainedOrder } from '../../src/domain/explain-order.ts';
import { verdictOf } from '../../src/domain/money-moved.ts';
import { moneyText } from '../../src/domain/money-text.ts';
import type { OrderFact, StoredOrder } from '../../src/domain/order-states.ts';
import { claimBy, contextAt, DEAD, orderAfter, outcomeOf, OUTCOMES, PARTIAL, PEER, SELF, START_MS, TERMS, VOID_OUTCOMES, voided } from './order-histories.ts'; // prettier-ignore

const claimed = (worker: number) => [claimBy(), 0, worker] as const;
const told = (fact: OrderFact) => [fact, 0, SELF] as const;
const answered = (outcome: keyof typeof OUTCOMES) => told(outcomeOf(OUTCOMES[outcome], 1));
const announced = (status: 'ready-to-ship' | 'denied') => told({ kind: 'notified', generation: 1, status });
const refused = told({ kind: 'refuse', terms: TERMS, reason: 'invalid_card_data' });
const DAY = '2026-01-01 00:00 UTC';

/** Every verdict, and what is said of it after "Order 1234 (42.23 USD) ". */
const SENTENCES: readonly (readonly [order: StoredOrder, sentence: string])[] = [
  [orderAfter(claimed(SELF), answered('unavailable')), `was taken in on ${DAY} and has not reached the payment gateway, so nothing was charged; next, its message is to come, and it is charged once.`],
  [orderAfter(claimed(PEER)), 'is being authorized by a worker right now; next, nothing but waiting for the worker.'],
  [orderAfter(claimed(DEAD)), `was taken in on ${DAY} and may have been sent to the payment gateway, whose answer was never seen, so whether money is held is not known; next, the gateway is to be asked, before anything else is done.`],
  [orderAfter(claimed(SELF), answered('declinedSoftly')), `was declined for now, nothing is held, and it is to be tried again from 2026-01-01 00:01 UTC on; next, nothing but waiting for the worker.`],
  [orderAfter(claimed(SELF), answered('rejected')), 'was refused by the payment gateway for no fault of the card (rejected: parameter_missing), so nothing was charged; next, a person decides.'],
  [orderAfter(claimed(SELF), answered('declined')), `was denied on ${DAY} (card_declined), nothing is held, and downstream was not told yet; next, the notification is to be sent, with no new charge.`],
  [orderAfter(refused, announced('denied')), `was denied on ${DAY} because its card data is unusable, without asking the payment gateway, nothing is held, and downstream was told on ${DAY}; nothing is left to do.`],
  [orderAfter(claimed(SELF), answered('approved')), `was approved on ${DAY}, the amount is held as pi_1, but downstream was not told yet; next, the notification is to be sent, with no new charge.`],
  [orderAfter(claimed(SELF), answered('approved'), announced('ready-to-ship')), `was approved on ${DAY}, the amount is held as pi_1, and downstream was told on ${DAY}; nothing is left to do.`],
  [orderAfter(claimed(SELF), told(outcomeOf(PARTIAL, 1))), 'was approved in part only (pi_7) and must not be shipped on that, and the worker is giving the money back; next, nothing but waiting for the worker.'],
  [orderAfter(claimed(SELF), answered('declined'), announced('denied'), answered('approved'), told(voided(VOID_OUTCOMES.refused, 'pi_1'))), 'was denied, but the payment gateway approved it afterwards (pi_1), and the gateway refused to give the money back; next, a person decides.'],
  [orderAfter(claimed(SELF), answered('contradicted')), 'has money at the payment gateway that does not fit it (amount_mismatch, pi_9), and was not decided; next, a person decides.'],
]; // prettier-ignore

describe('an order in one sentence', () => {
  for (const [order, sentence] of SENTENCES) {
    test(sentence, () => {
      assert.equal(explainOrder(about(order)), `Order 1234 (42.23 USD) ${sentence}`);
    });
  }

  test('an order that was never stored', () => {
    const sentence = explainOrder({ ...about(undefined), seenAtMs: undefined });
    assert.equal(sentence, 'Order 1234 was never taken in, so nothing was charged for it; next, its message is to come, and it is charged once.'); // prettier-ignore
  });

  test('an order that was opened again was sent before: only of this try it is said that it was not', () => {
    const again: StoredOrder = {
      ...orderAfter(claimed(SELF), answered('unavailable')),
      generation: 2,
      attempt: undefined,
    };
    assert.match(explainOrder(about(again)), /is opened for try 2, which has not reached the payment gateway, so nothing is held; /); // prettier-ignore
  });

  test('a message that waits for a person, and alarms, are said', () => {
    const parked = { sinceMs: START_MS, reason: 'replays_exhausted', isUpstreamsFault: false };
    const order = orderAfter(claimed(SELF), answered('unavailable'));
    const sentence = explainOrder({ ...about(order), parked, alarms: 2 });
    assert.match(sentence, /; its message is parked since 2026-01-01 00:00 UTC \(replays_exhausted\); /);
    assert.match(sentence, /; its history has 2 alarms that a person must look at; /);
    assert.match(sentence, /; next, an operator may replay it, which charges it once\.$/);
  });

  test('brand and last four digits are left out, too', () => {
    const order: StoredOrder = { ...orderAfter(claimed(PEER)), cardBrand: 'visa', cardLast4: '4242' };
    assert.doesNotMatch(explainOrder(about(order)), /visa|4242/);
  });
});

describe('amounts for people', () => {
  const table = [
    [4223n, 'USD', '42.23 USD'],
    [5n, 'USD', '0.05 USD'],
    [0n, 'USD', '0.00 USD'],
    [500n, 'JPY', '500 JPY'],
    [1n, 'KWD', '0.001 KWD'],
    [9_007_199_254_740_993n, 'EUR', '90071992547409.93 EUR'],
    [17n, 'XXX', '17 minor units of XXX'],
  ] as const;
  for (const [amountMinor, currency, text] of table) {
    test(text, () => {
      assert.equal(moneyText({ amountMinor, currency }), text);
    });
  }
});

function about(order: StoredOrder | undefined): ExplainedOrder {
  const verdict = verdictOf(order, [], contextAt(1_000));
  return { orderId: '1234', order, verdict, seenAtMs: START_MS, parked: undefined, alarms: 0 };
}
