/** One request to the API, taken apart but not judged. Lives in memory only: it holds the card. */
import { parseForm, type FormParams } from './form.ts';
import { CHARGE_PATH } from './fault-script.ts';
import { cardOfToken } from './issuer.ts';

export interface GatewayRequest {
  readonly dialect: 'stripe' | 'adyen';
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  /** The body's parameters for POST, the query's for GET; of JSON, with `a[b]` for what is nested. */
  readonly params: FormParams;
  /** The body of a request in Adyen's dialect; undefined when it is no JSON. */
  readonly json?: unknown;
  /** The order that a charge is for, as far as it says so. */
  readonly chargedOrderId: string | undefined;
  readonly authorization: string | undefined;
  /** Of Adyen's dialect. */
  readonly apiKey?: string | undefined;
  readonly stripeVersion: string | undefined;
  /** POST only: the header means nothing on GET. */
  readonly idempotencyKey: string | undefined;
  readonly cardNumber: string | undefined;
  /** Of the card, or of the card behind a test token. */
  readonly last4: string | undefined;
}

export type Operation =
  | { readonly name: 'charge' | 'list' | 'search' | 'unknown' }
  | { readonly name: 'retrieve' | 'cancel'; readonly intentId: string };

export interface RawRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export function readStripeRequest(raw: RawRequest): GatewayRequest {
  const queryStart = raw.target.indexOf('?');
  const path = queryStart === -1 ? raw.target : raw.target.slice(0, queryStart);
  const query = queryStart === -1 ? '' : raw.target.slice(queryStart + 1);
  const params = parseForm(raw.method === 'POST' ? raw.body : query);
  const cardNumber = params.get('payment_method_data[card][number]');
  const token = params.get('payment_method');
  return {
    dialect: 'stripe',
    method: raw.method,
    path,
    operation: operationOf(raw.method, path),
    params,
    authorization: single(raw.headers['authorization']),
    stripeVersion: single(raw.headers['stripe-version']),
    idempotencyKey: raw.method === 'POST' ? single(raw.headers['idempotency-key']) : undefined,
    chargedOrderId: params.get('metadata[order_id]'),
    cardNumber,
    last4: (cardNumber ?? (token === undefined ? undefined : cardOfToken(token)?.number))?.slice(-4),
  };
}

function operationOf(method: string, path: string): Operation {
  if (path === CHARGE_PATH) {
    if (method === 'POST') return { name: 'charge' };
    return { name: method === 'GET' ? 'list' : 'unknown' };
  }
  const [, intentId, action] = /^\/v1\/payment_intents\/([^/]{1,255})(\/cancel)?$/.exec(path) ?? [];
  if (intentId === undefined) return { name: 'unknown' };
  if (method === 'POST') return action === undefined ? { name: 'unknown' } : { name: 'cancel', intentId };
  if (method !== 'GET' || action !== undefined) return { name: 'unknown' };
  return intentId === 'search' ? { name: 'search' } : { name: 'retrieve', intentId };
}

export function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
