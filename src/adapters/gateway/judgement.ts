import type { OrderTerms } from '../../domain/order.ts';
import type { AuthorizationOutcome, Unavailable, Unknown } from '../../domain/outcome.ts';

/** What an order asked for, as far as the answer must agree with it. */
export type Asked = Pick<OrderTerms, 'orderId' | 'amountMinor' | 'currency'>;

/** What follows from an exchange: an outcome, or one more request that decides between two. */
export type Judgement =
  | { readonly kind: 'settled'; readonly outcome: AuthorizationOutcome }
  /** Send the same bytes once more; `otherwise` stands unless a verdict comes back. */
  | { readonly kind: 'resend'; readonly otherwise: Unknown }
  /** Give the intent up; `confirmed` only if the answer proves that it is given up. */
  | {
      readonly kind: 'cancel';
      readonly reference: string;
      readonly confirmed: AuthorizationOutcome;
      readonly otherwise: AuthorizationOutcome;
    };

/** What a resend adds to a first answer of 500: a verdict counts, anything less leaves the first answer's doubt. */
export function afterResend(second: Judgement, first: Unknown): Judgement {
  if (second.kind === 'resend') return settled(first);
  if (second.kind === 'settled' && second.outcome.kind === 'unavailable') {
    return settled({ ...first, ...ifDefined(second.outcome.retryAfterMs) });
  }
  return second;
}

export function settled(outcome: AuthorizationOutcome): Judgement {
  return { kind: 'settled', outcome };
}

export function unavailable(cause: Unavailable['cause'], detail: string, wait?: number): Unavailable {
  return { kind: 'unavailable', cause, detail, ...ifDefined(wait) };
}

export function unknown(cause: Unknown['cause'], detail: string, wait?: number): Unknown {
  return { kind: 'unknown', cause, detail, ...ifDefined(wait) };
}

export function ifDefined(wait: number | undefined): { readonly retryAfterMs?: number } {
  return wait === undefined ? {} : { retryAfterMs: wait };
}
