import type { OrderId } from '../domain/order.ts';

/** Orders that the resolver is to look after: without a verdict, with a hold to give back, or not announced. */
export interface UnresolvedOrders {
  /**
   * Takes up to `most` orders that are due, the longest due first; for a while no other worker gets them. What is not
   * brought to an end by then, by a crash for example, is due again. Rejects with a retriable error when the system of
   * record cannot be used.
   */
  take(most: number): Promise<readonly OrderId[]>;
}
