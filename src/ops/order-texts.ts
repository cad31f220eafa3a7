import type { OrderTerms } from '../domain/order.ts';

/** `visa ...4242`; null for orders that are paid by a token. */
export function cardText(order: Pick<OrderTerms, 'cardBrand' | 'cardLast4'> | undefined): string | null {
  if (order?.cardLast4 === undefined) return null;
  return order.cardBrand === undefined ? `...${order.cardLast4}` : `${order.cardBrand} ...${order.cardLast4}`;
}

/** ISO 8601; null for what has not happened. */
export function timeView(atMs: number | undefined): string | null {
  return atMs === undefined ? null : new Date(atMs).toISOString();
}
