import type { Secret } from '../../domain/card.ts';
import type { Order } from '../../domain/order.ts';
import type { AuthorizationOutcome } from '../../domain/outcome.ts';
import type { AuthorizationRequest, Gateway } from '../../ports/gateway.ts';
import type { Log } from '../../ports/log.ts';
import { AMOUNT_NOT_EXPRESSIBLE, inGatewayUnits } from './amount-rules.ts';
import { checkApiKey, CONNECT_TIMEOUT_MS, readBaseUrl } from './endpoint.ts';
import { createHttpClient } from './http-client.ts';
import type { Exchange, PostRequest } from './http-exchange.ts';
import { afterResend, type Judgement } from './judgement.ts';
import { STRIPE_AMOUNTS } from './stripe-amounts.ts';
import { authorizationRequest, cancelRequest } from './stripe-dialect.ts';
import { isCancelled, judge } from './stripe-outcome.ts';

const STRIPE_BASE_URL = 'https://api.stripe.com';

export interface StripeGatewayOptions {
  /** The gateway's URL, a path before `/v1` included; http or https. Default: Stripe's own. */
  readonly baseUrl?: string | undefined;
  readonly apiKey: Secret;
  /**
   * The hard wall over one `authorize`: waiting for a connection, the request, the resend after a 500 and a cancel.
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

export interface StripeGateway extends Gateway {
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

  async function authorize(request: AuthorizationRequest): Promise<AuthorizationOutcome> {
    const { idempotencyKey } = request;
    const order = inGatewayUnits(request.order, STRIPE_AMOUNTS);
    if (order === undefined) return AMOUNT_NOT_EXPRESSIBLE;
    const wall = AbortSignal.timeout(wallMs);
    const first = await ask(order, idempotencyKey, wall);
    const judgement =
      first.kind === 'resend' ? afterResend(await ask(order, idempotencyKey, wall), first.otherwise) : first;
    const outcome = await settle(judgement, order, idempotencyKey, wall);
    reportUnknownCode(outcome, order, log);
    return outcome;
  }

  async function ask(order: Order, idempotencyKey: string, wall: AbortSignal): Promise<Judgement> {
    const exchange = await post(authorizationRequest(order, idempotencyKey, apiKey), wall);
    return judge(exchange, order.terms, nowMs());
  }

  async function settle(
    judgement: Judgement,
    order: Order,
    idempotencyKey: string,
    wall: AbortSignal,
  ): Promise<AuthorizationOutcome> {
    if (judgement.kind === 'settled') return judgement.outcome;
    if (judgement.kind === 'resend') return judgement.otherwise;
    const { reference, confirmed, otherwise } = judgement;
    const cancelled = isCancelled(
      await post(cancelRequest(reference, idempotencyKey, apiKey), wall),
      reference,
    );
    reportCancel(cancelled, reference, order, log);
    return cancelled ? confirmed : otherwise;
  }

  function post(request: PostRequest, wall: AbortSignal): Promise<Exchange> {
    return http.post({ ...request, path: pathPrefix + request.path }, wall);
  }

  return { authorize, close: () => http.close() };
}

function reportUnknownCode(outcome: AuthorizationOutcome, order: Order, log: Log): void {
  if (outcome.kind !== 'declined' || outcome.class !== 'unknown') return;
  const fields = { orderId: order.terms.orderId, code: outcome.code };
  log.warn(fields, 'declined with a code that nobody knows: class it in stripe-declines.ts');
}

function reportCancel(cancelled: boolean, reference: string, order: Order, log: Log): void {
  const fields = { orderId: order.terms.orderId, reference };
  if (cancelled) log.info(fields, 'the payment intent was cancelled at the gateway');
  else log.warn(fields, 'cancelling the payment intent is not confirmed: it may still hold money');
}
