/** A request in Adyen's dialect, taken apart: `POST /payments` and `POST /payments/{pspReference}/cancels`. */
import { z } from 'zod';
import { ADYEN_PATH } from './fault-script.ts';
import type { FormParams } from './form.ts';
import { single, type GatewayRequest, type Operation, type RawRequest } from './gateway-request.ts';
import { cardOfToken } from './issuer.ts';

export function readAdyenRequest({ method, target: path, headers, body }: RawRequest): GatewayRequest {
  const json = parseJson(body);
  const sketch = chargeSketch.safeParse(json).data;
  const cardNumber = sketch?.paymentMethod?.number;
  const token = sketch?.paymentMethod?.storedPaymentMethodId;
  return {
    dialect: 'adyen',
    method,
    path,
    operation: operationOf(method, path),
    params: flatten(json),
    json,
    chargedOrderId: sketch?.merchantOrderReference ?? sketch?.reference,
    authorization: undefined,
    apiKey: single(headers['x-api-key']),
    stripeVersion: undefined,
    idempotencyKey: single(headers['idempotency-key']),
    cardNumber,
    last4: (cardNumber ?? (token === undefined ? undefined : cardOfToken(token)?.number))?.slice(-4),
  };
}

/** As much of a charge as faults and the request log go by, whether the rest of it is valid or not. */
const chargeSketch = z.object({
  reference: z.string().optional().catch(undefined),
  merchantOrderReference: z.string().optional().catch(undefined),
  paymentMethod: z
    .object({ number: z.string().optional(), storedPaymentMethodId: z.string().optional() })
    .optional()
    .catch(undefined),
});

function operationOf(method: string, path: string): Operation {
  if (method !== 'POST') return { name: 'unknown' };
  const intentId = ADYEN_PATH.exec(path)?.groups?.['pspReference'];
  return intentId === undefined ? { name: 'charge' } : { name: 'cancel', intentId };
}

/** undefined for what is no JSON; V8's own error would quote the card. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function flatten(value: unknown): FormParams {
  const params = new Map<string, string>();
  addFlat(value, '', params);
  return params;
}

function addFlat(value: unknown, name: string, params: Map<string, string>): void {
  if (typeof value !== 'object' || value === null) {
    if (name !== '') params.set(name, String(value));
    return;
  }
  for (const [key, inner] of Object.entries(value)) {
    addFlat(inner, name === '' ? key : `${name}[${key}]`, params);
  }
}
