import type Stripe from 'stripe';
import { Secret } from '../../domain/card.ts';
import type { Card } from '../../domain/card.ts';
import type { Order, PaymentMeans } from '../../domain/order.ts';
import type { PostRequest } from './http-exchange.ts';

/** The API version whose shapes are read and written here; the compiler holds it to the official client's. */
export const STRIPE_API_VERSION = '2026-10-28.endive' satisfies NonNullable<
  Stripe.StripeConfig['apiVersion']
>;

/**
 * The request that asks for a hold on the card: authorized, not captured, with nobody there to answer a challenge.
 * Byte-identical for the same order and key, as the gateway compares parameters under a key.
 * Source: https://docs.stripe.com/api/payment_intents/create; names and types are the official client's.
 */
export function authorizationRequest(order: Order, idempotencyKey: string, apiKey: Secret): PostRequest {
  const { orderId, amountMinor, currency } = order.terms;
  const params: AuthorizationParams = {
    amount: amountMinor,
    currency: currency.toLowerCase(),
    capture_method: 'manual',
    confirm: true,
    off_session: true,
    allowed_payment_method_types: ['card'],
    ...meansParams(order.means),
    metadata: { order_id: orderId },
  };
  return post('/v1/payment_intents', params, idempotencyKey, apiKey);
}

/** The request that gives up an intent, and with it any hold it has; under a key of its own. */
export function cancelRequest(reference: string, idempotencyKey: string, apiKey: Secret): PostRequest {
  const params: CancelParams = { cancellation_reason: 'abandoned' };
  return post(
    `/v1/payment_intents/${encodeURIComponent(reference)}/cancel`,
    params,
    `${idempotencyKey}-cancel`,
    apiKey,
  );
}

/** The official parameters, but for the amount, which is exact here, and the card, which the official type leaves out. */
type AuthorizationParams = Required<
  Pick<
    Stripe.PaymentIntentCreateParams,
    'currency' | 'capture_method' | 'confirm' | 'off_session' | 'allowed_payment_method_types'
  >
> &
  MeansParams & {
    readonly [Name in keyof Pick<Stripe.PaymentIntentCreateParams, 'amount'>]: bigint;
  } & { readonly metadata: { readonly order_id: string } };

type MeansParams =
  | Required<Pick<Stripe.PaymentIntentCreateParams, 'payment_method'>>
  | {
      readonly [Name in keyof Pick<Stripe.PaymentIntentCreateParams, 'payment_method_data'>]-?: {
        readonly type: 'card';
        readonly card: CardParams;
      };
    };

/** Raw card data needs an account that Stripe has enabled for it; the hash is that of a payment method's card. */
type CardParams = Required<Pick<Stripe.PaymentMethodCreateParams.Card, 'number' | 'exp_month' | 'exp_year'>> &
  Pick<Stripe.PaymentMethodCreateParams.Card, 'cvc'>;

type CancelParams = Required<Pick<Stripe.PaymentIntentCancelParams, 'cancellation_reason'>>;

function meansParams(means: PaymentMeans): MeansParams {
  return means.kind === 'token'
    ? { payment_method: means.paymentMethod }
    : { payment_method_data: { type: 'card', card: cardParams(means.card) } };
}

function cardParams(card: Card): CardParams {
  return {
    number: card.number.reveal(),
    exp_month: card.expiryMonth,
    exp_year: card.expiryYear,
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
    path,
    headers: {
      authorization: `Bearer ${apiKey.reveal()}`,
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      'idempotency-key': idempotencyKey,
      'stripe-version': STRIPE_API_VERSION,
      'user-agent': 'cardauth',
    },
    body: new Secret(formPairs(params).join('&')),
  };
}

/** `a[b]=c` pairs in the order of the fields, lists as `a[0]=b`: what the official client writes. */
function formPairs(value: unknown, name = ''): string[] {
  if (typeof value !== 'object' || value === null)
    return [`${encodeForm(name)}=${encodeForm(String(value))}`];
  return Object.entries(value).flatMap(([key, inner]) =>
    formPairs(inner, name === '' ? key : `${name}[${key}]`),
  );
}

function encodeForm(text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%5B/g, '[')
    .replace(/%5D/g, ']');
}
