import type { Order } from '../../domain/order.ts';
import type { AuthorizationOutcome, InquiryOutcome, VoidOutcome } from '../../domain/outcome.ts';
import type { GatewayInquiry, VoidRequest } from '../../ports/gateway-inquiry.ts';
import type { AuthorizationRequest, Gateway } from '../../ports/gateway.ts';
import type { Log } from '../../ports/log.ts';
import { ADYEN_AMOUNTS } from './adyen-amounts.ts';
import { authorizationRequest, cancelRequest, type AdyenAccount } from './adyen-dialect.ts';
import { isCancelAccepted, judge } from './adyen-outcome.ts';
import { AMOUNT_NOT_EXPRESSIBLE, inGatewayUnits } from './amount-rules.ts';
import { checkApiKey, CONNECT_TIMEOUT_MS, readBaseUrl } from './endpoint.ts';
import { createHttpClient } from './http-client.ts';
import type { Exchange, PostRequest } from './http-exchange.ts';
import { afterResend, type Judgement } from './judgement.ts';
import { wallIn, type Wall } from './wall.ts';

export interface AdyenGatewayOptions extends AdyenAccount {
  /**
   * What comes before `/v72/payments`: `https://checkout-test.adyen.com`, or the merchant's own live address,
   * `https://<prefix>-checkout-live.adyenpayments.com/checkout`.
   */
  readonly baseUrl: string;
  /** The hard wall over one `authorize`: waiting for a connection, the request, a resend and a cancel share it. */
  readonly wallMs: number;
  /** Connections at most. */
  readonly connections: number;
  readonly log: Log;
  /** Milliseconds since the epoch, for a `Retry-After` that is a date. */
  readonly nowMs?: () => number;
}

/**
 * Adyen's Checkout API has no lookup by order: an order whose outcome is unknown is asked about by sending it again
 * with the same key, which Adyen answers as it did the first time for at least seven days, or parked.
 */
export interface AdyenGateway extends Gateway, GatewayInquiry {
  /** Resolves when the requests under way have ended; later ones are not sent. */
  close(): Promise<void>;
}

/** @throws Error when the URL or the key cannot be used; neither is quoted. */
export function createAdyenGateway(options: AdyenGatewayOptions): AdyenGateway {
  const { wallMs, connections, log, nowMs = Date.now } = options;
  const { origin, pathPrefix } = readBaseUrl(options.baseUrl);
  checkApiKey(options.apiKey);
  const connectTimeoutMs = Math.min(CONNECT_TIMEOUT_MS, wallMs);
  const http = createHttpClient({ origin, connections, connectTimeoutMs });

  async function authorize(request: AuthorizationRequest): Promise<AuthorizationOutcome> {
    const { idempotencyKey } = request;
    const order = inGatewayUnits(request.order, ADYEN_AMOUNTS);
    if (order === undefined) return AMOUNT_NOT_EXPRESSIBLE;
    const wall = wallIn(wallMs);
    const first = await ask(order, idempotencyKey, wall);
    const judgement =
      first.kind === 'resend' ? afterResend(await ask(order, idempotencyKey, wall), first.otherwise) : first;
    const outcome = await settle(judgement, order, idempotencyKey, wall);
    reportUnknownCode(outcome, order, log);
    return outcome;
  }

  async function ask(order: Order, idempotencyKey: string, wall: Wall): Promise<Judgement> {
    const exchange = await post(authorizationRequest(order, idempotencyKey, options), wall);
    return judge(exchange, order.terms, nowMs());
  }

  async function settle(
    judgement: Judgement,
    order: Order,
    idempotencyKey: string,
    wall: Wall,
  ): Promise<AuthorizationOutcome> {
    if (judgement.kind === 'settled') return judgement.outcome;
    if (judgement.kind === 'resend') return judgement.otherwise;
    const { reference, confirmed, otherwise } = judgement;
    const answer = await post(cancelRequest(reference, idempotencyKey, options), wall);
    const accepted = isCancelAccepted(answer, reference);
    reportCancel(accepted, reference, order, log);
    return accepted ? confirmed : otherwise;
  }

  function post(request: PostRequest, wall: Wall): Promise<Exchange> {
    return http.post({ ...request, path: pathPrefix + request.path }, wall);
  }

  async function voidHold({ reference, idempotencyKey }: VoidRequest): Promise<VoidOutcome> {
    const request = cancelRequest(reference, idempotencyKey, options);
    const answer = await post(request, wallIn(wallMs));
    return isCancelAccepted(answer, reference) ? TAKEN_ON : NOT_TAKEN_ON;
  }

  return { authorize, lookup: () => Promise.resolve(NO_LOOKUP), void: voidHold, close: () => http.close() };
}

const NO_LOOKUP: InquiryOutcome = {
  kind: 'undecided',
  cause: 'cannot_be_asked',
  detail: 'Adyen has no lookup by order: the same key, or a person',
};

/** Only the CANCELLATION webhook tells the end, and this worker does not hear it. */
const TAKEN_ON: VoidOutcome = {
  kind: 'refused',
  detail: 'Adyen takes the cancelling on and confirms it by webhook only: look there',
};

const NOT_TAKEN_ON: VoidOutcome = { kind: 'unanswered', detail: 'Adyen did not take the cancelling on' };

function reportUnknownCode(outcome: AuthorizationOutcome, order: Order, log: Log): void {
  if (outcome.kind !== 'declined' || outcome.class !== 'unknown') return;
  const fields = { orderId: order.terms.orderId, code: outcome.code };
  log.warn(fields, 'declined with a code that nobody knows: class it in adyen-refusals.ts');
}

function reportCancel(accepted: boolean, reference: string, order: Order, log: Log): void {
  const fields = { orderId: order.terms.orderId, reference };
  if (accepted)
    log.info(fields, 'the gateway takes the cancelling on; its CANCELLATION webhook tells the end');
  else log.warn(fields, 'cancelling the payment is not confirmed: it may still hold money');
}
