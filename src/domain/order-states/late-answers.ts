/** Answers that find the order decided, in review, between two tries or in another generation: money is never unheard. */
import type { Approved, AuthorizationOutcome, Contradicted, InquiryOutcome } from '../outcome.ts';
import {
  changed,
  parkForReview,
  unchanged,
  type Decision,
  type DecisionContext,
  type NextStep,
} from './decision.ts';
import type { InquiryFact, OutcomeFact } from './facts.ts';
import { voidNow, waitForNextTry } from './settle.ts';
import type { Attempt, StoredOrder } from './stored-order.ts';
import { giveToReview, reviewed, withAttempt } from './transitions.ts';

/** Declined, and to be tried again: its request may still be answered a second time. */
export function hearBetweenTries(
  order: StoredOrder,
  outcome: AuthorizationOutcome | InquiryOutcome,
  context: DecisionContext,
): Decision {
  if (outcome.kind === 'approved' || outcome.kind === 'contradicted') {
    return stopTrying(order, outcome, `after the decline of generation ${order.generation}`);
  }
  return unchanged(order, waitForNextTry(order, context));
}

/** A late answer to an earlier try; no generation but the current one can be claimed. */
export function hearOfOtherGeneration(
  order: StoredOrder,
  fact: OutcomeFact | InquiryFact,
  context: DecisionContext,
): Decision {
  const { outcome, generation } = fact;
  const money = outcome.kind === 'approved' || outcome.kind === 'contradicted' ? outcome : undefined;
  const when = `for generation ${generation}, when generation ${order.generation} had begun`;
  const alarm = money && `${moneyHeard(money)} came ${when}`;
  switch (order.status) {
    case 'ready-to-ship':
      return unchanged(order, { step: 'announce' }, alarm);
    case 'denied':
      return order.attempt === undefined
        ? unchanged(order, { step: 'announce' }, alarm)
        : hearAfterDenial(order, order.attempt, outcome, { step: 'announce' }, context);
    case 'review':
      return money
        ? hearInReview(order, money)
        : unchanged(order, parkForReview(order.statusReason ?? 'review'));
    case 'received':
    case 'authorizing':
    case 'authorization-unknown':
      if (money !== undefined) return stopTrying(order, money, when);
      return unchanged(order, comeBack(`an answer came ${when}`));
  }
}

/** The order may hold money under a key that was declined: another try could charge it twice. */
function stopTrying(order: StoredOrder, money: Approved | Contradicted, when: string): Decision {
  const reason = 'money_after_decline';
  const isOpen = order.attempt?.state === 'open';
  const next: StoredOrder = {
    ...(isOpen ? giveToReview(order, reason) : { ...order, ...reviewed(reason) }),
    retryAtMs: undefined,
    gatewayReference: money.reference ?? order.gatewayReference,
  };
  return changed(order, next, parkForReview(reason), `${moneyHeard(money)} came ${when}`);
}

/** The answer has no place any more: the message comes back and finds the order as it is. */
function comeBack(detail: string): NextStep {
  return { step: 'retry', errorClass: 'stale_answer', detail };
}

/** The order was removed, or restored from an old backup, under the request: claimed anew, the same key finds its answer. */
export function neverClaimed(
  order: StoredOrder | undefined,
  outcome: AuthorizationOutcome | InquiryOutcome,
): Decision {
  const reference =
    'reference' in outcome ? ` (${outcome.kind}, ${outcome.reference ?? 'without a reference'})` : '';
  const what = `an outcome${reference} for an order that was never claimed`;
  return unchanged(order, comeBack(what), what);
}

export function contradictionOfApproval(
  order: StoredOrder,
  outcome: AuthorizationOutcome | InquiryOutcome,
): string | undefined {
  if (outcome.kind === 'approved' && outcome.reference !== order.gatewayReference) {
    return `a second approval (${outcome.reference}) of an order approved as ${order.gatewayReference ?? 'unknown'}`;
  }
  if (outcome.kind === 'declined')
    return 'a decline came after the approval was recorded; the approval stands';
  if (outcome.kind === 'contradicted') return `${contradiction(outcome)} came after the approval`;
  return undefined;
}

/** Downstream knows the order as denied: a hold that comes up after all is given back. */
export function hearAfterDenial(
  order: StoredOrder,
  attempt: Attempt,
  outcome: AuthorizationOutcome | InquiryOutcome,
  next: NextStep,
  context: DecisionContext,
): Decision {
  if (outcome.kind === 'contradicted')
    return unchanged(order, next, `${contradiction(outcome)} came after the denial`);
  if (outcome.kind !== 'approved') return unchanged(order, next);
  const { reference } = outcome;
  if (attempt.voiding?.reference === reference) return unchanged(order, next);
  const alarm = `an approval (${reference}) came after the order was denied`;
  if (attempt.voiding !== undefined)
    return unchanged(order, next, `${alarm}, and not the first one: void it`);
  return changed(order, withAttempt(order, voidNow(reference, context)), next, `${alarm}: it is voided`);
}

/** It stays in review, but money at the gateway goes on record: the alarm alone could be missed. */
export function hearInReview(
  order: StoredOrder,
  outcome: AuthorizationOutcome | InquiryOutcome,
  next: NextStep = parkForReview(order.statusReason ?? 'review'),
): Decision {
  if (outcome.kind === 'declined')
    return unchanged(order, next, 'a decline came while the order is in review');
  if (outcome.kind !== 'approved' && outcome.kind !== 'contradicted') return unchanged(order, next);

  const alarm = `${moneyHeard(outcome)} came while the order is in review`;
  if (outcome.reference === undefined || order.gatewayReference !== undefined)
    return unchanged(order, next, alarm);
  return changed(order, { ...order, gatewayReference: outcome.reference }, next, alarm);
}

function moneyHeard(outcome: Approved | Contradicted): string {
  return outcome.kind === 'approved' ? `an approval (${outcome.reference})` : contradiction(outcome);
}

function contradiction({ reason, reference }: Contradicted): string {
  return `a contradicting answer (${reason}, ${reference ?? 'without a reference'})`;
}
