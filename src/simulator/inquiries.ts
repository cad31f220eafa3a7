/** The ways to ask for what is already there: by id, by order, page by page. */
import { badRequest, type Answer, type ErrorAnswer } from './answer.ts';
import type { FormParams } from './form.ts';
import type { GatewayRequest } from './gateway-request.ts';
import type { IntentStore } from './intent-store.ts';
import type { Intent } from './payment-intent.ts';
import { noSuchIntent } from './void.ts';

export function retrieve(intentId: string, intents: IntentStore): Answer {
  const intent = intents.get(intentId);
  return intent === undefined ? noSuchIntent(intentId) : { kind: 'intent', intent };
}

/** @param indexedUntilMs intents created later are not in the index yet. */
export function search(params: FormParams, intents: IntentStore, indexedUntilMs: number): Answer {
  const orderId = searchedOrderId(params);
  if (orderId === undefined) {
    return badRequest("The simulator searches for metadata['order_id']:'...' only.", 'query');
  }
  const limit = readLimit(params);
  if (typeof limit !== 'number') return limit;
  const found = intents.ofOrder(orderId).filter(({ createdAtMs }) => createdAtMs <= indexedUntilMs);
  return { kind: 'search', intents: found.slice(0, limit), hasMore: found.length > limit };
}

/** https://docs.stripe.com/search#search-query-language, one clause of it. */
export function searchedOrderId(params: FormParams): string | undefined {
  const query = params.get('query') ?? '';
  const clause =
    /^\s*metadata\[(['"])order_id\1\]\s*:\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*$/.exec(query);
  const quoted = clause?.[2] ?? clause?.[3];
  return quoted?.replaceAll(/\\(.)/g, '$1');
}

export function list(params: FormParams, intents: IntentStore): Answer {
  const limit = readLimit(params);
  if (typeof limit !== 'number') return limit;
  const created = readCreated(params);
  if (!('fits' in created)) return created;
  const page = intents.page(limit, params.get('starting_after'), created.fits);
  if (page === undefined) return badRequest('No such payment_intent.', 'starting_after', 'resource_missing');
  return { kind: 'list', url: '/v1/payment_intents', ...page };
}

/** `created` is a time in seconds or a range of them: https://docs.stripe.com/api/payment_intents/list */
function readCreated(params: FormParams): { fits: (intent: Intent) => boolean } | ErrorAnswer {
  const bounds: ((createdSeconds: number) => boolean)[] = [];
  for (const [name, test] of Object.entries(CREATED_TESTS)) {
    const text = params.get(name);
    if (text === undefined) continue;
    if (!/^\d{1,12}$/.test(text)) return badRequest(`Invalid timestamp: must be seconds.`, name);
    bounds.push((created) => test(created, Number(text)));
  }
  return {
    fits: ({ createdAtMs }) => bounds.every((isWithin) => isWithin(Math.floor(createdAtMs / 1000))),
  };
}

const CREATED_TESTS: Readonly<Record<string, (created: number, bound: number) => boolean>> = {
  created: (created, bound) => created === bound,
  'created[gt]': (created, bound) => created > bound,
  'created[gte]': (created, bound) => created >= bound,
  'created[lt]': (created, bound) => created < bound,
  'created[lte]': (created, bound) => created <= bound,
};

export function unknownUrl({ method, path }: GatewayRequest): ErrorAnswer {
  const message = `Unrecognized request URL (${method}: ${path.slice(0, 100)}).`;
  return { kind: 'error', status: 404, error: { type: 'invalid_request_error', message } };
}

function readLimit(params: FormParams): number | ErrorAnswer {
  const text = params.get('limit') ?? '10';
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= 100
    ? limit
    : badRequest('Invalid limit: must be 1 to 100.', 'limit', 'parameter_invalid_integer');
}
