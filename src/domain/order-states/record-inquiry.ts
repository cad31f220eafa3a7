/** What the gateway said when it was asked. */
import type { Unanswered, Undecided } from '../outcome.ts';
import { announceUnlessNotified } from './announcement.ts';
import { changed, parkForReview, unchanged, type Decision, type DecisionContext } from './decision.ts';
import type { InquiryFact } from './facts.ts';
import {
  contradictionOfApproval,
  hearAfterDenial,
  hearBetweenTries,
  hearInReview,
  hearOfOtherGeneration,
  neverClaimed,
} from './late-answers.ts';
import { isAskedAbout, isAskedAboutAtOnce } from './resolve.ts';
import { keyIsTooOld, soonMs, waitMs } from './schedule.ts';
import { settle } from './settle.ts';
import type { Attempt, StoredOrder } from './stored-order.ts';
import { giveToReview, withAttempt } from './transitions.ts';

/** Whoever settles first, a replay or the resolver, wins; the other finds the order decided. */
export function recordInquiry(
  order: StoredOrder | undefined,
  fact: InquiryFact,
  context: DecisionContext,
): Decision {
  const { outcome } = fact;
  if (order !== undefined && fact.generation !== order.generation)
    return hearOfOtherGeneration(order, fact, context);
  if (order?.attempt === undefined) return neverClaimed(order, outcome);
  switch (order.status) {
    case 'ready-to-ship':
      return unchanged(order, announceUnlessNotified(order), contradictionOfApproval(order, outcome));
    case 'denied':
      return hearAfterDenial(order, order.attempt, outcome, announceUnlessNotified(order), context);
    case 'received':
      if (order.attempt.state === 'declined') return hearBetweenTries(order, outcome, context);
      break;
    case 'authorizing':
    case 'authorization-unknown':
    case 'review':
      break;
  }
  const isAsked = fact.atOnce === true ? isAskedAboutAtOnce(order) : isAskedAbout(order);
  if (order.status === 'review' && !isAsked) return hearInReview(order, outcome, { step: 'nothing' });
  switch (outcome.kind) {
    case 'approved':
    case 'declined':
    case 'contradicted':
      return settle(order, order.attempt, outcome, context);
    case 'undecided':
    case 'unanswered':
      return askAgain(order, order.attempt, { ...fact, outcome }, context);
  }
}

/** Of two who asked at the same time, the second finds the schedule moved on. */
function askAgain(
  order: StoredOrder,
  attempt: Attempt,
  { inquiry, outcome, atOnce }: InquiryFact & { readonly outcome: Undecided | Unanswered },
  context: DecisionContext,
): Decision {
  const nothing = { step: 'nothing' } as const;
  if (atOnce === true) {
    const named = outcome.kind === 'undecided' ? outcome.reference : undefined;
    if (named === undefined || order.gatewayReference !== undefined) return unchanged(order, nothing);
    return changed(order, { ...order, gatewayReference: named }, nothing);
  }
  if (inquiry !== attempt.inquiries || attempt.resolveDueMs === undefined) return unchanged(order, nothing);
  if (outcome.kind === 'unanswered') {
    const resolveDueMs = context.nowMs + soonMs(inquiry, outcome, context);
    return changed(order, withAttempt(order, { resolveDueMs }), nothing);
  }

  const inquiries = inquiry + 1;
  if (isLastInquiry(order, attempt, outcome, context)) {
    const reason = order.status === 'review' ? order.statusReason : undefined;
    const after = giveToReview(withAttempt(order, { inquiries }), reason ?? 'not_resolved');
    const detail = `no verdict after asking the gateway ${inquiries} times; the last time: ${outcome.detail}`;
    return changed(order, after, parkForReview(detail));
  }
  const resolveDueMs = context.nowMs + waitMs({ inquiries }, context);
  const gatewayReference = order.gatewayReference ?? outcome.reference;
  return changed(order, { ...withAttempt(order, { inquiries, resolveDueMs }), gatewayReference }, nothing);
}

/** A gateway that cannot be asked leaves only the same-key resend, for as long as its window lasts. */
function isLastInquiry(
  order: StoredOrder,
  attempt: Attempt,
  { cause }: Undecided,
  context: DecisionContext,
): boolean {
  return cause === 'cannot_be_asked'
    ? order.status === 'review' || keyIsTooOld(attempt, context)
    : attempt.inquiries + 1 >= context.inquiryWaitsMs.length;
}
