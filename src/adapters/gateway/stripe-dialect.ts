import type Stripe from 'stripe';
import { Secret } from '../../domain/card.ts';
import type { Card } from '../../domain/card.ts';
import type { Order, PaymentMeans } from '../../domain/order.ts';
import type { GetRequest, PostRequest } from './http-exchange.ts';

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
    // The key tells the intents of an order apart when the gateway is asked for them (stripe-inquiry.ts).
    metadata: { order_id: orderId, idempotency_key: idempotencyKey },
    // With it comes until when the hold can be captured.
    expand: ['latest_charge'],
  };
  return post('/v1/payment_intents', params, idempotencyKey, apiKey);
}

/** The request that gives up an intent, and with it any hold it has; under a key of its own. */
export function cancelRequest(reference: string, idempotencyKey: string, apiKey: Secret): PostRequest {
  const params: CancelParams = { cancellation_reason: 'abandoned' };
  return post(`${intentPath(reference)}/cancel`, params, idempotencyKey, apiKey);
}

/** Source: https://docs.stripe.com/api/payment_intents/retrieve */
export function retrieveRequest(reference: string, apiKey: Secret): GetRequest {
  const params: RetrieveParams = { expand: ['latest_charge'] };
  return get(intentPath(reference), params, apiKey);
}

/** Most intents of one order that are looked at: more than one is rare, and a hundred is the API's page. */
const MOST_FOUND = 100;

/**
 * All intents of an order. The index lags, by a minute at most in normal times and more in an outage, so an intent that
 * is not found proves nothing. Source: https://docs.stripe.com/search, https://docs.stripe.com/api/payment_intents/search
 */
export function searchRequest(orderId: string, apiKey: Secret): GetRequest {
  const quoted = orderId.replace(/['\\]/g, (sign) => `\\${sign}`);
  const params: SearchParams = {
    query: `metadata['order_id']:'${quoted}'`,
    limit: MOST_FOUND,
    expand: ['data.latest_charge'],
  };
  return get('/v1/payment_intents/search', params, apiKey);
}

/** As many as the API gives at once. */
const PAGE_LENGTH = 100;

/** A page of all intents created in a range of seconds, newest first. Source: https://docs.stripe.com/api/payment_intents/list */
export function listRequest(
  created: { readonly gte: number; readonly lte: number },
  startingAfter: string | undefined,
  apiKey: Secret,
): GetRequest {
  const params: ListParams = {
    created,
    limit: PAGE_LENGTH,
    ...(startingAfter === undefined ? {} : { starting_after: startingAfter }),
  };
  return get('/v1/payment_intents', params, apiKey);
}

function intentPath(reference: string): string {
  return `/v1/payment_intents/${encodeURIComponent(reference)}`;
}

/** The official parameters, but for the amount, which is exact here, and the card, which the official type leaves out. */
type AuthorizationParams = Required<
  Pick<
    Stripe.PaymentIntentCreateParams,
    'currency' | 'capture_method' | 'confirm' | 'off_session' | 'allowed_payment_method_types' | 'expand'
  >
> &
  MeansParams & {
    readonly [Name in keyof Pick<Stripe.PaymentIntentCreateParams, 'amount'>]: bigint;
  } & { readonly metadata: { readonly order_id: string; readonly idempotency_key: string } };

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

type RetrieveParams = Required<Pick<Stripe.PaymentIntentRetrieveParams, 'expand'>>;

type SearchParams = Required<Pick<Stripe.PaymentIntentSearchParams, 'query' | 'limit' | 'expand'>>;

type ListParams = Pick<Stripe.PaymentIntentListParams, 'created' | 'limit' | 'starting_after'>;

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
      ...commonHeaders(apiKey),
      'content-type': 'application/x-www-form-urlencoded',
      'idempotency-key': idempotencyKey,
    },
    body: new Secret(formOf(params)),
  };
}

function get(path: string, params: RetrieveParams | SearchParams | ListParams, apiKey: Secret): GetRequest {
  return { path: `${path}?${formOf(params)}`, headers: commonHeaders(apiKey) };
}

function commonHeaders(apiKey: Secret): Readonly<Record<string, string>> {
  return {
    authorization: `Bearer ${apiKey.reveal()}`,
    accept: 'application/json',
    'stripe-version': STRIPE_API_VERSION,
    'user-agent': 'cardauth',
  };
}

/** `a[b]=c` pairs in the order of the fields, lists as `a[0]=b`: what the official client writes. */
function formOf(value: unknown, name = ''): string {
  // Names are fields of our own types: nothing in them needs an escape.
  if (typeof value !== 'object' || value === null) return `${name}=${encodeForm(String(value))}`;
  let form = '';
  for (const [key, inner] of Object.entries(value)) {
    const pairs = formOf(inner, name === '' ? key : `${name}[${key}]`);
    form = form === '' ? pairs : `${form}&${pairs}`;
  }
  return form;
}

function encodeForm(text: string): string {
  if (/^[\w.-]*$/.test(text)) return text;
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%5B/g, '[')
    .replace(/%5D/g, ']');
}
