import type { Contradicted, Unknown } from '../../domain/outcome.ts';
import type { Answered } from './http-exchange.ts';
import { ifDefined, settled, unavailable, unknown } from './judgement.ts';
import type { Asked, Judgement } from './judgement.ts';
import { retryAfterMs } from './retry-after.ts';
import { isGatewayWord, readError } from './stripe-answer.ts';
import type { ErrorAnswer, IntentAnswer } from './stripe-answer.ts';
import { declineClass, declineReason, networkWaitMs } from './stripe-declines.ts';

// --- an intent ---------------------------------------------------------------------------------------------------

/** The rows for an answer with 2xx; `intent` is undefined when there was none to read. */
export function judgeIntent(intent: IntentAnswer | undefined, asked: Asked): Judgement {
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
      class: declineClass('authentication_required'),
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

/** The rows for an answer with 4xx that depend on its body. */
export function judgeError(answered: Answered, asked: Asked, nowMs: number): Judgement {
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
    class: declineClass(code, error),
    code,
    ...ifDefined(networkWaitMs(error)),
    ...(intent === undefined ? {} : { reference: intent.id }),
  });
}

function isAboutCardField({ param }: ErrorAnswer): boolean {
  return param !== undefined && /^(payment_method_data\[card\]|card)\[/.test(param);
}
