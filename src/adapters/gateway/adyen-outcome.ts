/**
 * The outcome table for Adyen's dialect, as pure functions: what an exchange means for the order that was asked for.
 * Refusals come with 2xx and a result; other statuses mean that there was no payment, or that nobody knows.
 * No text of a body gets into an outcome, codes excepted.
 */
import { readCancelled, readError, readPayment } from './adyen-answer.ts';
import type { ErrorAnswer } from './adyen-answer.ts';
import { CARD_FIELD_ERRORS } from './adyen-refusals.ts';
import { judgePayment } from './adyen-verdict.ts';
import type { Answered, CutShort, Exchange } from './http-exchange.ts';
import { isJson } from './json-answer.ts';
import { settled, unavailable, unknown } from './judgement.ts';
import type { Asked, Judgement } from './judgement.ts';
import { bodyLost, noAnswer } from './no-whole-answer.ts';
import { retryAfterMs } from './retry-after.ts';

export function judge(exchange: Exchange, asked: Asked, nowMs: number): Judgement {
  const { sent, result } = exchange;
  if (result.kind === 'failed') return settled(noAnswer(sent, result));
  const wait = retryAfterMs(result.headers['retry-after'], nowMs);
  if (result.status >= 500 || result.status === 408) return judgeServerError(result, wait);
  if (isMisconfigured(result.status)) {
    const hint = "check the gateway's URL, API key and merchant account";
    return settled(unavailable('configuration', `HTTP ${result.status}: ${hint}`));
  }
  if (result.status === 429) return settled(unavailable('rate_limited', 'HTTP 429', wait));
  if (result.kind === 'cut_short') return settled(bodyLost(result));
  return result.status < 300 ? judgePayment(readPayment(result), asked) : judgeRefusedRequest(result, wait);
}

/** Whether the answer to a cancel request says that it will be done. Whether it was, only a webhook says. */
export function isCancelAccepted({ result }: Exchange, pspReference: string): boolean {
  if (result.kind !== 'answered' || result.status >= 300) return false;
  return readCancelled(result) === pspReference;
}

function isMisconfigured(status: number): boolean {
  return (status >= 300 && status < 400) || [401, 403, 404, 405].includes(status);
}

function judgeServerError(result: Answered | CutShort, wait: number | undefined): Judgement {
  const { status } = result;
  const error = result.kind === 'answered' ? readError(result) : undefined;
  // For the account and not for the payment, and said before an acquirer is asked: a currency that is not set up (905).
  if (error?.errorType === 'configuration') return rejected(error, status);
  return status === 500 && isJson(result.headers)
    ? { kind: 'resend', otherwise: unknown('server_error', 'HTTP 500', wait) }
    : settled(unknown('bad_gateway', `HTTP ${status}`, wait));
}

/** The rows for an answer with 4xx that depend on its body. */
function judgeRefusedRequest(answered: Answered, wait: number | undefined): Judgement {
  const { status } = answered;
  const error = readError(answered);
  if (error === undefined) {
    return settled(unavailable('proxy_page', `HTTP ${status} without an error of the gateway's`, wait));
  }
  if (error.errorCode === REQUEST_IN_PROGRESS || status === 409) {
    const detail = `HTTP ${status}: another request with this key is under way`;
    return settled(unknown('key_in_use', detail, wait));
  }
  if (answered.headers['transient-error'] === 'true') {
    return settled(unknown('server_error', `HTTP ${status}: the gateway calls it transient`, wait));
  }
  if (error.errorCode !== undefined && CARD_FIELD_ERRORS.includes(error.errorCode)) {
    const code = `error_${error.errorCode}`;
    return settled({ kind: 'declined', reason: 'invalid_card_data', class: 'hard', code });
  }
  return rejected(error, status);
}

/**
 * "request already processed or in progress", seen with 409 and with 422.
 * Source: https://docs.adyen.com/development-resources/api-idempotency, "error handling".
 */
const REQUEST_IN_PROGRESS = '704';

function rejected({ errorCode }: ErrorAnswer, status: number): Judgement {
  return settled({
    kind: 'rejected',
    code: errorCode === undefined ? `http_${status}` : `error_${errorCode}`,
  });
}
