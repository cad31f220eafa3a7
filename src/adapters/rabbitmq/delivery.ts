import type { ConsumeMessage } from 'amqplib';

import type { OrderMessage } from '../../ports/message.ts';
import type { Generation, Verdict } from './generation.ts';

/** Headers that carry an order's replays from one delivery to the next. */
export const ATTEMPT_HEADER = 'cardauth-attempt';
export const FIRST_SEEN_HEADER = 'cardauth-first-seen';
export const EXHAUSTED_HEADER = 'cardauth-exhausted';
/** Names the copy in the retry ledger. */
export const COPY_ID_HEADER = 'cardauth-copy-id';

/** A message from the orders queue together with the one generation that may settle it. */
export interface Delivery {
  readonly generation: Generation;
  readonly raw: ConsumeMessage;
  readonly message: OrderMessage;
  /** Monotonic milliseconds. */
  readonly receivedAtMs: number;
  /** Why its replays are exhausted: it is on its way to the parking lot and authorizes nothing any more. */
  readonly exhaustedBecause: string | undefined;
  /** Of a retry copy that came back. */
  readonly copyId: string | undefined;
  /** The class of the error that failed it last, in this process. */
  readonly failedAs?: string;
}

export function deliveryOf(
  raw: ConsumeMessage,
  generation: Generation,
  seen: { readonly queue: string; readonly nowMs: number; readonly wallMs: number },
): Delivery {
  const headers = raw.properties.headers ?? {};
  return {
    generation,
    raw,
    message: {
      body: raw.content,
      messageId: textOf(raw.properties.messageId),
      contentType: textOf(raw.properties.contentType),
      correlationId: textOf(raw.properties.correlationId),
      headers: publishersHeaders(headers),
      origin: { queue: seen.queue, exchange: raw.fields.exchange, routingKey: raw.fields.routingKey },
      attempt: attemptOf(headers[ATTEMPT_HEADER]),
      isDecided: false,
      firstSeenMs: firstSeenOf(headers[FIRST_SEEN_HEADER]) ?? seen.wallMs,
    },
    receivedAtMs: seen.nowMs,
    exhaustedBecause: textOf(headers[EXHAUSTED_HEADER]),
    copyId: copyIdOf(headers[COPY_ID_HEADER]),
  };
}

export function settle(delivery: Delivery, verdict: Verdict): boolean {
  return delivery.generation.settle(delivery.raw, verdict);
}

/**
 * What the publisher wrote: without the broker's `x-` headers, ours, and CC and BCC, by which a republished copy
 * would be routed to other queues once more.
 */
export function publishersHeaders(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !/^x-|^cardauth-|^B?CC$/i.test(name)));
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A UUID; anything else is not from us. */
function copyIdOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)
    ? value
    : undefined;
}

/** Anything that is not a plain count came from somebody else. */
function attemptOf(value: unknown): number {
  return Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : 0;
}

function firstSeenOf(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
