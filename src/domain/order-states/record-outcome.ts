/** What a claim came to at the gateway. */
import type { AuthorizationOutcome } from '../outcome.ts';
import {
  changed,
  parkForReview,
  unchanged,
  type Decision,
  type DecisionContext,
  type NextStep,
} from './decision.ts';
import type { OutcomeFact } from './facts.ts';
import {
  contradictionOfApproval,
  hearAfterDenial,
  hearBetweenTries,
  hearInReview,
  hearOfOtherGeneration,
  neverClaimed,
} from './late-answers.ts';
import { earlier, waitMs } from './schedule.ts';
import { settle } from './settle.ts';
import type { Attempt, StoredOrder } from './stored-order.ts';
import { giveToReview, withAttempt } from './transitions.ts';

export function recordOutcome(
  order: StoredOrder | undefined,
  fact: OutcomeFact,
  context: DecisionContext,
): Decision {
  if (order !== undefined && fact.generation !== order.generation)
    return hearOfOtherGeneration(order, fact, context);
  if (order?.attempt === undefined) return neverClaimed(order, fact.outcome);
  switch (order.status) {
    case 'received':
      if (order.attempt.state === 'declined') return hearBetweenTries(order, fact.outcome, context);
      return settleAttempt(order, order.attempt, fact, context);
    case 'authorizing':
    case 'authorization-unknown':
      return settleAttempt(order, order.attempt, fact, context);
    case 'ready-to-ship':
      return unchanged(order, { step: 'announce' }, contradictionOfApproval(order, fact.outcome));
    case 'denied':
      return hearAfterDenial(order, order.attempt, fact.outcome, { step: 'announce' }, context);
    case 'review':
      return hearInReview(order, fact.outcome);
  }
}

function settleAttempt(
  order: StoredOrder,
  attempt: Attempt,
  fact: OutcomeFact,
  context: DecisionContext,
): Decision {
  const { outcome } = fact;
  switch (outcome.kind) {
    case 'approved':
    case 'declined':
    case 'contradicted':
      return settle(order, attempt, outcome, context);
    case 'rejected':
      return changed(
        order,
        giveToReview(order, `rejected: ${outcome.code}`),
        parkForReview(`rejected: ${outcome.code}`),
      );
    case 'unavailable':
      return releaseUnsent(order, attempt, fact.claim, outcome);
    case 'unknown':
      return releaseUnknown(order, attempt, fact.claim, outcome, context);
  }
}

function releaseUnsent(
  order: StoredOrder,
  attempt: Attempt,
  claimNumber: number,
  outcome: Extract<AuthorizationOutcome, { kind: 'unavailable' }>,
): Decision {
  const next = retry(outcome.cause, outcome);
  // A newer claim is at work; it alone may release the attempt.
  if (claimNumber !== attempt.claim) return unchanged(order, next);
  if (attempt.maybeSent) {
    return changed(
      order,
      { ...withAttempt(order, { leaseUntilMs: undefined }), status: 'authorization-unknown' },
      next,
    );
  }
  if (outcome.cause === 'proxy_page') {
    // Somebody in between answered: that proves nothing about the gateway, so the key's window goes on.
    const released = withAttempt(order, {
      leaseUntilMs: undefined,
      maybeSent: true,
      resolveDueMs: undefined,
    });
    return changed(order, { ...released, status: 'received' }, next);
  }
  // Proven not charged, and no answer is stored under the key: its window has not begun.
  return changed(
    order,
    {
      ...withAttempt(order, { leaseUntilMs: undefined, keyUsedSinceMs: undefined, resolveDueMs: undefined }),
      status: 'received',
    },
    next,
  );
}

function releaseUnknown(
  order: StoredOrder,
  attempt: Attempt,
  claimNumber: number,
  outcome: Extract<AuthorizationOutcome, { kind: 'unknown' }>,
  context: DecisionContext,
): Decision {
  const next = retry(outcome.cause, outcome);
  if (claimNumber !== attempt.claim) {
    return attempt.maybeSent
      ? unchanged(order, next)
      : changed(order, withAttempt(order, { maybeSent: true }), next);
  }
  const resolveDueMs = earlier(attempt.resolveDueMs, context.nowMs + waitMs(attempt, context));
  return changed(
    order,
    {
      ...withAttempt(order, { leaseUntilMs: undefined, maybeSent: true, resolveDueMs }),
      status: 'authorization-unknown',
      gatewayReference: outcome.reference ?? order.gatewayReference,
    },
    next,
  );
}

function retry(errorClass: string, outcome: { retryAfterMs?: number; detail: string }): NextStep {
  const { retryAfterMs, detail } = outcome;
  return { step: 'retry', errorClass, detail, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}
