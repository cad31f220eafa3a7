/** A message asks for the order to be authorized: who may send which key, and when. */
import type { OrderTerms } from '../order.ts';
import {
  changed,
  conflict,
  parkForReview,
  unchanged,
  type Decision,
  type DecisionContext,
} from './decision.ts';
import { waitForNextTry } from './settle.ts';
import { earlier, firstWaitMs, keyIsTooOld } from './schedule.ts';
import type { Attempt, StoredOrder } from './stored-order.ts';
import { admitted, denied, reviewed, withAttempt } from './transitions.ts';

export function admitAndClaim(terms: OrderTerms, context: DecisionContext): Decision {
  return holdClaim(admitted(terms), context);
}

export function claim(order: StoredOrder, terms: OrderTerms, context: DecisionContext): Decision {
  if (order.fingerprint !== terms.fingerprint) return conflict(order);
  switch (order.status) {
    case 'ready-to-ship':
    case 'denied':
      return unchanged(order, { step: 'announce' });
    case 'review':
      return unchanged(order, parkForReview(order.statusReason ?? 'review'));
    case 'received':
    case 'authorizing':
    case 'authorization-unknown':
      return claimOpenAttempt(order, context);
  }
}

function claimOpenAttempt(order: StoredOrder, context: DecisionContext): Decision {
  const { attempt } = order;
  if (attempt === undefined) return holdClaim(order, context);
  if (attempt.state === 'declined') return claimNextTry(order, context);

  const leftMs = leaseLeftMs(attempt, context);
  if (leftMs > 0) return unchanged(order, { step: 'wait', retryAfterMs: leftMs });

  // An unreleased lease here is a dead, frozen or interrupted owner's: its request may be anywhere.
  const interrupted = attempt.leaseUntilMs !== undefined;
  const maybeSent = attempt.maybeSent || interrupted;
  if (keyIsTooOld(attempt, context)) {
    const detail =
      'the idempotency key is too old to be sent again, and no verdict is known: the gateway is asked';
    const next = {
      ...withAttempt(order, {
        maybeSent,
        state: 'review',
        leaseUntilMs: undefined,
        resolveDueMs: earlier(attempt.resolveDueMs, context.nowMs),
      }),
      ...reviewed('key_window_passed'),
    };
    return changed(order, next, { step: 'park', reason: 'key_window_passed', detail });
  }
  return holdClaim(withAttempt(order, { maybeSent }), context);
}

/** It was declined softly: a new generation, with a key of its own, once its time has come. */
function claimNextTry(order: StoredOrder, context: DecisionContext): Decision {
  if (context.softDeclineRetry === undefined) {
    return changed(order, denied(order, 'card_declined', context), { step: 'announce' });
  }
  if ((order.retryAtMs ?? 0) > context.nowMs) return unchanged(order, waitForNextTry(order, context));
  const nextTryOfIt: StoredOrder = {
    ...order,
    generation: order.generation + 1,
    attempt: undefined,
    gatewayReference: undefined,
    statusReason: undefined,
    retryAtMs: undefined,
  };
  return holdClaim(nextTryOfIt, context);
}

/** Milliseconds for which somebody else's claim is still to be respected. */
export function leaseLeftMs(attempt: Attempt, context: DecisionContext): number {
  if (attempt.leaseUntilMs === undefined) return 0;
  // Its own earlier claim: a worker asks again only after that run has ended. The key makes a late answer harmless.
  if (attempt.owner === context.worker) return 0;
  if (!context.isAlive(attempt.owner)) return 0;
  return Math.max(0, attempt.leaseUntilMs - context.nowMs);
}

function holdClaim(order: StoredOrder, context: DecisionContext): Decision {
  const { generation, orderId } = order;
  const previous = order.attempt;
  const attempt: Attempt = {
    idempotencyKey: previous?.idempotencyKey ?? `order-${orderId}-${generation}`,
    claim: (previous?.claim ?? 0) + 1,
    owner: context.worker,
    leaseUntilMs: context.nowMs + context.leaseMs,
    keyUsedSinceMs: previous?.keyUsedSinceMs ?? context.nowMs,
    maybeSent: previous?.maybeSent ?? false,
    state: 'open',
    declineClass: undefined,
    inquiries: previous?.inquiries ?? 0,
    resolveDueMs: previous?.resolveDueMs ?? context.nowMs + context.leaseMs + firstWaitMs(context),
    voiding: undefined,
  };
  const next: StoredOrder = {
    ...order,
    attempt,
    attempts: order.attempts + 1,
    status: order.status === 'authorization-unknown' ? 'authorization-unknown' : 'authorizing',
  };
  const { idempotencyKey, claim: number } = attempt;
  return changed(order, next, { step: 'charge', idempotencyKey, generation, claim: number });
}
