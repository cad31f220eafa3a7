import * as z from 'zod';
import type { TakenAction, LeftAction } from '../../domain/replay-plan.ts';
import { moneyView, viewOfMoney } from '../money-view.ts';
import { timeView } from '../order-texts.ts';
import type { JudgedParked } from './selection.ts';

const time = z.iso.datetime();

const actions = [
  'authorize',
  'announce',
  'ask-gateway',
  'close',
  'wait',
  'too-old',
  'parks-again',
  'not-replayable',
  'review',
  'wrong-queue',
] as const satisfies readonly (TakenAction | LeftAction)[];

export const replayAction = z
  .enum(actions)
  .describe(
    'what a replay comes to; announce: the notification only, no new charge; close: nothing is to be done and the row ' +
      'is closed; the ones after close: it is left where it is',
  );
export type ReplayAction = z.infer<typeof replayAction>;

export const parkedView = z
  .object({
    parkId: z.string(),
    orderId: z.string().nullable(),
    customerId: z.string().nullable(),
    card: z.string().nullable().describe('last four digits'),
    messageId: z.string().nullable(),
    state: z.enum(['parked', 'replaying', 'replayed', 'discarded']),
    reason: z.string(),
    class: z.enum(['input', 'review', 'exhausted', 'broker', 'foreign']).describe('who acts'),
    cause: z.string().describe('reason and error without ids and numbers: what belongs together is equal'),
    error: z.string(),
    attempts: z.int().describe('replays before it was parked'),
    firstSeenAt: time,
    parkedAt: time,
    closedAt: time.nullable(),
    queue: z.string().describe('that it was on; empty: not known'),
    batchId: z.string().nullable().describe('of the replay that has it, or had it last'),
    orderStatus: z.string().nullable().describe('null: the order is not stored'),
    money: moneyView,
    replay: replayAction,
    advice: z.string().nullable().describe('what to do where a replay leaves it'),
  })
  .describe('a parked order, without card data');
export type ParkedView = z.infer<typeof parkedView>;

export const parkedDetail = parkedView
  .extend({
    workerVersion: z.string().nullable(),
    contentType: z.string().nullable(),
    headers: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
      .describe("the publisher's own; scrubbed"),
    correlationId: z.string().nullable(),
    type: z.string().nullable(),
    appId: z.string().nullable(),
    replayFrom: z.enum(['row', 'unsealed-queue']).nullable().describe('where its message is; null: nowhere'),
    bodyBytes: z.int().describe('of the body as it was parked'),
    redactedBody: z.string().nullable().describe('card data masked; null: it is kept encrypted'),
  })
  .describe('a parked order with all that may be seen of its message');
export type ParkedDetail = z.infer<typeof parkedDetail>;

export function viewOfParked({ found, verdict, plan }: JudgedParked): ParkedView {
  return {
    parkId: found.parkId,
    orderId: found.orderId ?? null,
    customerId: found.customerId ?? null,
    card: found.cardLast4 === undefined ? null : `...${found.cardLast4}`,
    messageId: found.messageId ?? null,
    state: found.state,
    reason: found.reason,
    class: found.class,
    cause: found.cause,
    error: found.error,
    attempts: found.attempts,
    firstSeenAt: new Date(found.firstSeenMs).toISOString(),
    parkedAt: new Date(found.parkedAtMs).toISOString(),
    closedAt: timeView(found.closedAtMs),
    queue: found.originQueue,
    batchId: found.batchId ?? null,
    orderStatus: found.order?.status ?? null,
    money: viewOfMoney(verdict),
    replay: plan.action,
    advice: 'advice' in plan ? plan.advice : null,
  };
}

export function detailOfParked(one: JudgedParked): ParkedDetail {
  const { bodyBytes, content, replayFrom, workerVersion } = one.found;
  const properties = content?.properties;
  return {
    ...viewOfParked(one),
    workerVersion: workerVersion ?? null,
    contentType: content?.contentType ?? null,
    headers: plainHeaders(properties?.headers ?? {}),
    correlationId: properties?.correlationId ?? null,
    type: properties?.type ?? null,
    appId: properties?.appId ?? null,
    replayFrom: replayFrom ?? null,
    bodyBytes,
    redactedBody: content?.redactedBody ?? null,
  };
}

/** As they were recorded: flat. */
function plainHeaders(headers: Readonly<Record<string, unknown>>): ParkedDetail['headers'] {
  const plain: ParkedDetail['headers'] = {};
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      plain[name] = value;
  }
  return plain;
}
