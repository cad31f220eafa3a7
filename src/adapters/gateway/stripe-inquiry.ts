/**
 * What Stripe's answer to a question means, as pure functions. The verdicts are those of stripe-verdict.ts; what is
 * new is which of several intents of an order counts:
 *
 * - an intent that holds money counts under any key, since the order is then paid for; more than one is for a person;
 * - a decline counts only under the key that is asked about: another generation's says nothing about this one;
 * - no intent at all proves nothing (searchRequest in stripe-dialect.ts).
 */
import type { AuthorizationOutcome, InquiryOutcome, Unanswered, VoidOutcome } from '../../domain/outcome.ts';
import type { Exchange } from './http-exchange.ts';
import { ifDefined, settled, type Asked, type Judgement } from './judgement.ts';
import { retryAfterMs } from './retry-after.ts';
import { readError, readFoundIntents, readIntent, type IntentAnswer } from './stripe-answer.ts';
import { judgeIntent } from './stripe-verdict.ts';

/** A judgement as for an authorization, or an answer that is final as it is. */
export type InquiryJudgement = Judgement | InquiryOutcome;

/** What a retrieved intent says about the order. */
export function judgeRetrieved(exchange: Exchange, asked: Asked, nowMs: number): InquiryJudgement {
  const { result } = exchange;
  if (result.kind === 'answered' && result.status === 404 && readError(result) !== undefined)
    return NOT_FOUND;
  const intent = intentOf(exchange);
  return intent === undefined ? unanswered(exchange, nowMs) : judgeIntent(intent, asked);
}

/** What the intents that a search found say about the order. */
export function judgeSearch(
  exchange: Exchange,
  asked: Asked,
  idempotencyKey: string,
  nowMs: number,
): InquiryJudgement {
  const { result } = exchange;
  const found = result.kind === 'answered' && result.status === 200 ? readFoundIntents(result) : undefined;
  return found === undefined ? unanswered(exchange, nowMs) : judgeFound(found, asked, idempotencyKey);
}

function judgeFound(found: readonly IntentAnswer[], asked: Asked, idempotencyKey: string): InquiryJudgement {
  const ofOrder = found.filter(({ metadata }) => metadata.order_id === asked.orderId);
  const [hold, secondHold] = ofOrder.filter(({ status }) => status === 'requires_capture');
  if (hold !== undefined && secondHold !== undefined) {
    return settled({ kind: 'contradicted', reason: 'several_approvals', reference: hold.id });
  }
  // An intent without a key in it was not made by this version; it can only be of this generation or an older one.
  const underKey = ofOrder.filter(
    ({ metadata }) => (metadata.idempotency_key ?? idempotencyKey) === idempotencyKey,
  );
  const [undecided] = underKey.filter(({ status }) => !FINAL_WITHOUT_MONEY.includes(status));
  const deciding = hold ?? undecided ?? underKey[0];
  return deciding === undefined ? NOT_FOUND : judgeIntent(deciding, asked);
}

const FINAL_WITHOUT_MONEY: readonly string[] = ['requires_payment_method', 'canceled'];

const NOT_FOUND = {
  kind: 'undecided',
  cause: 'not_found',
  detail: 'the gateway finds no authorization; that does not prove that there is none',
} as const satisfies InquiryOutcome;

/** The outcome of an authorization, as the answer to a question about it. */
export function asInquiryOutcome(outcome: AuthorizationOutcome): InquiryOutcome {
  switch (outcome.kind) {
    case 'approved':
    case 'declined':
    case 'contradicted':
      return outcome;
    case 'unknown':
      return outcome.cause === 'unreadable_answer'
        ? { kind: 'unanswered', detail: outcome.detail }
        : {
            kind: 'undecided',
            cause: 'pending',
            detail: outcome.detail,
            ...(outcome.reference === undefined ? {} : { reference: outcome.reference }),
          };
    case 'rejected':
      return { kind: 'unanswered', detail: `the question was refused: ${outcome.code}` };
    case 'unavailable':
      return { kind: 'unanswered', detail: outcome.detail, ...ifDefined(outcome.retryAfterMs) };
  }
}

/** After a cancel that brought no proof: what the intent itself says. */
export function judgeVoid(retrieved: Exchange, reference: string, nowMs: number): VoidOutcome {
  const { result } = retrieved;
  const intent = intentOf(retrieved);
  if (intent?.id === reference) {
    if (intent.status === 'canceled') return { kind: 'voided' };
    if (intent.status === 'succeeded') return { kind: 'refused', detail: 'the gateway says it was captured' };
    return { kind: 'unanswered', detail: 'the gateway still has the authorization' };
  }
  if (result.kind === 'answered' && result.status === 404 && readError(result) !== undefined) {
    return { kind: 'refused', detail: 'the gateway does not know the authorization' };
  }
  return unanswered(retrieved, nowMs);
}

function intentOf({ result }: Exchange): IntentAnswer | undefined {
  return result.kind === 'answered' && result.status === 200 ? readIntent(result) : undefined;
}

function unanswered({ result }: Exchange, nowMs: number): Unanswered {
  switch (result.kind) {
    case 'failed':
      return { kind: 'unanswered', detail: `no answer came: ${result.code}` };
    case 'cut_short':
      return { kind: 'unanswered', detail: `the body of HTTP ${result.status} did not come whole` };
    case 'answered': {
      const wait = retryAfterMs(result.headers['retry-after'], nowMs);
      return { kind: 'unanswered', detail: `HTTP ${result.status} and no usable answer`, ...ifDefined(wait) };
    }
  }
}
