/**
 * What the replay of a parked message would come to, before anybody tries: by what is known of the order's money, of the
 * message, and of what the worker does with such a message.
 */
import { nextActionOf, type MoneyVerdict } from './money-moved.ts';
import type { StoredOrder } from './order-states.ts';

/** `publish`: the message goes back to the orders queue, and leads to this; `close`: its row alone is closed. */
export type TakenAction = 'authorize' | 'announce' | 'ask-gateway' | 'close';

/** Why it is left where it is. */
export type LeftAction =
  /** A worker is at it, or its time has not come. */
  | 'wait'
  /** Its key may not be sent again, or the order is older than anybody wants to charge. */
  | 'too-old'
  /** The worker would park it again at once. */
  | 'parks-again'
  /** There is no message any more that could be published. */
  | 'not-replayable'
  /** Money is where it should not be. */
  | 'review'
  /** It came from another queue than the one that it would be published to. */
  | 'wrong-queue';

/** `advice`: what to do instead. */
export type ReplayPlan =
  { readonly action: TakenAction } | { readonly action: LeftAction; readonly advice: string };

/** The parked message. */
export interface ReplayCandidate {
  readonly orderId: string | undefined;
  readonly reason: string;
  readonly class: string;
  readonly originQueue: string;
  readonly notReplayableBecause: string | undefined;
  readonly firstSeenMs: number;
}

export interface ReplayRules {
  readonly nowMs: number;
  /** The queue that it would be published to. */
  readonly queue: string;
  /** Orders first seen longer ago are charged no more. */
  readonly maxAgeMs: number;
}

/** The most that a key's window may be configured to; a worker with a shorter one refuses earlier, and parks. */
export const LONGEST_KEY_WINDOW_MS = 23 * 3_600_000;

export function replayPlanOf(
  message: ReplayCandidate,
  order: StoredOrder | undefined,
  verdict: MoneyVerdict,
  rules: ReplayRules,
): ReplayPlan {
  const next = nextActionOf(verdict);
  const named = message.orderId ?? 'ID';
  // Its body is not what the stored order is about, whatever became of that one.
  if (message.reason === 'order_conflict') {
    return leave('parks-again', 'the same id with other content: ask upstream for a new id, then discard it');
  }
  if (next === 'nothing') return { action: 'close' };
  if (order?.status === 'review') return leave('parks-again', adviceInReview(verdict, named));
  if (next === 'review') return leave('review', `a person decides: cardauth orders show ${named}`);
  if (next === 'wait')
    return leave('wait', 'a worker is at it, or its next try is not due: look again later');
  if (message.notReplayableBecause !== undefined) {
    const how = next === 'announce' ? announceAlone(named) : 'ask upstream for the order, then discard it';
    return leave('not-replayable', `${message.notReplayableBecause}: ${how}`);
  }
  if (isOfWorker(message) && message.originQueue !== rules.queue) {
    return leave('wrong-queue', `it came from ${message.originQueue}: set CARDAUTH_ORDERS_QUEUE to that`);
  }
  if (next === 'announce') return { action: 'announce' };
  return tooOld(message, order, rules) ?? { action: next };
}

export function isTaken(plan: ReplayPlan): plan is { readonly action: TakenAction } {
  return !('advice' in plan);
}

function leave(action: LeftAction, advice: string): ReplayPlan {
  return { action, advice };
}

function adviceInReview(verdict: MoneyVerdict, named: string): string {
  switch (verdict.kind) {
    case 'rejected':
      return `it is proven that nothing was charged: cardauth orders reopen ${named}, then replay it`;
    case 'unknown':
      return `ask the gateway: cardauth unknown resolve ${named}, then replay it for the announcement`;
    default:
      return `it is in review, and a person decides: cardauth orders show ${named}`;
  }
}

function announceAlone(named: string): string {
  return `cardauth notifications resend ${named}`;
}

/** Only what a worker parked says for certain which queue it was on. */
function isOfWorker({ class: parkedClass }: ReplayCandidate): boolean {
  return parkedClass !== 'broker' && parkedClass !== 'foreign';
}

function tooOld(
  { firstSeenMs, orderId = 'ID' }: ReplayCandidate,
  order: StoredOrder | undefined,
  { maxAgeMs, nowMs }: ReplayRules,
): ReplayPlan | undefined {
  const keyUsedSinceMs = order?.attempt?.state === 'open' ? order.attempt.keyUsedSinceMs : undefined;
  if (keyUsedSinceMs !== undefined && nowMs - keyUsedSinceMs > LONGEST_KEY_WINDOW_MS) {
    return leave('too-old', `its key may not be sent again: cardauth unknown resolve ${orderId}`);
  }
  if (nowMs - firstSeenMs <= maxAgeMs) return undefined;
  return leave('too-old', 'discard it, or give a longer --max-age if it is still to be charged');
}
