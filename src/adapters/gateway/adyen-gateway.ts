import type { OrderId } from '../../domain/order.ts';
import type { InquiryOutcome, VoidOutcome } from '../../domain/outcome.ts';
import type { GatewayInquiry, VoidRequest } from '../../ports/gateway-inquiry.ts';
import type { Gateway } from '../../ports/gateway.ts';
import type { Log } from '../../ports/log.ts';
import { ADYEN_AMOUNTS } from './adyen-amounts.ts';
import { authorizationRequest, cancelRequest, type AdyenAccount } from './adyen-dialect.ts';
import { isCancelAccepted, judge } from './adyen-outcome.ts';
import { authorizeBy, type Dialect } from './authorization-flow.ts';
import { checkApiKey, CONNECT_TIMEOUT_MS, readBaseUrl } from './endpoint.ts';
import { createHttpClient } from './http-client.ts';
import type { Exchange, PostRequest } from './http-exchange.ts';
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

  const dialect: Dialect = {
    amounts: ADYEN_AMOUNTS,
    declines: 'adyen-refusals.ts',
    async ask(order, idempotencyKey, wall) {
      const exchange = await post(authorizationRequest(order, idempotencyKey, options), wall);
      return judge(exchange, order.terms, nowMs());
    },
    async giveUp({ reference, orderId, idempotencyKey }, wall) {
      const answer = await post(cancelRequest(reference, idempotencyKey, options), wall);
      const accepted = isCancelAccepted(answer, reference);
      reportCancel(accepted, reference, orderId, log);
      return accepted;
    },
  };

  function post(request: PostRequest, wall: Wall): Promise<Exchange> {
    return http.post({ ...request, path: pathPrefix + request.path }, wall);
  }

  async function voidHold({ reference, idempotencyKey }: VoidRequest): Promise<VoidOutcome> {
    const request = cancelRequest(reference, idempotencyKey, options);
    const answer = await post(request, wallIn(wallMs));
    return isCancelAccepted(answer, reference) ? TAKEN_ON : NOT_TAKEN_ON;
  }

  return {
    authorize: (request) => authorizeBy(dialect, request, wallIn(wallMs), log),
    lookup: () => Promise.resolve(NO_LOOKUP),
    void: voidHold,
    close: () => http.close(),
  };
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

function reportCancel(accepted: boolean, reference: string, orderId: OrderId, log: Log): void {
  const fields = { orderId, reference };
  if (accepted)
    log.info(fields, 'the gateway takes the cancelling on; its CANCELLATION webhook tells the end');
  else log.warn(fields, 'cancelling the payment is not confirmed: it may still hold money');
}
