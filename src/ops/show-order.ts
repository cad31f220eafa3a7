import * as z from 'zod';
import { explainOrder } from '../domain/explain-order.ts';
import { verdictOf } from '../domain/money-moved.ts';
import type {
  AttemptRecord,
  OperatorAction,
  OrderEvent,
  OrderHistory,
  OrderRecord,
  Parking,
} from '../ports/order-history.ts';
import { moneyView, viewOfMoney } from './money-view.ts';
import { cardText, timeView } from './order-texts.ts';

const time = z.iso.datetime();

const authorizationView = z.object({
  generation: z.int(),
  idempotencyKey: z.string(),
  state: z.enum(['open', 'approved', 'declined', 'review']),
  claim: z.int().describe('how many claims there were under this key'),
  maybeSent: z.boolean().describe('a request may have reached the gateway without its answer being recorded'),
  gatewayReference: z.string().nullable(),
  lastOutcome: z.string().nullable().describe('what the latest answer came to, such as "unknown: no_answer"'),
  detail: z.string().nullable(),
  createdAt: time,
  updatedAt: time,
});
export type AuthorizationView = z.infer<typeof authorizationView>;

const eventView = z.object({
  at: time,
  fact: z.string(),
  statusBefore: z.string().nullable(),
  statusAfter: z.string().nullable(),
  generation: z.int().nullable(),
  outcome: z.string().nullable(),
  detail: z.string().nullable(),
  alarm: z.string().nullable().describe('something that must never happen has happened'),
  worker: z.int().nullable().describe('the worker session that learned it'),
});
export type EventView = z.infer<typeof eventView>;

const parkingView = z.object({
  parkedId: z.string(),
  at: time,
  firstSeenAt: time,
  reason: z.string(),
  class: z.string(),
  error: z.string(),
  attempts: z.int(),
  state: z.string().describe('parked: it waits'),
  closedAt: time.nullable(),
});

const actionView = z.object({ at: time, actor: z.string(), action: z.string(), reason: z.string() });

/** Amounts are minor units as text, times are ISO 8601, what is not known is null; no card data but brand and last four. */
export const orderView = z
  .object({
    orderId: z.string(),
    status: z.string().nullable().describe('null: never stored, only parked or complained about'),
    statusReason: z.string().nullable(),
    customerId: z.string().nullable(),
    amountMinor: z.string().nullable(),
    currency: z.string().nullable(),
    card: z.string().nullable().describe('brand and last four digits'),
    gatewayReference: z.string().nullable(),
    generation: z.int().nullable(),
    attempts: z.int().nullable(),
    decidedAt: time.nullable(),
    notifiedAt: time.nullable(),
    retryAt: time.nullable().describe('declined softly, and not to be tried again before'),
    seenAt: time.nullable().describe('when a worker first saw it'),
    updatedAt: time.nullable(),
    money: moneyView,
    explanation: z.string().describe('one plain sentence without card data'),
    authorizations: z.array(authorizationView).describe('one a generation, the oldest first'),
    events: z.array(eventView).describe('in the order they were recorded; of a very long history the latest'),
    parked: z.array(parkingView).describe('each time its message was handed to a person'),
    operatorActions: z.array(actionView),
  })
  .describe('one order, its authorizations and everything that happened to it');
export type OrderView = z.infer<typeof orderView>;

/** undefined when nothing is known of the order. Rejects when the database cannot be used. */
export async function showOrder(history: OrderHistory, orderId: string): Promise<OrderView | undefined> {
  const record = await history.show(orderId);
  if (record === undefined) return undefined;
  const { order, livingWorkers, readAtMs: nowMs } = record;
  const verdict = verdictOf(order, record.attempts, {
    nowMs,
    isAlive: (worker) => livingWorkers.has(worker),
  });
  return {
    orderId,
    status: order?.status ?? null,
    statusReason: order?.statusReason ?? null,
    customerId: order?.customerId ?? null,
    amountMinor: order?.amountMinor.toString() ?? null,
    currency: order?.currency ?? null,
    card: cardText(order),
    gatewayReference: order?.gatewayReference ?? null,
    generation: order?.generation ?? null,
    attempts: order?.attempts ?? null,
    decidedAt: timeView(order?.decidedAtMs),
    notifiedAt: timeView(order?.notifiedAtMs),
    retryAt: timeView(order?.retryAtMs),
    seenAt: timeView(record.seenAtMs),
    updatedAt: timeView(record.updatedAtMs),
    money: viewOfMoney(verdict),
    explanation: explainOrder({
      orderId,
      order,
      verdict,
      seenAtMs: record.seenAtMs,
      parked: waitingSince(record),
      alarms: record.events.filter(({ alarm }) => alarm !== undefined).length,
    }),
    authorizations: record.attempts.map(viewOfAttempt),
    events: record.events.map(viewOfEvent),
    parked: record.parkings.map(viewOfParking),
    operatorActions: record.actions.map(viewOfAction),
  };
}

/** The latest parking that nobody has dealt with. */
function waitingSince({ parkings }: OrderRecord) {
  const open = parkings.findLast(({ closedAtMs }) => closedAtMs === undefined);
  return open && { sinceMs: open.parkedAtMs, reason: open.reason, isUpstreamsFault: open.class === 'input' };
}

function viewOfAttempt(attempt: AttemptRecord): AuthorizationView {
  const { generation, idempotencyKey, state, claim, maybeSent } = attempt;
  return {
    generation,
    idempotencyKey,
    state,
    claim,
    maybeSent,
    gatewayReference: attempt.gatewayReference ?? null,
    lastOutcome: attempt.lastOutcome ?? null,
    detail: attempt.detail ?? null,
    createdAt: new Date(attempt.createdAtMs).toISOString(),
    updatedAt: new Date(attempt.updatedAtMs).toISOString(),
  };
}

function viewOfEvent(event: OrderEvent): EventView {
  return {
    at: new Date(event.happenedAtMs).toISOString(),
    fact: event.fact,
    statusBefore: event.statusBefore ?? null,
    statusAfter: event.statusAfter ?? null,
    generation: event.generation ?? null,
    outcome: event.outcome ?? null,
    detail: event.detail ?? null,
    alarm: event.alarm ?? null,
    worker: event.worker ?? null,
  };
}

function viewOfParking(parking: Parking): OrderView['parked'][number] {
  const { parkedAtMs, firstSeenMs, closedAtMs, ...told } = parking;
  return {
    ...told,
    at: new Date(parkedAtMs).toISOString(),
    firstSeenAt: new Date(firstSeenMs).toISOString(),
    closedAt: timeView(closedAtMs),
  };
}

function viewOfAction({ happenedAtMs, ...told }: OperatorAction): OrderView['operatorActions'][number] {
  return { ...told, at: new Date(happenedAtMs).toISOString() };
}
