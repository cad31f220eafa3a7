import type { StoredOrder } from '../domain/order-states.ts';

/** Orders that may need an operator, as the system of record has them; the oldest first, page by page. */
export interface AttentionLists {
  /** Sent, and no verdict known: unknown, in review, or claimed by somebody whose lease is over. */
  withoutVerdict(page: PageOfOrders): Promise<readonly OrderWithoutVerdict[]>;
  /** Decided and not marked as announced. */
  unannounced(page: PageOfOrders): Promise<readonly UnannouncedOrder[]>;
}

/** All reject with a RetriableError when the system of record cannot be used. */
export interface PageOfOrders {
  /** 1-1000. */
  readonly limit: number;
  /** The last one of the page before. */
  readonly after?: ListedOrder | undefined;
}

export interface ListedOrder {
  readonly orderId: string;
  /** When it was admitted, or decided: what the list is sorted by. */
  readonly sinceMs: number;
}

export interface OrderWithoutVerdict extends ListedOrder {
  readonly order: StoredOrder;
  /** What the latest answer came to; undefined: none was ever heard. */
  readonly lastOutcome: string | undefined;
  readonly detail: string | undefined;
}

export interface UnannouncedOrder extends ListedOrder {
  readonly order: StoredOrder;
}
