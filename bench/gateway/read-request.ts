/** What the gateway's books need of a charge; nothing of the card is looked at. */
export interface Charge {
  readonly orderId: string;
  readonly idempotencyKey: string;
  readonly amountMinor: number;
}

/** A charge, or the question what an order was charged, which a worker asks after an answer that never came. */
export type GatewayRequest =
  | { readonly kind: 'charge'; readonly charge: Charge }
  | { readonly kind: 'search'; readonly orderId: string };

/**
 * The first request in `received` and its length in bytes; undefined as long as it is not all there.
 * Throws on any other request: a contestant that sends such a thing is broken, and so is the round.
 */
export function readRequest(
  received: Buffer,
): { readonly request: GatewayRequest; readonly bytes: number } | undefined {
  const text = received.toString('latin1');
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const bodyStart = headEnd + 4;
  if (text.startsWith('GET ')) return { request: search(text.slice(0, headEnd)), bytes: bodyStart };

  const bytes = bodyStart + Number(contentLength.exec(text)?.[1] ?? NaN);
  if (Number.isNaN(bytes)) throw new Error('the gateway was sent a charge without content-length');
  if (received.length < bytes) return undefined;
  return { request: { kind: 'charge', charge: chargeIn(text.slice(bodyStart, bytes)) }, bytes };
}

function search(head: string): GatewayRequest {
  const orderId = orderIdSearched.exec(head)?.[1];
  if (orderId === undefined) throw new Error('the gateway was asked for something else than an order');
  return { kind: 'search', orderId };
}

function chargeIn(body: string): Charge {
  const orderId = orderIdField.exec(body)?.[1];
  const idempotencyKey = keyField.exec(body)?.[1];
  const amountMinor = Number(amountField.exec(body)?.[1] ?? NaN);
  if (orderId === undefined || idempotencyKey === undefined || Number.isNaN(amountMinor))
    throw new Error('the gateway was sent a charge without order, key or amount');
  return { orderId, idempotencyKey, amountMinor };
}

const contentLength = /\r\ncontent-length: ?(\d+)/i;
const orderIdField = /(?:^|&)metadata\[order_id\]=([\w-]+)/;
const keyField = /(?:^|&)metadata\[idempotency_key\]=([\w-]+)/;
const amountField = /(?:^|&)amount=(\d+)/;
/** `query=metadata['order_id']:'...'`, escaped as far as the client likes. */
const orderIdSearched =
  /^GET \/v1\/payment_intents\/search\?(?:[^ ]*&)?query=metadata(?:\[|%5B)(?:'|%27)order_id(?:'|%27)(?:\]|%5D)(?::|%3A)(?:'|%27)([\w-]+)(?:'|%27)/;
