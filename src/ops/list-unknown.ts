import * as z from 'zod';
import type { AttentionLists, OrderWithoutVerdict } from '../ports/attention-lists.ts';
import { isoTime, nextCursor, orderCursor, type ListRequest } from './order-pages.ts';

/** What `cardauth unknown list --json` prints. */
export const unknownPage = z
  .object({
    orders: z.array(
      z.object({
        orderId: z.string(),
        status: z.string(),
        statusReason: z.string().nullable(),
        amountMinor: z.string(),
        currency: z.string(),
        admittedAt: z.string(),
        generation: z.int(),
        attempts: z.int().describe('claims made for it, over all generations'),
        lastHeard: z.string().nullable().describe('what the latest answer came to; null: none was ever heard'),
        detail: z.string().nullable(),
        inquiries: z.int().describe('how often the gateway was asked and had no verdict'),
        nextInquiryAt: z.string().nullable().describe('null: the gateway is not asked any more, a person decides'),
        gatewayReference: z.string().nullable(),
      }),
    ),
    next: z.string().nullable().describe('--after of the next page'),
  })
  .describe('orders without a verdict, the oldest first'); // prettier-ignore

export type UnknownPage = z.infer<typeof unknownPage>;

export async function listUnknown(lists: AttentionLists, request: ListRequest): Promise<UnknownPage> {
  const { limit, after } = request;
  const found = await lists.withoutVerdict({ limit, after: orderCursor(after) });
  return { orders: found.map(unknownView), next: nextCursor(found, limit) };
}

function unknownView({ order, sinceMs, lastOutcome, detail }: OrderWithoutVerdict) {
  return {
    orderId: order.orderId,
    status: order.status,
    statusReason: order.statusReason ?? null,
    amountMinor: order.amountMinor.toString(),
    currency: order.currency,
    admittedAt: isoTime(sinceMs),
    generation: order.generation,
    attempts: order.attempts,
    lastHeard: lastOutcome ?? null,
    detail: detail ?? null,
    inquiries: order.attempt?.inquiries ?? 0,
    nextInquiryAt: order.attempt?.resolveDueMs === undefined ? null : isoTime(order.attempt.resolveDueMs),
    gatewayReference: order.gatewayReference ?? null,
  };
}
