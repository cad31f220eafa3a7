/** The steps that several rules take an order through. */
import type { OrderTerms } from '../order.ts';
import type { Approved } from '../outcome.ts';
import type { DecisionContext } from './decision.ts';
import { announcementDueMs } from './schedule.ts';
import type { Attempt, StoredOrder } from './stored-order.ts';

/** A new order; version 0 says that it is not stored yet. Field by field: spreading first costs as much as a hash. */
export function admitted(terms: OrderTerms): StoredOrder {
  return {
    orderId: terms.orderId,
    customerId: terms.customerId,
    amountMinor: terms.amountMinor,
    currency: terms.currency,
    fingerprint: terms.fingerprint,
    cardBrand: terms.cardBrand,
    cardLast4: terms.cardLast4,
    status: 'received',
    statusReason: undefined,
    generation: 1,
    attempts: 0,
    attempt: undefined,
    gatewayReference: undefined,
    authorizationExpiresAtMs: undefined,
    decidedAtMs: undefined,
    notifiedAtMs: undefined,
    retryAtMs: undefined,
    retryUntilMs: undefined,
    version: 0,
  };
}

export function approved(order: StoredOrder, outcome: Approved, context: DecisionContext): StoredOrder {
  const { attempt } = order;
  const resolveDueMs = attempt && announcementDueMs(attempt, context);
  return {
    ...withAttempt(order, { state: 'approved', leaseUntilMs: undefined, resolveDueMs }),
    status: 'ready-to-ship',
    statusReason: undefined,
    gatewayReference: outcome.reference,
    authorizationExpiresAtMs: outcome.expiresAtMs,
    decidedAtMs: context.nowMs,
  };
}

export function denied(order: StoredOrder, reason: string, context: DecisionContext): StoredOrder {
  return {
    ...order,
    status: 'denied',
    statusReason: reason,
    decidedAtMs: context.nowMs,
    retryAtMs: undefined,
  };
}

export function giveToReview(order: StoredOrder, reason: string, change: Partial<Attempt> = {}): StoredOrder {
  const handedOver = { state: 'review', leaseUntilMs: undefined, resolveDueMs: undefined } as const;
  return { ...withAttempt(order, { ...handedOver, ...change }), ...reviewed(reason) };
}

export function reviewed(reason: string): { readonly status: 'review'; readonly statusReason: string } {
  return { status: 'review', statusReason: reason };
}

export function withAttempt(order: StoredOrder, change: Partial<Attempt>): StoredOrder {
  return order.attempt === undefined ? order : { ...order, attempt: { ...order.attempt, ...change } };
}

/** The attempt of a generation that needs one although nothing was ever sent: it carries its place in the resolver's schedule. */
export function neverSent({ orderId, generation }: StoredOrder, { worker }: DecisionContext): Attempt {
  return {
    idempotencyKey: `order-${orderId}-${generation}`,
    claim: 1,
    owner: worker,
    leaseUntilMs: undefined,
    keyUsedSinceMs: undefined,
    maybeSent: false,
    state: 'review',
    declineClass: undefined,
    inquiries: 0,
    resolveDueMs: undefined,
    voiding: undefined,
  };
}
