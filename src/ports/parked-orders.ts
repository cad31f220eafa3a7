/**
 * Parked orders as they are recorded: what the parking lot's queue held, for people to list, group and replay.
 *
 * A message of that queue is either a copy that a worker parked, or one that the broker dead-lettered, or something
 * that somebody else put there; all of them are recorded.
 */
import type { OrderId } from '../domain/order.ts';

/** Who acts: upstream sent it wrong; a person must look; infrastructure gave up; the broker did; nobody of ours. */
export type ParkedClass = 'input' | 'review' | 'exhausted' | 'broker' | 'foreign';

/** A message of the parking lot's queue, and what it says of itself. Texts are scrubbed of what looks like a card. */
export interface ParkedMessage {
  /** UUID: the same however often the message is delivered. */
  readonly parkId: string;
  readonly reason: string;
  readonly class: ParkedClass;
  /** At most 2 KiB. */
  readonly error: string;
  /** As the worker that parked it said; its body may be redacted. */
  readonly orderId: OrderId | undefined;
  readonly attempts: number;
  readonly firstSeenMs: number;
  readonly parkedAtMs: number;
  readonly origin: { readonly queue: string; readonly exchange: string; readonly routingKey: string };
  readonly workerVersion: string | undefined;
  readonly messageId: string | undefined;
  readonly contentType: string | undefined;
  readonly properties: ReplayProperties;
  readonly body: Uint8Array;
}

/** What a replay publishes with the body, besides message id and content type. */
export interface ReplayProperties {
  readonly correlationId?: string;
  readonly contentEncoding?: string;
  readonly type?: string;
  readonly appId?: string;
  /** The publisher's own; the broker's (`x-...`) and the worker's (`cardauth-...`) are not among them. */
  readonly headers: Readonly<Record<string, unknown>>;
}

export interface ParkedOrderRecord extends Omit<ParkedMessage, 'body'> {
  readonly customerId: string | undefined;
  readonly cardLast4: string | undefined;
  /** Groups: reason and error without ids and numbers. */
  readonly cause: string;
  readonly body: RecordedBody;
}

/** No card in clear, ever. */
export interface RecordedBody {
  /** `sealed`: a compact JWE of the whole body; `redacted`: its first 64 KiB, card data masked. */
  readonly form: 'sealed' | 'redacted';
  readonly bytes: Uint8Array;
  /** Of the body as it was parked. */
  readonly length: number;
  /** Where a replay finds the message; or why there is nothing to replay. */
  readonly replay: { readonly from: 'row' | 'unsealed-queue' } | { readonly notBecause: string };
}

/** Where parked orders are recorded. */
export interface ParkedOrderRecords {
  /**
   * Resolves after the commit, with whether the row is new. Recording a message again changes nothing, except that a
   * sealed body takes the place of one that waits on the queue of unsealed messages. Rejects with a RetriableError of
   * class `database` when the database cannot be used.
   */
  record(record: ParkedOrderRecord): Promise<boolean>;
}

/** Parked messages with cards in clear, which no database may hold: a queue of their own, from where replays take them. */
export interface UnsealedMessages {
  /** Resolves when the copy, with its park id, is durable; it may be there more than once then. */
  keep(message: ParkedMessage): Promise<void>;
}

/** What people and checks read. */
export interface ParkedOrders {
  /** All rows, open and closed, in the order in which they were recorded. */
  list(): AsyncIterable<ParkedOrderSummary>;
}

export interface ParkedOrderSummary {
  readonly parkId: string;
  readonly orderId: OrderId | undefined;
  readonly messageId: string | undefined;
  readonly reason: string;
  readonly class: ParkedClass;
  readonly cause: string;
  readonly state: 'parked' | 'replaying' | 'replayed' | 'discarded';
  readonly parkedAtMs: number;
}
