import type { AttemptRecord, OrderEvent, OrderHistory } from '../ports/order-history.ts';

/**
 * One order as `cardauth orders show --json` prints it; fields are only ever added. Amounts are minor units as text,
 * times are ISO 8601, what is not known is null. No card data but brand and last four digits.
 */
export interface OrderView {
  readonly orderId: string;
  /** null: the order itself was never stored, only parked or complained about. */
  readonly status: string | null;
  readonly statusReason: string | null;
  readonly customerId: string | null;
  readonly amountMinor: string | null;
  readonly currency: string | null;
  readonly card: string | null;
  readonly gatewayReference: string | null;
  readonly generation: number | null;
  readonly attempts: number | null;
  readonly decidedAt: string | null;
  readonly notifiedAt: string | null;
  /** Declined softly, and not to be tried again before. */
  readonly retryAt: string | null;
  readonly authorizations: readonly AuthorizationView[];
  readonly events: readonly EventView[];
}

export interface AuthorizationView {
  readonly generation: number;
  readonly idempotencyKey: string;
  readonly state: string;
  readonly claim: number;
  readonly maybeSent: boolean;
  readonly gatewayReference: string | null;
  readonly lastOutcome: string | null;
  readonly detail: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface EventView {
  readonly at: string;
  readonly fact: string;
  readonly statusBefore: string | null;
  readonly statusAfter: string | null;
  readonly generation: number | null;
  readonly outcome: string | null;
  readonly detail: string | null;
  readonly alarm: string | null;
  readonly worker: number | null;
}

/** undefined when nothing is known of the order. Rejects when the database cannot be used. */
export async function showOrder(history: OrderHistory, orderId: string): Promise<OrderView | undefined> {
  const record = await history.show(orderId);
  if (record === undefined) return undefined;
  const { order } = record;
  return {
    orderId,
    status: order?.status ?? null,
    statusReason: order?.statusReason ?? null,
    customerId: order?.customerId ?? null,
    amountMinor: order?.amountMinor.toString() ?? null,
    currency: order?.currency ?? null,
    card: cardView(order?.cardBrand, order?.cardLast4),
    gatewayReference: order?.gatewayReference ?? null,
    generation: order?.generation ?? null,
    attempts: order?.attempts ?? null,
    decidedAt: timeView(order?.decidedAtMs),
    notifiedAt: timeView(order?.notifiedAtMs),
    retryAt: timeView(order?.retryAtMs),
    authorizations: record.attempts.map(authorizationView),
    events: record.events.map(eventView),
  };
}

function authorizationView(attempt: AttemptRecord): AuthorizationView {
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

function eventView(event: OrderEvent): EventView {
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

function cardView(brand: string | undefined, last4: string | undefined): string | null {
  if (last4 === undefined) return null;
  return brand === undefined ? `...${last4}` : `${brand} ...${last4}`;
}

function timeView(atMs: number | undefined): string | null {
  return atMs === undefined ? null : new Date(atMs).toISOString();
}
