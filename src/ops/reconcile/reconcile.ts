/**
 * Our approvals against the gateway's, both ways. The gateway's list is read first and in full, then our records: what
 * we have recorded meanwhile is no difference. Young authorizations are left out, their orders may be in flight.
 */
import type { OrderId } from '../../domain/order.ts';
import type { GatewayHold, GatewayHolds } from '../../ports/gateway-holds.ts';
import type { ReconciliationBook } from '../../ports/reconciliation-book.ts';
import { differencesOf, missingApproval, type Difference } from './differences.ts';

export interface Range {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Comparison {
  /** As compared: the end may lie before the one asked for. */
  readonly range: Range;
  readonly holds: number;
  readonly approvals: number;
  readonly differences: readonly Difference[];
}

/** An authorization may be created this long after its attempt began: a resend under the same key, within its window. */
const LATEST_RESEND_MS = 24 * 3_600_000;
/** The gateway's clock is not ours. */
const CLOCK_SKEW_MS = 300_000;
/** Beyond this, a range should be compared in parts. */
const MOST_HOLDS = 1_000_000;
const ORDERS_AT_ONCE = 500;

export async function compare(
  parts: { readonly holds: GatewayHolds; readonly book: ReconciliationBook; readonly nowMs: () => number },
  asked: Range,
  /** How old an authorization must be: longer than any order is in flight. */
  settledAfterMs: number,
): Promise<Comparison> {
  const { book } = parts;
  const settledByMs = parts.nowMs() - settledAfterMs;
  const toMs = Math.min(asked.toMs, settledByMs);
  const range = { fromMs: Math.min(asked.fromMs, toMs), toMs };
  const byOrder = await holdsByOrder(parts.holds, range);

  const differences: Difference[] = [];
  let holds = 0;
  const judge = async (orders: readonly (readonly [OrderId, readonly GatewayHold[]])[]): Promise<void> => {
    const stored = await book.ordersOf(orders.map(([orderId]) => orderId));
    const byId = new Map(stored.map((order) => [order.orderId, order]));
    for (const [orderId, all] of orders) {
      holds += all.length;
      differences.push(...differencesOf(orderId, all, byId.get(orderId), parts.nowMs()));
    }
  };
  const concerned = [...byOrder].filter(([, all]) => isWithin(all, range));
  for (let start = 0; start < concerned.length; start += ORDERS_AT_ONCE) {
    await judge(concerned.slice(start, start + ORDERS_AT_ONCE));
  }

  let approvals = 0;
  for await (const order of book.approvals(range)) {
    // The gateway may have approved it after its list was read.
    if (order.decidedAtMs !== undefined && order.decidedAtMs > settledByMs) continue;
    approvals += 1;
    const isKnown = byOrder.get(order.orderId)?.some(({ reference }) => reference === order.gatewayReference);
    if (isKnown !== true) differences.push(missingApproval(order));
  }
  return { range, holds, approvals, differences };
}

async function holdsByOrder(source: GatewayHolds, range: Range): Promise<Map<OrderId, GatewayHold[]>> {
  const byOrder = new Map<OrderId, GatewayHold[]>();
  let count = 0;
  const wider = { fromMs: range.fromMs - CLOCK_SKEW_MS, toMs: range.toMs + LATEST_RESEND_MS + CLOCK_SKEW_MS };
  for await (const hold of source.list(wider)) {
    count += 1;
    if (count > MOST_HOLDS) {
      throw new RangeError(
        `more than ${MOST_HOLDS} authorizations: reconcile a shorter range, see --since and --until`,
      );
    }
    if (hold.orderId === undefined) continue;
    const ofOrder = byOrder.get(hold.orderId);
    if (ofOrder === undefined) byOrder.set(hold.orderId, [hold]);
    else ofOrder.push(hold);
  }
  return byOrder;
}

/** In the range with one of them, and with none after it: a young one may be in flight. */
function isWithin(holds: readonly GatewayHold[], { fromMs, toMs }: Range): boolean {
  return (
    holds.some(({ createdAtMs }) => createdAtMs >= fromMs) &&
    holds.every(({ createdAtMs }) => createdAtMs <= toMs)
  );
}
