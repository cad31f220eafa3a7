/**
 * The outcome table for Stripe's dialect, as pure functions: what an exchange means for the order that was asked for.
 * Nothing is taken for an approval but an intent with our order, amount and currency that holds the whole amount, and
 * nothing for a decline but an error that says so. No text of a body gets into an outcome, codes excepted.
 */
import type { OrderTerms } from '../../domain/order.ts';
import type { AuthorizationOutcome, Contradicted, Unavailable, Unknown } from '../../domain/outcome.ts';
import type { AnswerHeaders, Answered, CutShort, Exchange, Failed } from './http-exchange.ts';
import { retryAfterMs } from './retry-after.ts';
import { isGatewayWord, isJson, readError, readIntent } from './stripe-answer.ts';
import type { ErrorAnswer, IntentAnswer } from './stripe-answer.ts';
import { declineClass, declineReason } from './stripe-declines.ts';

/** What an order asked for, as far as the answer must agree with it. */
export type Asked = Pick<OrderTerms, 'orderId' | 'amountMinor' | 'currency'>;

/** What follows from an exchange: an outcome, or one more request that decides between two. */
export type Judgement =
  | { readonly kind: 'settled'; readonly outcome: AuthorizationOutcome }
  /** Send the same bytes once more; `otherwise` stands unless a verdict comes back (afterResend). */
  | { readonly kind: 'resend'; readonly otherwise: Unknown }
  /** Give the intent up; `confirmed` only if isCancelled says so of the answer. */
  | {
      readonly kind: 'cancel';
      readonly reference: string;
      readonly confirmed: AuthorizationOutcome;
      readonly otherwise: AuthorizationOutcome;
    };

export function judge(exchange: Exchange, asked: Asked, nowMs: number): Judgement {
  const { sent, result } = exchange;
  if (result.kind === 'failed') return settled(sent ? failedAfterSent(result) : failedBeforeSent(result));
  const byStatus = judgeStatus(result.status, result.headers, nowMs);
  if (byStatus !== undefined) return byStatus;
  if (result.kind === 'cut_short') return settled(bodyLost(result));
  return result.status < 300 ? judgeIntent(readIntent(result), asked) : judgeError(result, asked, nowMs);
}

/** What a resend adds to a first answer of 500: a verdict counts, anything less leaves the first answer's doubt. */
export function afterResend(second: Judgement, first: Unknown): Judgement {
  if (second.kind === 'resend') return settled(first);
  if (second.kind === 'settled' && second.outcome.kind === 'unavailable') {
    return settled({ ...first, ...ifDefined(second.outcome.retryAfterMs) });
  }
  return second;
}

/** Whether the answer to a cancel request proves that the intent holds nothing and never will. */
export function isCancelled({ result }: Exchange, reference: string): boolean {
  if (result.kind !== 'answered') return false;
  const intent =
    result.status >= 200 && result.status < 300 ? readIntent(result) : alreadyIn(readError(result));
  return intent?.id === reference && intent.status === 'canceled';
}

/** The intent of a refused cancel, when the refusal is about the state it is in. */
function alreadyIn(error: ErrorAnswer | undefined): IntentAnswer | undefined {
  return error?.code === 'payment_intent_unexpected_state' ? error.payment_intent : undefined;
}

// --- no whole answer ---------------------------------------------------------------------------------------------

function failedBeforeSent({ fault, code }: Failed): Unavailable {
  return fault === 'tls'
    ? unavailable('configuration', `no trusted TLS connection to the gateway: ${code}`)
    : unavailable('not_sent', `the request was not sent: ${code}`);
}

function failedAfterSent({ fault, code }: Failed): Unknown {
  return unknown(UNKNOWN_CAUSE[fault], `the request was sent and no answer came: ${code}`);
}

function bodyLost({ status, fault, code }: CutShort): Unknown {
  return unknown(
    UNKNOWN_CAUSE[fault],
    `the body of an answer with HTTP ${status} did not come whole: ${code}`,
  );
}

const UNKNOWN_CAUSE = {
  timeout: 'no_answer',
  connection: 'connection_lost',
  tls: 'connection_lost',
  malformed: 'unreadable_answer',
  too_large: 'unreadable_answer',
} as const;

// --- by status alone ---------------------------------------------------------------------------------------------

/** The rows for which the body does not matter; undefined for the others. */
function judgeStatus(status: number, headers: AnswerHeaders, nowMs: number): Judgement | undefined {
  const wait = retryAfterMs(headers['retry-after'], nowMs);
  if (isMisconfigured(status)) {
    return settled(unavailable('configuration', `HTTP ${status}: check the gateway's URL and API key`));
  }
  if (status === 429) return settled(unavailable('rate_limited', 'HTTP 429', wait));
  if (status === 500 && isJson(headers)) {
    const doubt = unknown('server_error', 'HTTP 500', wait);
    return isFinal(headers) ? settled(doubt) : { kind: 'resend', otherwise: doubt };
  }
  // 408 and 424 leave open how far the request got; Stripe documents 424 for a failure behind it.
  if (status >= 500 || status === 408 || status === 424) {
    return settled(unknown('bad_gateway', `HTTP ${status}`, wait));
  }
  return undefined;
}

function isMisconfigured(status: number): boolean {
  return (status >= 300 && status < 400) || [401, 403, 404, 405].includes(status);
}

/** The gateway itself says that the same request will be answered with the same error. */
function isFinal(headers: AnswerHeaders): boolean {
  return headers['idempotent-replayed'] === 'true' || headers['stripe-should-retry'] === 'false';
}

// --- an intent ---------------------------------------------------------------------------------------------------

