/**
 * The two dialects that the gateway speaks. A request says by its path which one it is in; between reading it and
 * writing the answer there is one gateway with one store, one ledger and one set of keys. What tells the dialects
 * apart inside: the parameters of a charge, the limits and the comparison of keys, and what can be voided.
 */
import { renderAdyen } from './adyen-answer.ts';
import { readAdyenRequest } from './adyen-request.ts';
import { render, type Answer, type Rendered } from './answer.ts';
import { ADYEN_PATH } from './fault-script.ts';
import { readStripeRequest, type GatewayRequest, type RawRequest } from './gateway-request.ts';

export function readRequest(raw: RawRequest): GatewayRequest {
  return ADYEN_PATH.test(raw.target) ? readAdyenRequest(raw) : readStripeRequest(raw);
}

export function renderFor(dialect: GatewayRequest['dialect'], answer: Answer): Rendered {
  return dialect === 'adyen' ? renderAdyen(answer) : render(answer);
}

export function withDialectHeaders(
  { status, headers, body }: Rendered,
  { dialect, idempotencyKey, stripeVersion }: GatewayRequest,
  { requestId, replayed }: { requestId: string; replayed: boolean },
): Rendered {
  const added: Record<string, string> = {};
  if (idempotencyKey !== undefined) added['Idempotency-Key'] = idempotencyKey;
  if (dialect === 'stripe') {
    added['Request-Id'] = requestId;
    if (stripeVersion !== undefined) added['Stripe-Version'] = stripeVersion;
    if (replayed) added['Idempotent-Replayed'] = 'true';
  }
  return { status, headers: { ...headers, ...added }, body };
}
