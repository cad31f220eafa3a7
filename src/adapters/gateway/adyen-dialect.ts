import { hash } from 'node:crypto';
import type { AdditionalDataCommon } from '@adyen/api-library/lib/src/typings/checkout/additionalDataCommon.js';
import type { CardDetails } from '@adyen/api-library/lib/src/typings/checkout/cardDetails.js';
import type { PaymentCancelRequest } from '@adyen/api-library/lib/src/typings/checkout/paymentCancelRequest.js';
import type { PaymentRequest } from '@adyen/api-library/lib/src/typings/checkout/paymentRequest.js';
import { stringify } from 'lossless-json';
import { Secret } from '../../domain/card.ts';
import type { Card } from '../../domain/card.ts';
import type { Order } from '../../domain/order.ts';
import type { PostRequest } from './http-exchange.ts';

/** The Checkout API whose shapes are read and written here; a test holds it to the official client's. */
export const ADYEN_API_VERSION = 'v72';

/** Who asks. */
export interface AdyenAccount {
  readonly apiKey: Secret;
  readonly merchantAccount: string;
}

/**
 * The request that asks for a hold on the card: authorized, captured by hand, with nobody there to answer a challenge.
 * Byte-identical for the same order and account. The amount is in Adyen's units already (amount-rules.ts).
 * Source: https://docs.adyen.com/api-explorer/Checkout/72/post/payments; names and types are the official client's.
 */
export function authorizationRequest(
  order: Order,
  idempotencyKey: string,
  account: AdyenAccount,
): PostRequest {
  const { orderId, amountMinor, currency } = order.terms;
  const params: AuthorizationParams = {
    merchantAccount: account.merchantAccount,
    amount: { currency, value: amountMinor },
    reference: referenceOf(orderId),
    merchantOrderReference: orderId,
    ...meansParams(order),
    authenticationData: { attemptAuthentication: 'never' },
    additionalData: { manualCapture: 'true' },
    returnUrl: NOBODY_RETURNS,
  };
  return post('/payments', params, idempotencyKey, account.apiKey);
}

/**
 * The request that gives up an authorization; under a key of its own. Adyen only acknowledges it: whether the hold is
 * gone is said by a webhook later. Source: https://docs.adyen.com/api-explorer/Checkout/72/post/payments/(paymentPspReference)/cancels
 */
export function cancelRequest(
  pspReference: string,
  idempotencyKey: string,
  account: AdyenAccount,
): PostRequest {
  const params: CancelParams = { merchantAccount: account.merchantAccount };
  const path = `/payments/${encodeURIComponent(pspReference)}/cancels`;
  return post(path, params, `${idempotencyKey}-cancel`, account.apiKey);
}

/**
 * The order's id as Adyen's `reference`, which has at most 80 characters: longer ids go as their SHA-256. The whole id
 * is in `merchantOrderReference`, for people.
 */
export function referenceOf(orderId: string): string {
  return orderId.length <= MAX_REFERENCE_LENGTH ? orderId : `order-sha256-${hash('sha256', orderId)}`;
}

const MAX_REFERENCE_LENGTH = 80;

/**
 * The order's key as Adyen's idempotency key, which has at most 64 characters: a longer one goes as its SHA-256, which
 * has 64. It is a function of the stored key and nothing else, so a resend uses the same one; and no stored key looks
 * like a hash, so no two orders share one. Source: https://docs.adyen.com/development-resources/api-idempotency
 */
export function wireKey(idempotencyKey: string): string {
  return idempotencyKey.length <= MAX_KEY_LENGTH ? idempotencyKey : hash('sha256', idempotencyKey);
}

const MAX_KEY_LENGTH = 64;

/** Adyen demands an address for redirects. `.invalid` never resolves (RFC 6761): nobody is redirected. */
const NOBODY_RETURNS = 'https://cardauth.invalid/';

/** An official type as we write it: numbers exact, enumerations as their texts. */
type Written<T> = T extends number
  ? bigint
  : T extends string
    ? `${T}`
    : { readonly [Name in keyof T]: Written<T[Name]> };

type AuthorizationParams = MeansParams &
  Written<
    Required<
      Pick<
        PaymentRequest,
        | 'merchantAccount'
        | 'amount'
        | 'reference'
        | 'merchantOrderReference'
        | 'authenticationData'
        | 'returnUrl'
      >
    >
  > & { readonly additionalData: Written<Required<Pick<AdditionalDataCommon, 'manualCapture'>>> };

type MeansParams = { readonly paymentMethod: CardParams | TokenParams } & Written<
  Pick<PaymentRequest, 'shopperInteraction' | 'recurringProcessingModel' | 'shopperReference'>
>;

type CardParams = Written<
  Required<Pick<CardDetails, 'type' | 'number' | 'expiryMonth' | 'expiryYear'>> & Pick<CardDetails, 'cvc'>
>;

type TokenParams = Written<Required<Pick<CardDetails, 'type' | 'storedPaymentMethodId'>>>;

type CancelParams = Written<Required<Pick<PaymentCancelRequest, 'merchantAccount'>>>;

/** A stored card belongs to a shopper at Adyen: the order's customer. */
function meansParams({ means, terms }: Order): MeansParams {
  return means.kind === 'token'
    ? {
        paymentMethod: { type: 'scheme', storedPaymentMethodId: means.paymentMethod },
        shopperInteraction: 'ContAuth',
        recurringProcessingModel: 'CardOnFile',
        shopperReference: terms.customerId,
      }
    : { paymentMethod: cardParams(means.card), shopperInteraction: 'Ecommerce' };
}

function cardParams(card: Card): CardParams {
  return {
    type: 'scheme',
    number: card.number.reveal(),
    expiryMonth: String(card.expiryMonth).padStart(2, '0'),
    expiryYear: String(card.expiryYear),
    ...(card.cvv === undefined ? {} : { cvc: card.cvv.reveal() }),
  };
}

function post(
  path: string,
  params: AuthorizationParams | CancelParams,
  idempotencyKey: string,
  apiKey: Secret,
): PostRequest {
  return {
    path: `/${ADYEN_API_VERSION}${path}`,
    headers: {
      'x-api-key': apiKey.reveal(),
      accept: 'application/json',
      'content-type': 'application/json',
      'idempotency-key': wireKey(idempotencyKey),
      'user-agent': 'cardauth',
    },
    body: new Secret(writeJson(params)),
  };
}

/** Amounts beyond 2^53 included: JSON.stringify knows no bigint. */
function writeJson(params: AuthorizationParams | CancelParams): string {
  return stringify(params) ?? '';
}