function judgeIntent(intent: IntentAnswer | undefined, asked: Asked): Judgement {
  if (intent?.metadata.order_id === undefined) {
    return settled(unknown('unreadable_answer', 'a 2xx answer without a payment intent for an order'));
  }
  if (isForeign(intent, asked)) return contradicted('order_mismatch', intent);
  switch (intent.status) {
    case 'requires_capture':
      return judgeHold(intent, asked);
    case 'requires_action':
      return giveUpChallenge(intent);
    case 'requires_payment_method':
      // So it looks after a decline; without one, nothing is known.
      return intent.last_payment_error === undefined
        ? pending(intent)
        : judgeDecline({ ...intent.last_payment_error, payment_intent: intent }, asked);
    default:
      return pending(intent);
  }
}

function judgeHold(intent: IntentAnswer, asked: Asked): Judgement {
  if (BigInt(intent.amount) !== asked.amountMinor) return contradicted('amount_mismatch', intent);
  if (intent.currency.toLowerCase() !== asked.currency.toLowerCase()) {
    return contradicted('currency_mismatch', intent);
  }
  const held = intent.amount_capturable ?? intent.amount;
  if (held > intent.amount) return contradicted('amount_mismatch', intent);
  if (held < intent.amount) return giveUpPartialHold(intent);
  return settled({ kind: 'approved', reference: intent.id });
}

/** Nobody is there to answer the challenge; as long as the intent lives, somebody could, and a hold would follow. */
function giveUpChallenge(intent: IntentAnswer): Judgement {
  return {
    kind: 'cancel',
    reference: intent.id,
    confirmed: {
      kind: 'declined',
      reason: 'authentication_required',
      class: declineClass('authentication_required', undefined),
      code: 'authentication_required',
      reference: intent.id,
    },
    otherwise: unknown('pending', 'authentication is required, and cancelling the intent is not confirmed'),
  };
}

/** A person looks at it either way: whether the hold is gone is in the log and at the gateway. */
function giveUpPartialHold(intent: IntentAnswer): Judgement {
  const outcome: Contradicted = { kind: 'contradicted', reason: 'partial_approval', reference: intent.id };
  return { kind: 'cancel', reference: intent.id, confirmed: outcome, otherwise: outcome };
}

function pending(intent: IntentAnswer): Judgement {
  const word = isGatewayWord(intent.status) ? intent.status : 'a status that is no word';
  return settled(unknown('pending', `the gateway has not decided: ${word}`));
}

function contradicted(reason: Contradicted['reason'], intent: IntentAnswer): Judgement {
  return settled({ kind: 'contradicted', reason, reference: intent.id });
}

function isForeign(intent: IntentAnswer, asked: Asked): boolean {
  return intent.metadata.order_id !== undefined && intent.metadata.order_id !== asked.orderId;
}

// --- an error ----------------------------------------------------------------------------------------------------

function judgeError(answered: Answered, asked: Asked, nowMs: number): Judgement {
  const { status } = answered;
  const error = readError(answered);
  const wait = retryAfterMs(answered.headers['retry-after'], nowMs);
  if (error === undefined) {
    return settled(unavailable('proxy_page', `HTTP ${status} without an error of the gateway's`, wait));
  }
  // The key in use comes first: the gateway may report it under either type.
  if (error.code === 'idempotency_key_in_use') return settled(keyInUse(status, wait));
  if (error.type === 'idempotency_error') return settled({ kind: 'contradicted', reason: 'key_reused' });
  if (status === 409) return settled(keyInUse(status, wait));
  if (error.type === 'card_error' || error.decline_code !== undefined) return judgeDecline(error, asked);
  if (isAboutCardField(error)) {
    const code = error.code ?? 'invalid_card_field';
    return settled({ kind: 'declined', reason: 'invalid_card_data', class: 'hard', code });
  }
  return settled({ kind: 'rejected', code: error.code ?? error.type ?? `http_${status}` });
}

function keyInUse(status: number, wait: number | undefined): Unknown {
  return unknown('key_in_use', `HTTP ${status}: another request with this key is under way`, wait);
}

function judgeDecline(error: ErrorAnswer, asked: Asked): Judgement {
  const { payment_intent: intent } = error;
  const code = error.decline_code ?? error.code ?? 'card_error';
  if (intent !== undefined) {
    if (isForeign(intent, asked)) return contradicted('order_mismatch', intent);
    if (intent.status === 'requires_action') return giveUpChallenge(intent);
    // A decline whose own intent may still hold money is none.
    if (!['requires_payment_method', 'canceled'].includes(intent.status)) return pending(intent);
  }
  if (code === 'duplicate_transaction') {
    const detail = 'the gateway takes it for a duplicate: the original must be found and decides';
    return settled(unknown('pending', detail));
  }
  return settled({
    kind: 'declined',
    reason: declineReason(code),
    class: declineClass(code, error.advice_code),
    code,
    ...(intent === undefined ? {} : { reference: intent.id }),
  });
}

function isAboutCardField({ param }: ErrorAnswer): boolean {
  return param !== undefined && /^(payment_method_data\[card\]|card)\[/.test(param);
}

// --- pieces ------------------------------------------------------------------------------------------------------

function settled(outcome: AuthorizationOutcome): Judgement {
  return { kind: 'settled', outcome };
}

function unavailable(cause: Unavailable['cause'], detail: string, wait?: number): Unavailable {
  return { kind: 'unavailable', cause, detail, ...ifDefined(wait) };
}

function unknown(cause: Unknown['cause'], detail: string, wait?: number): Unknown {
  return { kind: 'unknown', cause, detail, ...ifDefined(wait) };
}

function ifDefined(wait: number | undefined): { readonly retryAfterMs?: number } {
  return wait === undefined ? {} : { retryAfterMs: wait };
}
