import type { Secret } from '../../domain/card.ts';
import type { InquiryOutcome, VoidOutcome } from '../../domain/outcome.ts';
import type { Gateway } from '../../ports/gateway.ts';
import type { GatewayInquiry, LookupRequest, VoidRequest } from '../../ports/gateway-inquiry.ts';
import type { Log } from '../../ports/log.ts';
import { termsInGatewayUnits } from './amount-rules.ts';
import { authorizeBy, settleBy, type Dialect } from './authorization-flow.ts';
import { checkApiKey, CONNECT_TIMEOUT_MS, readBaseUrl } from './endpoint.ts';
import { createHttpClient } from './http-client.ts';
import type { Exchange, GetRequest, PostRequest } from './http-exchange.ts';
import { STRIPE_AMOUNTS } from './stripe-amounts.ts';
import { authorizationRequest, cancelRequest, retrieveRequest, searchRequest } from './stripe-dialect.ts';
import {
  asInquiryOutcome,
  judgeRetrieved,
  judgeSearch,
  judgeVoid,
  type InquiryJudgement,
} from './stripe-inquiry.ts';
import { isCancelled, judge } from './stripe-outcome.ts';
import { wallIn, type Wall } from './wall.ts';

export const STRIPE_BASE_URL = 'https://api.stripe.com';

export interface StripeGatewayOptions {
  /** The gateway's URL, a path before `/v1` included; http or https. Default: Stripe's own. */
  readonly baseUrl?: string | undefined;
  readonly apiKey: Secret;
  /**
   * The hard wall over one call. For `authorize` it covers waiting for a connection, the request, the resend after a 500 and a cancel.
   * They share it first come, first served: each of the later ones gets what is left. Whatever the wall cuts off is
   * taken up by the next same-key request, so no share has to be kept back for it.
   */
  readonly wallMs: number;
  /** Connections at most. */
  readonly connections: number;
  readonly log: Log;
  /** Milliseconds since the epoch, for a `Retry-After` that is a date. */
  readonly nowMs?: () => number;
}

export interface StripeGateway extends Gateway, GatewayInquiry {
  /** Resolves when the requests under way have ended; later ones are not sent. */
  close(): Promise<void>;
}

/** @throws Error when the URL or the key cannot be used; neither is quoted. */
export function createStripeGateway(options: StripeGatewayOptions): StripeGateway {
  const { apiKey, wallMs, connections, log, nowMs = Date.now } = options;
  const { origin, pathPrefix } = readBaseUrl(options.baseUrl ?? STRIPE_BASE_URL);
  checkApiKey(apiKey);
  const connectTimeoutMs = Math.min(CONNECT_TIMEOUT_MS, wallMs);
  const http = createHttpClient({ origin, connections, connectTimeoutMs });

  const dialect: Dialect = {
    amounts: STRIPE_AMOUNTS,
    declines: 'stripe-declines.ts',
    async ask(order, idempotencyKey, wall) {
      const exchange = await post(authorizationRequest(order, idempotencyKey, apiKey), wall);
      return judge(exchange, order.terms, nowMs());
    },
    async giveUp({ reference, orderId, idempotencyKey }, wall) {
      const cancelled = await cancel(reference, `${idempotencyKey}-void`, wall);
      reportCancel(cancelled, reference, orderId, log);
      return cancelled;
    },
  };

  async function cancel(reference: string, key: string, wall: Wall): Promise<boolean> {
    return isCancelled(await post(cancelRequest(reference, key, apiKey), wall), reference);
  }

  async function lookup(asked: LookupRequest): Promise<InquiryOutcome> {
    const terms = termsInGatewayUnits(asked.terms, STRIPE_AMOUNTS);
    if (terms === undefined) return NEVER_SENT;
    const request = { ...asked, terms };
    const wall = wallIn(wallMs);
    const judgement = await find(request, wall);
    if (!('otherwise' in judgement) && judgement.kind !== 'settled') return judgement;
    const payment = { orderId: terms.orderId, idempotencyKey: asked.idempotencyKey };
    return asInquiryOutcome(await settleBy(dialect, judgement, payment, wall));
  }

  async function find(request: LookupRequest, wall: Wall): Promise<InquiryJudgement> {
    const { terms, idempotencyKey, reference } = request;
    if (reference !== undefined) {
      return judgeRetrieved(await get(retrieveRequest(reference, apiKey), wall), terms, nowMs());
    }
    const found = await get(searchRequest(terms.orderId, apiKey), wall);
    return judgeSearch(found, terms, idempotencyKey, nowMs());
  }

  async function voidHold({ reference, idempotencyKey }: VoidRequest): Promise<VoidOutcome> {
    const wall = wallIn(wallMs);
    if (await cancel(reference, idempotencyKey, wall)) return { kind: 'voided' };
    return judgeVoid(await get(retrieveRequest(reference, apiKey), wall), reference, nowMs());
  }

  function post(request: PostRequest, wall: Wall): Promise<Exchange> {
    return http.post({ ...request, path: pathPrefix + request.path }, wall);
  }

  function get(request: GetRequest, wall: Wall): Promise<Exchange> {
    return http.get({ ...request, path: pathPrefix + request.path }, wall);
  }

  return {
    authorize: (request) => authorizeBy(dialect, request, wallIn(wallMs), log),
    lookup,
    void: voidHold,
    close: () => http.close(),
  };
}

/** What the gateway cannot express was rejected here. */
const NEVER_SENT: InquiryOutcome = {
  kind: 'undecided',
  cause: 'cannot_be_asked',
  detail: 'the gateway cannot express the amount, so it was never asked for',
};

function reportCancel(cancelled: boolean, reference: string, orderId: string, log: Log): void {
  const fields = { orderId, reference };
  if (cancelled) log.info(fields, 'the payment intent was cancelled at the gateway');
  else log.warn(fields, 'cancelling the payment intent is not confirmed: it may still hold money');
}
