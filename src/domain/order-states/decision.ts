/** What a fact is decided upon, and what the decision says; every rule of this folder ends in one of these. */
import type { DecisionParkReason } from '../order.ts';
import type { SoftDeclineRetry } from '../soft-declines.ts';
import type { StoredOrder } from './stored-order.ts';

/** What the decision depends on besides the order and the fact. */
export interface DecisionContext {
  /** The system of record's clock, milliseconds since the epoch. */
  readonly nowMs: number;
  /** The worker session that learned the fact. */
  readonly worker: number;
  /** Whether a worker session still holds its lock. */
  readonly isAlive: (worker: number) => boolean;
  readonly leaseMs: number;
  /** How long after its first use a key may be sent again. */
  readonly keyWindowMs: number;
  /** Waits before the first, second, ... inquiry of an order without a verdict; after the last one a person looks. */
  readonly inquiryWaitsMs: readonly number[];
  /** Whether and when soft declines are tried again; undefined: never. */
  readonly softDeclineRetry?: SoftDeclineRetry | undefined;
}

/** What the one who brought the fact does now. */
export type NextStep =
  /** Ask the gateway, with this key; then bring the outcome of this claim. */
  | {
      readonly step: 'charge';
      readonly idempotencyKey: string;
      readonly generation: number;
      readonly claim: number;
    }
  /** Ask the gateway what became of the authorization, without charging anything; then bring the answer. */
  | {
      readonly step: 'inquire';
      readonly idempotencyKey: string;
      readonly generation: number;
      readonly inquiry: number;
      /** The gateway's id of it, where it is known. */
      readonly reference: string | undefined;
    }
  /** Give the hold back, under a key of its own; then bring the answer. */
  | {
      readonly step: 'void';
      readonly idempotencyKey: string;
      readonly generation: number;
      readonly reference: string;
    }
  /** The order is decided: announce it. */
  | { readonly step: 'announce' }
  /** Somebody else is at it: come back later. */
  | { readonly step: 'wait'; readonly retryAfterMs: number }
  /** Not decided: try again later. */
  | {
      readonly step: 'retry';
      readonly errorClass: string;
      readonly retryAfterMs?: number;
      readonly detail: string;
    }
  | { readonly step: 'park'; readonly reason: DecisionParkReason; readonly detail: string }
  /** An operator asked for what would be wrong; nothing was changed. */
  | { readonly step: 'refused'; readonly because: string }
  | { readonly step: 'nothing' };

export interface Decision {
  /** The order after the fact; undefined when there is none, the same object when nothing changed. */
  readonly order: StoredOrder | undefined;
  readonly next: NextStep;
  /** Something that must never happen has happened; a person should be told. */
  readonly alarm: string | undefined;
}

export function changed(before: StoredOrder, after: StoredOrder, next: NextStep, alarm?: string): Decision {
  return { order: { ...after, version: before.version + 1 }, next, alarm };
}

export function unchanged(order: StoredOrder | undefined, next: NextStep, alarm?: string): Decision {
  return { order, next, alarm };
}

export function parkForReview(detail: string): NextStep {
  return { step: 'park', reason: 'review', detail };
}

export function conflict(order: StoredOrder): Decision {
  const detail = `order ${order.orderId} is stored with other content; the stored order is unchanged`;
  return unchanged(order, { step: 'park', reason: 'order_conflict', detail });
}

export function refused(order: StoredOrder | undefined, because: string): Decision {
  return unchanged(order, { step: 'refused', because });
}
