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
  /** Until when the hold can be captured, milliseconds since the epoch; undefined: the gateway does not say. */
  readonly expiresAtMs?: number;
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
    | 'several_approvals'
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
  /** Of an authorization that the gateway knows and has not decided. */
  readonly reference?: string;
  readonly retryAfterMs?: number;
  readonly detail: string;
}

/**
 * What the gateway says when it is asked what became of an authorization. A verdict counts as if it had been the
 * answer to the authorization itself; everything else leaves it open.
 */
export type InquiryOutcome = Approved | Declined | Contradicted | Undecided | Unanswered;

/**
 * No verdict. `not_found` is never taken for "not charged", however often it is heard: the gateway's search lags, and a
 * request that is still on its way may arrive after it. So it can only lead to a person, never to another charge.
 */
export interface Undecided {
  readonly kind: 'undecided';
  readonly cause: 'not_found' | 'pending' | 'cannot_be_asked';
  readonly reference?: string;
  readonly detail: string;
}

/** The question itself came to nothing: ask again. */
export interface Unanswered {
  readonly kind: 'unanswered';
  readonly retryAfterMs?: number;
  readonly detail: string;
}

/** What came of giving a hold back. */
export type VoidOutcome =
  /** The gateway confirms that it holds nothing and never will. */
  | { readonly kind: 'voided' }
  /** It says that this cannot be done, because it was captured for example: a person must look. */
  | { readonly kind: 'refused'; readonly detail: string }
  | Unanswered;
