/**
 * What the gateway has to say, before it becomes bytes. An answer is a pure value, so the one kept under an
 * idempotency key renders to the same bytes each time.
 *
 * Error shapes: https://docs.stripe.com/api/errors
 */
import { cardErrorBody, intentBody, type Intent } from './payment-intent.ts';

export type Answer =
  | { readonly kind: 'intent'; readonly intent: Intent }
  /** 402: the intent carries the decline. */
  | { readonly kind: 'declined'; readonly intent: Intent }
  | {
      readonly kind: 'list';
      readonly url: string;
      readonly intents: readonly Intent[];
      readonly hasMore: boolean;
    }
  | { readonly kind: 'search'; readonly intents: readonly Intent[]; readonly hasMore: boolean }
  | ErrorAnswer;

export interface ErrorAnswer {
  readonly kind: 'error';
  readonly status: number;
  readonly error: {
    readonly type: 'invalid_request_error' | 'idempotency_error' | 'api_error' | 'card_error';
    readonly message: string;
    readonly code?: string;
    readonly param?: string;
  };
  readonly headers?: Readonly<Record<string, string>>;
}

const DO_NOT_RETRY = { 'Stripe-Should-Retry': 'false' };

/** An answer as it goes out, but for the headers that belong to the connection. */
export interface Rendered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** `expandsCharge`: the request asked for the charge behind an intent instead of its id. */
export function render(answer: Answer, expandsCharge = false): Rendered {
  const body = (intent: Intent): object => intentBody(intent, expandsCharge);
  switch (answer.kind) {
    case 'intent':
      return json(200, body(answer.intent));
    case 'declined':
      return json(402, declineBody(answer.intent, body), DO_NOT_RETRY);
    case 'list':
      return json(200, {
        object: 'list',
        data: answer.intents.map(body),
        has_more: answer.hasMore,
        url: answer.url,
      });
    case 'search':
      return json(200, {
        object: 'search_result',
        data: answer.intents.map(body),
        has_more: answer.hasMore,
        next_page: null,
        url: '/v1/payment_intents/search',
      });
    case 'error':
      return json(answer.status, { error: answer.error }, answer.headers);
  }
}

/** A parameter is missing or wrong: 400, never stored under a key. */
export function badRequest(message: string, param?: string, code?: string): ErrorAnswer {
  return {
    kind: 'error',
    status: 400,
    error: {
      type: 'invalid_request_error',
      message,
      ...(code === undefined ? {} : { code }),
      ...(param === undefined ? {} : { param }),
    },
  };
}

export function notFound(message: string): ErrorAnswer {
  const error = {
    type: 'invalid_request_error',
    message,
    code: 'resource_missing',
    param: 'intent',
  } as const;
  return { kind: 'error', status: 404, error };
}

/** Cached under the key when it belongs to one, so the client is told that a retry changes nothing. */
export const INTERNAL_ERROR: ErrorAnswer = {
  kind: 'error',
  status: 500,
  error: { type: 'api_error', message: 'An unknown error occurred.' },
  headers: DO_NOT_RETRY,
};

/** https://docs.stripe.com/error-low-level: the client may try again, the other request is still running. */
export function keyInUse(key: string): ErrorAnswer {
  return {
    kind: 'error',
    status: 409,
    error: {
      type: 'invalid_request_error',
      code: 'idempotency_key_in_use',
      message:
        'There is currently another in-progress request using this Idempotent Key (that probably means you ' +
        `submitted twice, and the other request is still going through): ${key}. Please try again later.`,
    },
    headers: { 'Stripe-Should-Retry': 'true' },
  };
}

/** Stripe gives this error a type of its own and no code. */
export function keyMismatch(key: string): ErrorAnswer {
  return {
    kind: 'error',
    status: 400,
    error: {
      type: 'idempotency_error',
      message:
        'Keys for idempotent requests can only be used with the same parameters they were first used with. ' +
        `Try using a key other than '${key}' if you meant to execute a different request.`,
    },
    headers: DO_NOT_RETRY,
  };
}

function declineBody(intent: Intent, body: (intent: Intent) => object): object {
  if (intent.decline === undefined)
    throw new Error(`intent ${intent.id} was answered as declined, but is not`);
  const suffix = intent.id.slice('pi_'.length);
  return { error: { ...cardErrorBody(intent.decline, suffix), payment_intent: body(intent) } };
}

function json(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Rendered {
  return { status, headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(body) };
}
