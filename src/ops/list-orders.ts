import * as z from 'zod';
import { verdictOf } from '../domain/money-moved.ts';
import type { FoundOrder, OrderFilter, OrderPage, OrderSearch, PageEnd } from '../ports/order-search.ts';
import { moneyView, viewOfMoney } from './money-view.ts';
import { cardText, timeView } from './order-texts.ts';

const time = z.iso.datetime();

const listedOrder = z.object({
  orderId: z.string(),
  status: z.string(),
  statusReason: z.string().nullable(),
  customerId: z.string(),
  amountMinor: z.string(),
  currency: z.string(),
  card: z.string().nullable().describe('brand and last four digits'),
  gatewayReference: z.string().nullable(),
  attempts: z.int(),
  seenAt: time,
  updatedAt: time,
  decidedAt: time.nullable(),
  notifiedAt: time.nullable(),
  money: moneyView,
});
export type ListedOrder = z.infer<typeof listedOrder>;

export const orderList = z
  .object({
    orders: z.array(listedOrder),
    next: z.string().nullable().describe('for --after; null: there are no more'),
  })
  .describe('a page of orders');
export type OrderList = z.infer<typeof orderList>;

/** Rejects when the database cannot be used. */
export async function listOrders(search: OrderSearch, filter: OrderFilter): Promise<OrderList> {
  const page = await search.find(filter);
  return {
    orders: page.orders.map((found) => viewOfFound(found, page)),
    next: page.end === undefined ? null : cursorOf(page.end),
  };
}

function viewOfFound(
  { order, earlierAttempts, seenAtMs, updatedAtMs }: FoundOrder,
  page: OrderPage,
): ListedOrder {
  const { readAtMs: nowMs, livingWorkers } = page;
  const verdict = verdictOf(order, earlierAttempts, {
    nowMs,
    isAlive: (worker) => livingWorkers.has(worker),
  });
  return {
    orderId: order.orderId,
    status: order.status,
    statusReason: order.statusReason ?? null,
    customerId: order.customerId,
    amountMinor: order.amountMinor.toString(),
    currency: order.currency,
    card: cardText(order),
    gatewayReference: order.gatewayReference ?? null,
    attempts: order.attempts,
    seenAt: new Date(seenAtMs).toISOString(),
    updatedAt: new Date(updatedAtMs).toISOString(),
    decidedAt: timeView(order.decidedAtMs),
    notifiedAt: timeView(order.notifiedAtMs),
    money: viewOfMoney(verdict),
  };
}

/** One word for a shell, whatever characters the order's id has. */
function cursorOf({ seenAtUs, orderId }: PageEnd): string {
  return Buffer.from(`${seenAtUs} ${orderId}`, 'latin1').toString('base64url');
}

/** undefined: it is no cursor of ours. */
export function pageEndOf(cursor: string): PageEnd | undefined {
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  const [, seenAtUs, orderId] = /^(\d{1,17}) ([\x21-\x7e]{1,128})$/.exec(text) ?? [];
  return seenAtUs === undefined || orderId === undefined ? undefined : { seenAtUs, orderId };
}
