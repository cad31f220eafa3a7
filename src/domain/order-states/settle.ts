import type { Approved, Contradicted, Declined } from '../outcome.ts';
import { nextTry } from '../soft-declines.ts';
import { changed, parkForReview, type Decision, type DecisionContext, type NextStep } from './decision.ts';
import { announcementDueMs, firstWaitMs } from './schedule.ts';
import type { Attempt, StoredOrder } from './stored-order.ts';
import { approved, denied, giveToReview, withAttempt } from './transitions.ts';

/** A verdict, whether it came as the answer to the authorization or to a question about it. */
export function settle(
  order: StoredOrder,
  attempt: Attempt,
  outcome: Approved | Declined | Contradicted,
  context: DecisionContext,
): Decision {
  switch (outcome.kind) {
    case 'approved':
      return changed(order, approved(order, outcome, context), { step: 'announce' });
    case 'declined':
      return recordDecline(order, attempt, outcome, context);
    case 'contradicted':
      return changed(
        order,
        {
          ...giveToReview(order, outcome.reason, followUp(outcome, context)),
          gatewayReference: outcome.reference ?? order.gatewayReference,
        },
        parkForReview(outcome.reason),
        `the gateway's answer contradicts the order: ${outcome.reason}`,
      );
  }
}

/**
 * What can be done about a contradiction without a person: a part of the amount is given back, since it may never be
 * shipped on; behind a reused key may be the order's own first request, so the gateway is asked. Money in another
 * amount, currency or name is left as it is.
 */
function followUp({ reason, reference }: Contradicted, context: DecisionContext): Partial<Attempt> {
  if (reason === 'partial_approval' && reference !== undefined) return voidNow(reference, context);
  if (reason === 'key_reused') return { resolveDueMs: context.nowMs + firstWaitMs(context) };
  return {};
}

export function voidNow(reference: string, { nowMs }: DecisionContext): Partial<Attempt> {
  return { voiding: { reference, state: 'due', tries: 0 }, resolveDueMs: nowMs };
}

function recordDecline(
  order: StoredOrder,
  attempt: Attempt,
  outcome: Declined,
  context: DecisionContext,
): Decision {
  const declined: StoredOrder = {
    ...withAttempt(order, {
      state: 'declined',
      declineClass: outcome.class,
      leaseUntilMs: undefined,
      resolveDueMs: undefined,
    }),
    gatewayReference: outcome.reference ?? order.gatewayReference,
  };
  const { softDeclineRetry, nowMs } = context;
  const soFar = { declines: order.generation, untilMs: order.retryUntilMs };
  const next = softDeclineRetry && nextTry(outcome, soFar, softDeclineRetry, nowMs);
  if (next === undefined) {
    const resolveDueMs = announcementDueMs(attempt, context);
    return changed(order, denied(withAttempt(declined, { resolveDueMs }), outcome.reason, context), {
      step: 'announce',
    });
  }
  const waiting: StoredOrder = {
    ...declined,
    status: 'received',
    statusReason: 'soft_decline_retry',
    retryAtMs: next.atMs,
    retryUntilMs: next.untilMs,
  };
  return changed(order, waiting, waitForNextTry(waiting, context));
}

export function waitForNextTry({ retryAtMs = 0 }: StoredOrder, { nowMs }: DecisionContext): NextStep {
  const detail = `declined softly, to be tried again from ${new Date(retryAtMs).toISOString()} on`;
  return { step: 'retry', errorClass: 'soft_decline', retryAfterMs: Math.max(0, retryAtMs - nowMs), detail };
}
