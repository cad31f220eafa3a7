/** I1-I4 and I8: the gateway's ledger against the database. */
import { isChargePath } from '../../../src/simulator/fault-script.ts';
import { isBent } from '../../e2e/storm-faults.ts';
import type { Evidence, OrderRow } from '../evidence.ts';
import { examine, grouped, type Finding } from '../finding.ts';

export function moneyFindings(evidence: Evidence): Finding[] {
  const { approvals, attempts, orders, requests, voids } = evidence;
  const byOrder = grouped(approvals, ({ orderId }) => orderId);
  const stored = new Map(orders.map((order) => [order.order_id, order]));
  const voided = new Set(voids.map(({ authorizationId }) => authorizationId));
  const charges = requests.filter(({ method, path }) => method === 'POST' && isChargePath(path));

  return [
    examine('I1', 'at most one approval an order', byOrder, ([orderId, entries]) =>
      entries.length > 1 ? `order ${orderId} was approved ${entries.length} times` : undefined,
    ),
    examine(
      'I2',
      'ready-to-ship stands on one approval of its amount, currency and reference',
      orders.filter(({ status }) => status === 'ready-to-ship'),
      (order) =>
        (byOrder.get(order.order_id) ?? []).some((entry) => fits(entry, order))
          ? undefined
          : `order ${order.order_id} is ready-to-ship without an approval like it`,
    ),
    examine(
      'I3',
      'no approval ends denied or forgotten',
      approvals,
      ({ orderId, authorizationId, fault }) => {
        const status = stored.get(orderId ?? '')?.status;
        if (status === 'ready-to-ship' || voided.has(authorizationId)) return undefined;
        // A person looks at what the gateway itself contradicted, or would not say.
        if (status === 'review' && metBent(evidence, orderId, fault)) return undefined;
        return `order ${String(orderId)} was approved and is ${status ?? 'not stored'}`;
      },
    ),
    examine('I4', 'one key an order and generation, on the wire and in the ledger', charges, (request) => {
      const { idempotencyKey, orderId } = request;
      return idempotencyKey === `order-${String(orderId)}-1`
        ? undefined
        : `order ${String(orderId)} was sent under the key ${String(idempotencyKey)}`;
    }),
    examine(
      'I4',
      'the stored key is the one that was used',
      attempts,
      ({ order_id, generation, idempotency_key }) =>
        idempotency_key === `order-${order_id}-${generation}` && generation === 1
          ? undefined
          : `order ${order_id} has the key ${idempotency_key} in generation ${generation}`,
    ),
    examine(
      'I8',
      'approvals that the database does not know, and the other way round',
      [...approvals.map(({ orderId }) => orderId ?? ''), ...referenced(orders)],
      (orderId) => {
        if (!stored.has(orderId)) return `order ${orderId} was approved and is not stored`;
        const reference = stored.get(orderId)?.gateway_reference;
        const isReady = stored.get(orderId)?.status === 'ready-to-ship';
        const isKnown = (byOrder.get(orderId) ?? []).some(
          ({ authorizationId }) => authorizationId === reference,
        );
        return isReady && !isKnown
          ? `order ${orderId} has a reference that the gateway never gave`
          : undefined;
      },
    ),
  ];
}

function fits(
  entry: { readonly amountMinor: number; readonly currency: string; readonly authorizationId: string },
  order: OrderRow,
): boolean {
  return (
    entry.amountMinor === order.amount_minor &&
    entry.currency.toUpperCase() === order.currency &&
    entry.authorizationId === order.gateway_reference
  );
}

function metBent({ requests }: Evidence, orderId: string | null, fault: string | null): boolean {
  return isBent(fault) || requests.some((request) => request.orderId === orderId && isBent(request.fault));
}

function referenced(orders: readonly OrderRow[]): string[] {
  return orders.filter(({ gateway_reference }) => gateway_reference !== null).map(({ order_id }) => order_id);
}
