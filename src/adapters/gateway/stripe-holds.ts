/** Stripe's own list of what it authorized, page by page. */
import type { Secret } from '../../domain/card.ts';
import type { GatewayHold, GatewayHolds } from '../../ports/gateway-holds.ts';
import { pause, type Clock } from '../../topology/clock.ts';
import { RetriableError } from '../../topology/errors.ts';
import { fromGatewayUnits } from './amount-rules.ts';
import { checkApiKey, CONNECT_TIMEOUT_MS, readBaseUrl } from './endpoint.ts';
import { createHttpClient } from './http-client.ts';
import type { Exchange } from './http-exchange.ts';
import { retryAfterMs } from './retry-after.ts';
import { STRIPE_AMOUNTS } from './stripe-amounts.ts';
import { readIntentPage, type IntentAnswer } from './stripe-answer.ts';
import { listRequest } from './stripe-dialect.ts';
import { wallIn } from './wall.ts';

const STRIPE_BASE_URL = 'https://api.stripe.com';

/** Waits before a page is asked for again; it changes nothing, so that is always safe. */
const WAITS_MS: readonly number[] = [500, 2_000, 8_000];

export interface StripeHoldsOptions {
  readonly baseUrl?: string | undefined;
  readonly apiKey: Secret;
  /** The hard wall over one page. */
  readonly wallMs: number;
  readonly clock: Clock;
}

export function createStripeHolds(options: StripeHoldsOptions): GatewayHolds & { close(): Promise<void> } {
  const { apiKey, wallMs, clock } = options;
  const { origin, pathPrefix } = readBaseUrl(options.baseUrl ?? STRIPE_BASE_URL);
  checkApiKey(apiKey);
  const connectTimeoutMs = Math.min(CONNECT_TIMEOUT_MS, wallMs);
  const http = createHttpClient({ origin, connections: 1, connectTimeoutMs });

  async function pageAfter(created: Created, last: string | undefined) {
    const request = listRequest(created, last, apiKey);
    for (let tries = 0; ; tries += 1) {
      const exchange = await http.get({ ...request, path: pathPrefix + request.path }, wallIn(wallMs));
      const page = pageOf(exchange);
      if (page !== undefined) return page;
      const waitMs = WAITS_MS[tries];
      if (waitMs === undefined || isRefused(exchange)) throw unreadable(exchange);
      await pause(clock, Math.max(waitMs, askedFor(exchange, clock) ?? 0));
    }
  }

  return {
    name: 'stripe',
    async *list({ fromMs, toMs }) {
      const created = { gte: Math.floor(fromMs / 1000), lte: Math.ceil(toMs / 1000) };
      let last: string | undefined;
      for (;;) {
        const { intents, hasMore } = await pageAfter(created, last);
        for (const intent of intents) yield holdOf(intent);
        const end = intents.at(-1)?.id;
        if (!hasMore || end === undefined) return;
        last = end;
      }
    },
    close: () => http.close(),
  };
}

interface Created {
  readonly gte: number;
  readonly lte: number;
}

function pageOf({ result }: Exchange) {
  return result.kind === 'answered' && result.status === 200 ? readIntentPage(result) : undefined;
}

/** The question itself is wrong, or the key: asking again changes nothing. */
function isRefused({ result }: Exchange): boolean {
  return result.kind !== 'failed' && result.status >= 300 && result.status < 500 && result.status !== 429;
}

function askedFor({ result }: Exchange, clock: Clock): number | undefined {
  return result.kind === 'failed' ? undefined : retryAfterMs(result.headers['retry-after'], clock.wallMs());
}

function unreadable({ result }: Exchange): RetriableError {
  const what = result.kind === 'failed' ? 'it cannot be reached' : `HTTP ${result.status} and no list`;
  return new RetriableError(`the gateway's list could not be read to its end: ${what}`, {
    errorClass: 'gateway',
  });
}

function holdOf(intent: IntentAnswer): GatewayHold {
  const currency = intent.currency.toUpperCase();
  return {
    reference: intent.id,
    orderId: intent.metadata.order_id,
    idempotencyKey: intent.metadata.idempotency_key,
    amountMinor: fromGatewayUnits({ amountMinor: BigInt(amountOf(intent)), currency }, STRIPE_AMOUNTS),
    currency,
    state: stateOf(intent.status),
    createdAtMs: (intent.created ?? 0) * 1000,
  };
}

/** A partial approval holds less than the intent is about. */
function amountOf({ status, amount, amount_capturable: capturable }: IntentAnswer): number {
  return status === 'requires_capture' ? (capturable ?? amount) : amount;
}

function stateOf(status: string): GatewayHold['state'] {
  if (status === 'requires_capture' || status === 'succeeded') return 'held';
  return status === 'canceled' || status === 'requires_payment_method' ? 'released' : 'open';
}
