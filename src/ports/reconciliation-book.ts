import type { StoredOrder } from '../domain/order-states.ts';
import type { OrderId } from '../domain/order.ts';

/** Our side of a reconciliation, and the memory of what was found. */
export interface ReconciliationBook {
  /** The stored ones among up to 1000 orders. */
  ordersOf(orderIds: readonly OrderId[]): Promise<readonly StoredOrder[]>;
  /** Every order approved by an attempt that was begun in the range, by ascending id. */
  approvals(range: { readonly fromMs: number; readonly toMs: number }): AsyncIterable<StoredOrder>;
  /** Keeps a run with all that it found. All of these reject with a RetriableError when the database cannot be used. */
  keep(run: ReconciliationRun): Promise<void>;
}

export interface ReconciliationRun {
  /** A UUID. */
  readonly runId: string;
  readonly startedAtMs: number;
  readonly source: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** Authorizations at the gateway and approvals of ours that were compared. */
  readonly holds: number;
  readonly approvals: number;
  readonly isFixing: boolean;
  readonly differences: readonly KeptDifference[];
}

export interface KeptDifference {
  readonly kind: string;
  readonly orderId: OrderId;
  readonly reference: string | undefined;
  readonly explanation: string;
  /** What became of it in this run; undefined: nothing was tried. */
  readonly settled: string | undefined;
}
