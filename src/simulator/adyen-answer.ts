/**
 * What the gateway has to say, in Adyen's dialect: results and refusals come with 200, errors with another status.
 * Result codes: https://docs.adyen.com/online-payments/build-your-integration/payment-result-codes
 */
import type { Answer, ErrorAnswer, Rendered } from './answer.ts';
import type { Decline } from './issuer.ts';
import type { Intent, IntentStatus } from './payment-intent.ts';

export function renderAdyen(answer: Answer): Rendered {
  switch (answer.kind) {
    case 'intent':
      return answer.intent.status === 'canceled'
        ? json(201, cancelBody(answer.intent))
        : json(200, paymentBody(answer.intent));
    case 'declined':
      return renderDecline(answer.intent);
    case 'error':
      return renderError(answer);
    case 'list':
    case 'search':
      throw new Error(`a ${answer.kind} of payments was asked for, and Adyen has none`);
  }
}

/** @param errorCode of https://docs.adyen.com/development-resources/error-codes */
export function adyenError(status: number, errorCode: string, message: string): ErrorAnswer {
  return { kind: 'error', status, error: { type: 'invalid_request_error', code: errorCode, message } };
}

export function noSuchPayment(): ErrorAnswer {
  return adyenError(422, '167', 'Original pspReference required for this operation');
}

/** A payment's result; a test holds it to the official client's type. */
export function paymentBody(intent: Intent) {
  const partial = intent.heldMinor > 0 && intent.heldMinor < intent.amountMinor;
  if (intent.status === 'requires_action') return challengeBody(intent);
  return {
    pspReference: intent.id,
    resultCode: partial ? 'PartiallyAuthorised' : RESULT_CODES[intent.status],
    amount: {
      currency: intent.currency.toUpperCase(),
      value: partial ? intent.heldMinor : intent.amountMinor,
    },
    merchantReference: intent.metadata['reference'] ?? '',
    paymentMethod: { type: 'scheme' },
  };
}

const RESULT_CODES: Readonly<Record<IntentStatus, string>> = {
  requires_capture: 'Authorised',
  succeeded: 'Authorised',
  processing: 'Pending',
  requires_action: 'ChallengeShopper',
  requires_payment_method: 'Refused',
  requires_confirmation: 'Received',
  canceled: 'Cancelled',
  /** A result that Adyen does not have. */
  requires_oracle: 'OracleConsulted',
};

/** Without a pspReference: Adyen gives one when the shopper has acted. */
function challengeBody({ id }: Intent) {
  return {
    resultCode: RESULT_CODES.requires_action,
    action: {
      type: 'threeDS2',
      subtype: 'challenge',
      paymentMethodType: 'scheme',
      paymentData: `simulated-${id}`,
      token: 'c2ltdWxhdGVk',
    },
  };
}

/** Adyen only acknowledges, and tells the end in a webhook. */
export function cancelBody({ id, metadata }: Intent) {
  return {
    merchantAccount: metadata['merchant_account'] ?? '',
    paymentPspReference: id,
    pspReference: `C${id.slice(1)}`,
    status: 'received',
  } as const;
}

function renderDecline(intent: Intent): Rendered {
  const { decline } = intent;
  if (decline === undefined) throw new Error(`payment ${intent.id} was answered as declined, but is not`);
  const error = CARD_ERRORS[decline.code];
  if (error !== undefined) return renderError(adyenError(422, ...error));
  const [refusalReasonCode, refusalReason] = refusalOf(decline);
  const resultCode = refusalReasonCode === '4' ? 'Error' : 'Refused';
  return json(200, { ...paymentBody(intent), resultCode, refusalReason, refusalReasonCode });
}

/** A card that no issuer needs to be asked about. */
const CARD_ERRORS: Readonly<Record<string, readonly [errorCode: string, message: string]>> = {
  incorrect_number: ['101', 'Invalid card number'],
  invalid_cvc: ['103', 'CVC is not the right length'],
  invalid_expiry_month: ['129', 'Expiry Date Invalid'],
  invalid_expiry_year: ['129', 'Expiry Date Invalid'],
};

/** The issuer's word in Adyen's; else a code of the fault's own, or one that nobody knows. */
function refusalOf({ code, declineCode = code }: Decline): readonly [code: string, reason: string] {
  return REFUSALS[declineCode] ?? [/^\d+$/.test(declineCode) ? declineCode : '999', 'Unheard Of'];
}

/** https://docs.adyen.com/development-resources/refusal-reasons */
const REFUSALS: Readonly<Record<string, readonly [code: string, reason: string]>> = {
  generic_decline: ['2', 'Refused'],
  processing_error: ['4', 'Acquirer Error'],
  lost_card: ['5', 'Blocked Card'],
  stolen_card: ['5', 'Blocked Card'],
  expired_card: ['6', 'Expired Card'],
  insufficient_funds: ['12', 'Not enough balance'],
  incorrect_cvc: ['24', 'CVC Declined'],
  authentication_required: ['38', 'Authentication required'],
};

function renderError({ status, error, headers = {} }: ErrorAnswer): Rendered {
  const inUse = error.code === 'idempotency_key_in_use';
  const body = {
    status,
    errorCode: inUse ? '704' : errorCodeOf(error),
    message: inUse ? 'request already processed or in progress' : error.message,
    errorType: status >= 500 ? 'internal' : [401, 403].includes(status) ? 'security' : 'validation',
  };
  const retryAfter = headers['Retry-After'];
  return json(status, body, {
    ...(inUse ? { 'transient-error': 'true' } : {}),
    ...(retryAfter === undefined ? {} : { 'Retry-After': retryAfter }),
  });
}

/** Errors that are not of one dialect have Stripe's words. */
function errorCodeOf({ code = '', param }: ErrorAnswer['error']): string {
  if (param === 'payment_method_data[card][number]') return '101';
  return /^\d+(_\d+)?$/.test(code) ? code : '000';
}

function json(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Rendered {
  return {
    status,
    headers: { 'Content-Type': 'application/json;charset=UTF-8', ...headers },
    body: JSON.stringify(body),
  };
}
