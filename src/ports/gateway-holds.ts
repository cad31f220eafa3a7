import type { OrderId } from '../domain/order.ts';

/** What somebody other than us says that cards were charged with: the gateway's own list, or a ledger of it. */
export interface GatewayHolds {
  /** For people and the records: `stripe`, `ledger FILE`. */
  readonly name: string;
  /**
   * Every authorization created in the range, both ends included, in any order; of a ledger, every one in it. Rejects
   * with a RetriableError of class `gateway` when it cannot be read to its end: a part of a list proves nothing.
   */
  list(range: { readonly fromMs: number; readonly toMs: number }): AsyncIterable<GatewayHold>;
}

export interface GatewayHold {
  /** The gateway's own id of it. */
  readonly reference: string;
  /** undefined: it names no order; not ours. */
  readonly orderId: OrderId | undefined;
  /** As we sent it, where the gateway tells. */
  readonly idempotencyKey: string | undefined;
  /** Minor units of ISO 4217; undefined: an amount that cannot be written in them. */
  readonly amountMinor: bigint | undefined;
  readonly currency: string;
  /** `held`: money is held or captured; `released`: none, and never will be; `open`: neither is certain. */
  readonly state: 'held' | 'released' | 'open';
  readonly createdAtMs: number;
}
