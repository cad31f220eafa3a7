import {
  decide,
  INQUIRY_WAITS_MS,
  type DecisionContext,
  type OrderFact,
  type StoredOrder,
} from '../../src/domain/order-states.ts';
import type { OrderTerms } from '../../src/domain/order.ts';
import type { AuthorizationOutcome, InquiryOutcome, VoidOutcome } from '../../src/domain/outcome.ts';

export const TERMS: OrderTerms = {
  orderId: '1234',
  customerId: '5678',
  amountMinor: 4223n,
  currency: 'USD',
  fingerprint: 'fingerprint of the order',
};
export const OTHER_TERMS: OrderTerms = { ...TERMS, fingerprint: 'fingerprint of other content' };

export const START_MS = Date.UTC(2026, 0, 1);
export const LEASE_MS = 25_000;
export const KEY_WINDOW_MS = 23 * 3_600_000;
/** Waits after the first and the second soft decline; the third one denies. */
export const RETRY_WAITS_MS = [60_000, 120_000] as const;

/** The worker of the table's facts, one that lives beside it, and one that died. */
export const SELF = 1;
export const PEER = 2;
export const DEAD = 3;

export function contextAt(sinceStartMs: number, worker: number = SELF): DecisionContext {
  return {
    nowMs: START_MS + sinceStartMs,
    worker,
    isAlive: (session) => session !== DEAD,
    leaseMs: LEASE_MS,
    keyWindowMs: KEY_WINDOW_MS,
    inquiryWaitsMs: INQUIRY_WAITS_MS,
    softDeclineRetry: { waitsMs: RETRY_WAITS_MS },
  };
}

export const OUTCOMES = {
  approved: { kind: 'approved', reference: 'pi_1' },
  declined: {
    kind: 'declined',
    reason: 'card_declined',
    class: 'hard',
    code: 'lost_card',
    reference: 'pi_0',
  },
  declinedSoftly: { kind: 'declined', reason: 'card_declined', class: 'soft', code: 'insufficient_funds' },
  contradicted: { kind: 'contradicted', reason: 'amount_mismatch', reference: 'pi_9' },
  rejected: { kind: 'rejected', code: 'parameter_missing' },
  unavailable: { kind: 'unavailable', cause: 'not_sent', detail: 'connection refused' },
  proxyPage: {
    kind: 'unavailable',
    cause: 'proxy_page',
    detail: 'HTTP 400 without an error of the gateway’s',
  },
  unknown: { kind: 'unknown', cause: 'no_answer', detail: 'no answer within 8000 ms' },
} as const satisfies Record<
  AuthorizationOutcome['kind'] | 'declinedSoftly' | 'proxyPage',
  AuthorizationOutcome
>;

/** Answers to an inquiry that are no verdict. */
export const NO_VERDICTS = {
  notFound: { kind: 'undecided', cause: 'not_found', detail: 'nothing found' },
  pending: { kind: 'undecided', cause: 'pending', reference: 'pi_1', detail: 'not decided' },
  cannotBeAsked: { kind: 'undecided', cause: 'cannot_be_asked', detail: 'no such question' },
  unanswered: { kind: 'unanswered', detail: 'HTTP 503' },
} as const satisfies Record<string, InquiryOutcome>;

export const VOID_OUTCOMES = {
  voided: { kind: 'voided' },
  refused: { kind: 'refused', detail: 'it was captured' },
  unanswered: { kind: 'unanswered', detail: 'HTTP 503' },
} as const satisfies Record<VoidOutcome['kind'], VoidOutcome>;

export const PARTIAL = { kind: 'contradicted', reason: 'partial_approval', reference: 'pi_7' } as const;
export const KEY_REUSED = { kind: 'contradicted', reason: 'key_reused' } as const;

export function inquired(outcome: InquiryOutcome, inquiry: number, generation = 1): OrderFact {
  return { kind: 'inquired', generation, inquiry, outcome };
}

/** An operator's word that the order was approved under `reference`, or, without one, declined. */
export function settled(reference: string | undefined, generation = 1): OrderFact {
  const as =
    reference === undefined ? ({ kind: 'declined' } as const) : ({ kind: 'approved', reference } as const);
  return { kind: 'settled', generation, as, isCheckedAtGateway: true };
}

export function reopened(generation = 1): OrderFact {
  return { kind: 'reopened', generation };
}

export function voided(outcome: VoidOutcome, reference: string, generation = 1): OrderFact {
  return { kind: 'voided', generation, reference, outcome };
}

export function claimBy(): OrderFact {
  return { kind: 'claim', terms: TERMS };
}

export function outcomeOf(outcome: AuthorizationOutcome, claim: number, generation = 1): OrderFact {
  return { kind: 'outcome', generation, claim, outcome };
}

/** The order after some facts, each learned by a worker at a time. */
export function orderAfter(
  ...history: readonly (readonly [fact: OrderFact, sinceStartMs: number, worker: number])[]
): StoredOrder {
  let order: StoredOrder | undefined;
  for (const [fact, sinceStartMs, worker] of history) {
    order = decide(order, fact, contextAt(sinceStartMs, worker)).order;
  }
  if (order === undefined) throw new Error('a history without a fact makes no order');
  return order;
}
