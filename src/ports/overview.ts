import type { OrderStatus } from '../domain/order-states.ts';

/** Figures over all orders, as the system of record has them; cheap on a table of millions. */
export interface Overview {
  /** Counts and ages of what is unfinished now. Rejects with a RetriableError when the database cannot be used. */
  unfinished(): Promise<Unfinished>;
  /** What became of the orders that were admitted since a time. */
  books(sinceMs: number): Promise<BookFigures>;
}

export interface Unfinished {
  /** Orders without a verdict, and decided ones that are not announced yet; statuses without any are left out. */
  readonly byStatus: Readonly<Partial<Record<OrderStatus, UnfinishedOrders>>>;
  /** Messages that wait for a person. */
  readonly parked: number;
  /** Retry copies that did not come back in time. */
  readonly overdueRetries: number;
}

export interface UnfinishedOrders {
  readonly count: number;
  readonly oldest: { readonly orderId: string; readonly ageMs: number };
}

/** Two tables are counted, orders and attempts, so that they can contradict each other. */
export interface BookFigures {
  readonly received: number;
  readonly byStatus: Readonly<Record<OrderStatus, number>>;
  /** Orders with an approved attempt. */
  readonly approved: number;
  /** Orders whose status or reference contradicts their attempts: ready without an approval, or the reverse. */
  readonly contradictory: number;
  readonly approvedNotified: number;
  readonly approvedToBeNotified: number;
  /** Decided orders that the gateway was asked about, and the approved ones of them. */
  readonly asked: number;
  readonly askedApproved: number;
  /** Of the approved ones those that were claimed once only. */
  readonly askedOnceApproved: number;
}
