/** What the gateway's books need of a request; nothing of the card is looked at. */
export interface Charge {
  readonly orderId: string;
  readonly idempotencyKey: string;
  readonly amountMinor: number;
}

/**
 * The first request in `received` and its length in bytes; undefined as long as it is not all there.
 * Throws on what is no charge: a contestant that sends such a thing is broken, and so is the round.
 */
export function readCharge(
  received: Buffer,
): { readonly charge: Charge; readonly bytes: number } | undefined {
  const text = received.toString('latin1');
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const bodyStart = headEnd + 4;
  const bytes = bodyStart + Number(contentLength.exec(text)?.[1] ?? NaN);
  if (Number.isNaN(bytes)) throw new Error('the gateway was sent a request without content-length');
  if (received.length < bytes) return undefined;

  const body = text.slice(bodyStart, bytes);
  const orderId = orderIdField.exec(body)?.[1];
  const idempotencyKey = keyField.exec(body)?.[1];
  const amountMinor = Number(amountField.exec(body)?.[1] ?? NaN);
  if (orderId === undefined || idempotencyKey === undefined || Number.isNaN(amountMinor))
    throw new Error('the gateway was sent a charge without order, key or amount');
  return { charge: { orderId, idempotencyKey, amountMinor }, bytes };
}

const contentLength = /\r\ncontent-length: ?(\d+)/i;
const orderIdField = /(?:^|&)metadata\[order_id\]=([\w-]+)/;
const keyField = /(?:^|&)metadata\[idempotency_key\]=([\w-]+)/;
const amountField = /(?:^|&)amount=(\d+)/;
