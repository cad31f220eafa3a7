import type { AttemptOfGeneration } from '../domain/money-moved.ts';
import type { StoredOrder } from '../domain/order-states.ts';
import type { OrderId } from '../domain/order.ts';
import type { ParkedClass, ReplayProperties } from './parked-orders.ts';

/** Parked orders as operators look for them, each with what is stored of its order. */
export interface ParkedSearch {
  /** One snapshot. Rejects with a RetriableError of class `database` when the system of record cannot be used. */
  find(filter: ParkedFilter): Promise<ParkedPage>;
  /** What a replay publishes, of those that have it in their row; in no order. */
  messages(parkIds: readonly string[]): Promise<readonly RecordedMessage[]>;
}

export type ParkedState = 'parked' | 'replaying' | 'replayed' | 'discarded';

/** All of it must hold; what is undefined does not matter. */
export interface ParkedFilter {
  /** Any of these; empty: all. */
  readonly states: readonly ParkedState[];
  readonly parkIds?: readonly string[] | undefined;
  readonly reason?: string | undefined;
  readonly class?: ParkedClass | undefined;
  readonly cause?: string | undefined;
  readonly orderId?: OrderId | undefined;
  /** The queue that it was on. */
  readonly queue?: string | undefined;
  readonly batchId?: string | undefined;
  /** Parked before, and not before, these times, milliseconds since the epoch. */
  readonly parkedBeforeMs?: number | undefined;
  readonly parkedSinceMs?: number | undefined;
  /** Whether headers, properties and what may be seen of the body are read, too. */
  readonly withContent?: boolean;
  /** 1-1000. */
  readonly limit: number;
  /** Where the page before ended. */
  readonly after?: ParkedPageEnd | undefined;
}

/** The last row of a page; what is parked later never moves it. */
export interface ParkedPageEnd {
  /** When it was parked, microseconds since the epoch, in digits. */
  readonly parkedAtUs: string;
  readonly parkedId: string;
}

export interface ParkedPage {
  /** The longest parked first. */
  readonly rows: readonly FoundParked[];
  /** undefined: there are no more. */
  readonly end: ParkedPageEnd | undefined;
  /** The system of record's clock, milliseconds since the epoch. */
  readonly readAtMs: number;
  /** Worker sessions that live, among those that hold claims on these orders. */
  readonly livingWorkers: ReadonlySet<number>;
}

export interface FoundParked {
  readonly parkId: string;
  readonly orderId: OrderId | undefined;
  readonly customerId: string | undefined;
  readonly cardLast4: string | undefined;
  readonly messageId: string | undefined;
  readonly reason: string;
  readonly class: ParkedClass;
  readonly cause: string;
  readonly error: string;
  readonly attempts: number;
  readonly state: ParkedState;
  readonly firstSeenMs: number;
  readonly parkedAtMs: number;
  readonly closedAtMs: number | undefined;
  readonly originQueue: string;
  readonly workerVersion: string | undefined;
  readonly replayFrom: 'row' | 'unsealed-queue' | undefined;
  readonly notReplayableBecause: string | undefined;
  readonly batchId: string | undefined;
  /** Of the body as it was parked. */
  readonly bodyBytes: number;
  readonly content: ParkedContent | undefined;
  /** As it is stored; undefined: it never was. */
  readonly order: StoredOrder | undefined;
  /** Of generations before the current one. */
  readonly earlierAttempts: readonly AttemptOfGeneration[];
}

export interface ParkedContent {
  readonly contentType: string | undefined;
  readonly properties: ReplayProperties;
  /** With card data masked; undefined: it is sealed. */
  readonly redactedBody: string | undefined;
}

/** A message whose body is in its row. */
export interface RecordedMessage {
  readonly parkId: string;
  readonly messageId: string | undefined;
  readonly contentType: string | undefined;
  readonly properties: ReplayProperties;
  /** Compact JWE of the body. */
  readonly sealedBody: string;
}
