import * as z from 'zod';
import type { OrderHistory } from '../ports/order-history.ts';
import { moneyView } from './money-view.ts';
import { showOrder } from './show-order.ts';

export const orderExplanation = z
  .object({
    orderId: z.string(),
    explanation: z.string().describe('one plain sentence without card data'),
    status: z.string().nullable(),
    money: moneyView,
  })
  .describe('where an order is, in one sentence');
export type OrderExplanation = z.infer<typeof orderExplanation>;

/** undefined when nothing is known of the order. Rejects when the database cannot be used. */
export async function explainedOrder(
  history: OrderHistory,
  orderId: string,
): Promise<OrderExplanation | undefined> {
  const order = await showOrder(history, orderId);
  if (order === undefined) return undefined;
  const { explanation, status, money } = order;
  return { orderId, explanation, status, money };
}
