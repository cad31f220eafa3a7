/** When the resolver looks at an order again. */
import type { DecisionContext } from './decision.ts';
import type { Attempt } from './stored-order.ts';

/** Waits before the inquiries of an order without a verdict, unless configured otherwise: 15 s to 24 h. */
export const INQUIRY_WAITS_MS: readonly number[] = [
  15_000, 60_000, 300_000, 1_800_000, 7_200_000, 43_200_000, 86_400_000,
];

export function waitMs(
  { inquiries }: Pick<Attempt, 'inquiries'>,
  { inquiryWaitsMs }: DecisionContext,
): number {
  return inquiryWaitsMs[inquiries] ?? inquiryWaitsMs.at(-1) ?? 0;
}

export function firstWaitMs(context: DecisionContext): number {
  return waitMs({ inquiries: 0 }, context);
}

/** A question that nobody answered is not a place in the schedule, and is put again before long. */
const LONGEST_SILENCE_MS = 300_000;

export function soonMs(
  tries: number,
  { retryAfterMs = 0 }: { readonly retryAfterMs?: number },
  context: DecisionContext,
): number {
  return Math.max(retryAfterMs, Math.min(waitMs({ inquiries: tries }, context), LONGEST_SILENCE_MS));
}

/**
 * After an order was without a verdict its message may be gone by the time that one is there: the resolver makes sure
 * that it is announced. Otherwise the message that brought it is still there to do so.
 */
export function announcementDueMs(attempt: Attempt, context: DecisionContext): number | undefined {
  const wasUnknown = attempt.maybeSent || attempt.inquiries > 0 || attempt.state === 'review';
  return wasUnknown ? context.nowMs + firstWaitMs(context) : undefined;
}

export function earlier(one: number | undefined, other: number): number {
  return Math.min(one ?? other, other);
}

export function keyIsTooOld(attempt: Attempt, context: DecisionContext): boolean {
  return attempt.keyUsedSinceMs !== undefined && context.nowMs - attempt.keyUsedSinceMs > context.keyWindowMs;
}
