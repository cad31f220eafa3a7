import type { OperatorCommand } from '../domain/audit.ts';
import { notificationOf } from '../domain/notification.ts';
import { isTerminal, type StoredOrder } from '../domain/order-states.ts';
import * as z from 'zod';
import type { AttentionLists } from '../ports/attention-lists.ts';
import type { Notifier } from '../ports/notifier.ts';
import type { OrderBook } from '../ports/order-book.ts';
import { obstacleIn, operated, type OperatedOrder } from './operated-order.ts';
import { isoTime, nextCursor, orderCursor, type ListRequest } from './order-pages.ts';

/** What `cardauth notifications list --json` prints. */
export const unannouncedPage = z
  .object({
    orders: z.array(
      z.object({
        orderId: z.string(),
        status: z.string(),
        reason: z.string().nullable(),
        generation: z.int(),
        eventId: z.string().describe('the same however often it is announced'),
        decidedAt: z.string(),
      }),
    ),
    next: z.string().nullable().describe('--after of the next page'),
  })
  .describe('orders that are decided and not marked as announced, the longest decided first');

export type UnannouncedPage = z.infer<typeof unannouncedPage>;

export async function listUnannounced(lists: AttentionLists, request: ListRequest): Promise<UnannouncedPage> {
  const { limit, after } = request;
  const found = await lists.unannounced({ limit, after: orderCursor(after) });
  const orders = found.flatMap(({ order, sinceMs }) => {
    if (!isTerminal(order)) return [];
    const { orderId, status, generation, statusReason } = order;
    const { eventId } = notificationOf(order);
    return [
      { orderId, status, reason: statusReason ?? null, generation, eventId, decidedAt: isoTime(sinceMs) },
    ];
  });
  return { orders, next: nextCursor(found, limit) };
}

const PAGE_LENGTH = 1_000;

/** The ids of all orders that are unannounced now. */
export async function allUnannounced(lists: AttentionLists): Promise<string[]> {
  const ids: string[] = [];
  for (let after; ;) {
    const page = await lists.unannounced({ limit: PAGE_LENGTH, after });
    ids.push(...page.map(({ orderId }) => orderId));
    if (page.length < PAGE_LENGTH) return ids;
    after = page.at(-1);
  }
}

export interface ResendParts {
  readonly book: OrderBook;
  readonly notifier: Notifier;
}

/**
 * Announces a decided order, again or at last, under the event id it always had, then marks it; nothing is charged. A
 * command that comes again announces again: whether its publish was confirmed the first time is not known.
 */
export async function resendNotification(
  { book, notifier }: ResendParts,
  orderId: string,
  command: OperatorCommand,
): Promise<OperatedOrder> {
  const { order, next } = await book.apply(orderId, { kind: 'resend' }, command);
  const obstacle = obstacleIn(next);
  if (obstacle !== undefined) return operated(orderId, order, obstacle.result, obstacle.explanation);
  if (order === undefined || !isTerminal(order))
    return operated(orderId, order, 'refused', 'there is no decision to announce');
  const notification = notificationOf(order);
  await notifier.notify(notification);
  const { generation, status } = order;
  const marked = await book.apply(orderId, { kind: 'notified', generation, status });
  const { eventId } = notification;
  if (marked.alarm !== undefined) return operated(orderId, marked.order, 'failed', marked.alarm);
  return operated(orderId, marked.order, 'done', `announced as ${eventId}; nothing was charged`);
}

/** What a resend would do, said of the order as it stands. */
export function foreseeResend(orderId: string, order: StoredOrder | undefined): OperatedOrder {
  if (order === undefined) return operated(orderId, order, 'refused', 'it is not stored');
  if (!isTerminal(order)) {
    return operated(orderId, order, 'refused', `it is ${order.status}: there is no decision to announce`);
  }
  const before = order.notifiedAtMs === undefined ? 'for the first time' : 'again';
  const { eventId } = notificationOf(order);
  return operated(orderId, order, 'would', `would be announced ${before} as ${eventId}; nothing is charged`);
}
