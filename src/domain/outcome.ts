/**
 * What one authorization request came to: a closed list, the only thing that the gateway port answers with.
 * Source: the outcome table of the payments design; each row of it maps to exactly one of these.
 */
export type AuthorizationOutcome = Approved | Declined | Contradicted | Rejected | Unavailable | Unknown;

/** A hold for exactly our amount, currency and order. */
export interface Approved {
  readonly kind: 'approved';
  /** The gateway's own id of the authorization. */
  readonly reference: string;
}

/** The issuer or the gateway's business logic said no. Nothing was charged. */
export interface Declined {
  readonly kind: 'declined';
  readonly reason: DeclineReason;
  /** `hard`: never again with this card; `soft`: may work later; `unknown`: a code nobody knows. */
  readonly class: 'hard' | 'soft' | 'unknown';
  /** The gateway's code, for people; at most 64 characters. */
  readonly code: string;
  readonly reference?: string;
  /** The card network's own wish: not to be tried again before so long, milliseconds. */
  readonly retryAfterMs?: number;
}

export type DeclineReason = 'card_declined' | 'invalid_card_data' | 'authentication_required';

/** The gateway claims something that does not fit what we asked. A person must look; never shipped, never denied. */
export interface Contradicted {
  readonly kind: 'contradicted';
  readonly reason:
    | 'amount_mismatch'
    | 'currency_mismatch'
    | 'order_mismatch'
    | 'partial_approval'
    | 'key_reused'
    | 'reference_reused';
  readonly reference?: string;
}

/** The gateway refused the request itself, for no fault of the card. Nothing was charged; a person must look. */
export interface Rejected {
  readonly kind: 'rejected';
  readonly code: string;
  /** The gateway was not asked: the order cannot be written in its dialect. Says nothing about the gateway. */
  readonly unasked?: true;
}

/** Proven not charged by this request, and not decided either: the order may be tried again. */
export interface Unavailable {
  readonly kind: 'unavailable';
  readonly cause: 'not_sent' | 'breaker_open' | 'rate_limited' | 'configuration' | 'proxy_page';
  /** The gateway's own wish, in milliseconds, already capped. */
  readonly retryAfterMs?: number;
  /** One line for people, without any part of a body. */
  readonly detail: string;
}

/** A request went out and no verdict came back: only the same key, or the gateway's own word, resolves it. */
export interface Unknown {
  readonly kind: 'unknown';
  readonly cause:
    | 'no_answer'
    | 'connection_lost'
    | 'server_error'
    | 'bad_gateway'
    | 'unreadable_answer'
    | 'pending'
    | 'key_in_use';
  readonly retryAfterMs?: number;
  readonly detail: string;
}
