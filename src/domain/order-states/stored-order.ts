import type { OrderTerms } from '../order.ts';

export type TerminalStatus = 'ready-to-ship' | 'denied';
export type OrderStatus = 'received' | 'authorizing' | 'authorization-unknown' | 'review' | TerminalStatus;

export interface StoredOrder extends OrderTerms {
  readonly status: OrderStatus;
  readonly statusReason: string | undefined;
  readonly generation: number;
  /** Claims made for this order, over all generations. */
  readonly attempts: number;
  readonly attempt: Attempt | undefined;
  readonly gatewayReference: string | undefined;
  /** Until when the approved hold can be captured, where the gateway says so. */
  readonly authorizationExpiresAtMs: number | undefined;
  readonly decidedAtMs: number | undefined;
  readonly notifiedAtMs: number | undefined;
  /** Declined softly, and not to be claimed again before; undefined when it does not wait for that. */
  readonly retryAtMs: number | undefined;
  /** When its tries after soft declines end; set by the first of those, and then for good. */
  readonly retryUntilMs: number | undefined;
  /** Raised by every write; a write of an older version is refused. */
  readonly version: number;
}

/** The one authorization attempt of the order's generation; claims take turns on it, all with the same key. */
export interface Attempt {
  readonly idempotencyKey: string;
  /** Number of the claim that holds it; an answer to an older claim must not reopen anything. */
  readonly claim: number;
  /** The worker session that holds it. */
  readonly owner: number;
  /** Until when the claim is respected while its owner lives; undefined when no claim is held. */
  readonly leaseUntilMs: number | undefined;
  /** Before the first send under this key, so at or before the gateway's own count; undefined: proven never sent. */
  readonly keyUsedSinceMs: number | undefined;
  /** A request may have reached the gateway without its answer being recorded. */
  readonly maybeSent: boolean;
  readonly state: 'open' | 'approved' | 'declined' | 'review';
  /** Decline class, for policies and people. */
  readonly declineClass: 'hard' | 'soft' | 'unknown' | undefined;
  /** How often the gateway was asked what became of it and had no verdict: the place in the schedule. */
  readonly inquiries: number;
  /**
   * When the resolver looks at the order next, message or no message: to ask the gateway while there is no verdict, to
   * give a hold back, to announce a decision that nobody may be left to announce. undefined: nothing to do for it.
   */
  readonly resolveDueMs: number | undefined;
  /** A hold that must not stand. */
  readonly voiding: Voiding | undefined;
}

export interface Voiding {
  readonly reference: string;
  readonly state: 'due' | 'confirmed' | 'refused';
  /** Requests that brought no confirmation. */
  readonly tries: number;
}

/** Decided: only the announcement is left. */
export function isTerminal(order: StoredOrder): order is StoredOrder & { readonly status: TerminalStatus } {
  return order.status === 'ready-to-ship' || order.status === 'denied';
}
