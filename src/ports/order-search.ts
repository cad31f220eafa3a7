import type { AttemptOfGeneration } from '../domain/money-moved.ts';
import type { OrderStatus, StoredOrder } from '../domain/order-states.ts';
import type { OrderId } from '../domain/order.ts';

/** Orders as operators look for them, a page at a time. */
export interface OrderSearch {
  /** One snapshot. Rejects with a RetriableError of class `database` when the system of record cannot be used. */
  find(filter: OrderFilter): Promise<OrderPage>;
}

/** All of it must hold; what is undefined does not matter. */
export interface OrderFilter {
  /** Any of these; empty: all. */
  readonly statuses: readonly OrderStatus[];
  /** The status's reason, as it is stored. */
  readonly reason?: string | undefined;
  /** First seen before, and not before, these times, milliseconds since the epoch. */
  readonly seenBeforeMs?: number | undefined;
  readonly seenSinceMs?: number | undefined;
  /** The gateway's id of any of its authorizations, a hold that was given back included. */
  readonly reference?: string | undefined;
  readonly cardLast4?: string | undefined;
  readonly customerId?: string | undefined;
  /** Decided, and not marked as announced. */
  readonly isUnannounced: boolean;
  /** Otherwise the oldest come first. */
  readonly newestFirst: boolean;
  /** 1-1000. */
  readonly limit: number;
  /** Where the page before ended. */
  readonly after?: PageEnd | undefined;
}

/** The last order of a page; orders that are first seen later never move it. */
export interface PageEnd {
  /** When it was first seen, microseconds since the epoch, in digits. */
  readonly seenAtUs: string;
  readonly orderId: OrderId;
}

export interface OrderPage {
  readonly orders: readonly FoundOrder[];
  /** undefined: there are no more. */
  readonly end: PageEnd | undefined;
  /** The system of record's clock, milliseconds since the epoch. */
  readonly readAtMs: number;
  /** Worker sessions that live, among those that hold claims on these orders. */
  readonly livingWorkers: ReadonlySet<number>;
}

export interface FoundOrder {
  readonly order: StoredOrder;
  /** Of generations before the current one. */
  readonly earlierAttempts: readonly AttemptOfGeneration[];
  readonly seenAtMs: number;
  readonly updatedAtMs: number;
}
