/**
 * The outcome table for Stripe's dialect, as pure functions: what an exchange means for the order that was asked for.
 * Nothing is taken for an approval but an intent with our order, amount and currency that holds the whole amount, and
 * nothing for a decline but an error that says so. No text of a body gets into an outcome, codes excepted.
 */
import type { AnswerHeaders, Exchange } from './http-exchange.ts';
import { settled, unavailable, unknown } from './judgement.ts';
import type { Asked, Judgement } from './judgement.ts';
import { isJson } from './json-answer.ts';
import { bodyLost, noAnswer } from './no-whole-answer.ts';
import { retryAfterMs } from './retry-after.ts';
import { readError, readIntent } from './stripe-answer.ts';
import type { ErrorAnswer, IntentAnswer } from './stripe-answer.ts';
import { judgeError, judgeIntent } from './stripe-verdict.ts';

export function judge(exchange: Exchange, asked: Asked, nowMs: number): Judgement {
  const { sent, result } = exchange;
  if (result.kind === 'failed') return settled(noAnswer(sent, result));
  const byStatus = judgeStatus(result.status, result.headers, nowMs);
  if (byStatus !== undefined) return byStatus;
  if (result.kind === 'cut_short') return settled(bodyLost(result));
  return result.status < 300 ? judgeIntent(readIntent(result), asked) : judgeError(result, asked, nowMs);
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
