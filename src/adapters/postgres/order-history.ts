/** The read side of the order book: its own connection, one statement a question. */
import type { OrderFact, OrderStatus } from '../../domain/order-states.ts';
import type { OrderId } from '../../domain/order.ts';
import type { Log } from '../../ports/log.ts';
import type {
  AttemptRecord,
  OperatorAction,
  OrderEvent,
  OrderHistory,
  OrderRecord,
  OrderSummary,
  Parking,
} from '../../ports/order-history.ts';
import { Database } from './connection.ts';
import {
  asMs,
  ATTEMPT_COLUMNS,
  ORDER_COLUMNS,
  storedAttempt,
  storedOrder,
  UNFINISHED_ORDERS,
  wholeMs,
} from './rows.ts';
import type { AttemptRow, OrderRow } from './rows.ts';
import { livingWorkers } from './worker-session.ts';

/** Counting millions of orders takes seconds; nobody's charge waits for it. */
const WALL_MS = 60_000;
const CONNECT_WALL_MS = 5_000;
const PAGE_LENGTH = 1_000;
const MOST_EVENTS = 1_000;
const MOST_OF_OTHERS = 100;

export interface PostgresOrderHistory extends OrderHistory {
  close(): Promise<void>;
}

/** Connects when first asked. What it returns rejects with a RetriableError when the database cannot be used. */
export function openOrderHistory(options: {
  readonly databaseUrl: string;
  readonly log: Log;
}): PostgresOrderHistory {
  const database = new Database({
    ...options,
    applicationName: 'cardauth history',
    wallMs: WALL_MS,
    connectWallMs: CONNECT_WALL_MS,
    connections: 1,
    settings: 'set default_transaction_read_only = on',
  });
  return {
    show: (orderId) => show(database, orderId),
    countsByStatus: () => countsByStatus(database),
    countDecidedUnnotified: () => countDecidedUnnotified(database),
    list: () => list(database),
    close: () => database.close(),
  };
}

// --- one order ---------------------------------------------------------------------------------------------------

const SHOW = {
  name: 'show order',
  text: `
    select asked.order_id, ${ORDER_COLUMNS},
      (
        select coalesce(json_agg(row order by row.generation), '[]') from (
          select a.generation, a.gateway_reference, ${ATTEMPT_COLUMNS}, a.last_outcome, a.detail,
            ${asMs('a.created_at')}, ${asMs('a.updated_at')}
          from cardauth.attempts a where a.order_id = asked.order_id
        ) row
      ) as attempt_rows,
      (
        select coalesce(json_agg(row order by row.event_id), '[]') from (
          select e.event_id, ${asMs('e.happened_at')}, e.fact, e.generation, e.claim, e.worker, e.status_before,
            e.status_after, e.outcome, e.detail, e.alarm
          from cardauth.order_events e where e.order_id = asked.order_id
          order by e.event_id desc limit ${MOST_EVENTS}
        ) row
      ) as event_rows,
      (
        select coalesce(json_agg(row order by row.parked_id_number), '[]') from (
          select p.parked_id as parked_id_number, p.parked_id::text, ${asMs('p.parked_at')}, ${asMs('p.first_seen_at')},
            p.reason, p.class, p.error, p.attempts, p.state, ${asMs('p.closed_at')}
          from cardauth.parked_orders p where p.order_id = asked.order_id
          order by p.parked_id desc limit ${MOST_OF_OTHERS}
        ) row
      ) as parking_rows,
      (
        select coalesce(json_agg(row order by row.audit_id), '[]') from (
          select l.audit_id, ${asMs('l.happened_at')}, l.actor, l.action, l.reason
          from cardauth.audit_log l where l.subject = 'order:' || asked.order_id
          order by l.audit_id desc limit ${MOST_OF_OTHERS}
        ) row
      ) as action_rows,
      ${asMs('o.created_at')}, ${asMs('o.updated_at')},
      (extract(epoch from now()) * 1000)::float8 as read_at_ms
    from (select $1::text as order_id) asked
    left join cardauth.orders o on o.order_id = asked.order_id
    left join cardauth.attempts a on a.order_id = o.order_id and a.generation = o.generation`,
};

type ShownRow = {
  readonly attempt_rows: ShownAttemptRow[];
  readonly event_rows: EventRow[];
  readonly parking_rows: ParkingRow[];
  readonly action_rows: ActionRow[];
  readonly created_at_ms: number | null;
  readonly updated_at_ms: number | null;
  readonly read_at_ms: number;
} & (OrderRow | { readonly version: null });

type ShownAttemptRow = AttemptRow & {
  readonly idempotency_key: string;
  readonly generation: number;
  readonly gateway_reference: string | null;
  readonly last_outcome: string | null;
  readonly detail: string | null;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
};

interface EventRow {
  readonly happened_at_ms: number;
  readonly fact: OrderFact['kind'];
  readonly generation: number | null;
  readonly claim: number | null;
  readonly worker: number | null;
  readonly status_before: OrderStatus | null;
  readonly status_after: OrderStatus | null;
  readonly outcome: string | null;
  readonly detail: string | null;
  readonly alarm: string | null;
}

interface ParkingRow {
  readonly parked_id: string;
  readonly parked_at_ms: number;
  readonly first_seen_at_ms: number;
  readonly reason: string;
  readonly class: string;
  readonly error: string;
  readonly attempts: number;
  readonly state: string;
  readonly closed_at_ms: number | null;
}

interface ActionRow {
  readonly happened_at_ms: number;
  readonly actor: string;
  readonly action: string;
  readonly reason: string;
}

async function show(database: Database, orderId: OrderId): Promise<OrderRecord | undefined> {
  const [row] = await database.query<ShownRow>(SHOW, [orderId]);
  if (row === undefined || !isAnythingKnown(row)) return undefined;
  return {
    order: row.version === null ? undefined : storedOrder(row),
    attempts: row.attempt_rows.map(attemptRecord),
    events: row.event_rows.map(orderEvent),
    seenAtMs: wholeMs(row.created_at_ms),
    updatedAtMs: wholeMs(row.updated_at_ms),
    parkings: row.parking_rows.map(parking),
    actions: row.action_rows.map(operatorAction),
    readAtMs: row.read_at_ms,
    livingWorkers: await livingWorkers(database, new Set(row.attempt_rows.map(({ owner }) => owner))),
  };
}

function isAnythingKnown({ version, event_rows, parking_rows, action_rows }: ShownRow): boolean {
  return version !== null || event_rows.length + parking_rows.length + action_rows.length > 0;
}

function parking(row: ParkingRow): Parking {
  return {
    parkedId: row.parked_id,
    parkedAtMs: Math.round(row.parked_at_ms),
    firstSeenMs: Math.round(row.first_seen_at_ms),
    reason: row.reason,
    class: row.class,
    error: row.error,
    attempts: row.attempts,
    state: row.state,
    closedAtMs: wholeMs(row.closed_at_ms),
  };
}

function operatorAction({ happened_at_ms, ...what }: ActionRow): OperatorAction {
  const { actor, action, reason } = what;
  return { happenedAtMs: Math.round(happened_at_ms), actor, action, reason };
}

function attemptRecord(row: ShownAttemptRow): AttemptRecord {
  return {
    ...storedAttempt(row),
    generation: row.generation,
    gatewayReference: row.gateway_reference ?? undefined,
    lastOutcome: row.last_outcome ?? undefined,
    detail: row.detail ?? undefined,
    createdAtMs: Math.round(row.created_at_ms),
    updatedAtMs: Math.round(row.updated_at_ms),
  };
}

function orderEvent(row: EventRow): OrderEvent {
  return {
    happenedAtMs: Math.round(row.happened_at_ms),
    fact: row.fact,
    generation: row.generation ?? undefined,
    claim: row.claim ?? undefined,
    worker: row.worker ?? undefined,
    statusBefore: row.status_before ?? undefined,
    statusAfter: row.status_after ?? undefined,
    outcome: row.outcome ?? undefined,
    detail: row.detail ?? undefined,
    alarm: row.alarm ?? undefined,
  };
}

// --- all orders --------------------------------------------------------------------------------------------------

const COUNT_BY_STATUS = {
  name: 'count orders by status',
  text: 'select status, count(*)::float8 as count from cardauth.orders group by status',
};

async function countsByStatus(database: Database): Promise<Record<OrderStatus, number>> {
  const counts: Record<OrderStatus, number> = {
    received: 0,
    authorizing: 0,
    'authorization-unknown': 0,
    review: 0,
    'ready-to-ship': 0,
    denied: 0,
  };
  const rows = await database.query<{ status: OrderStatus; count: number }>(COUNT_BY_STATUS, []);
  for (const { status, count } of rows) counts[status] = count;
  return counts;
}

const COUNT_DECIDED_UNNOTIFIED = {
  name: 'count decided orders that are not notified',
  text: `
    select count(*)::float8 as count from ${UNFINISHED_ORDERS} o where status in ('ready-to-ship', 'denied')`,
};

async function countDecidedUnnotified(database: Database): Promise<number> {
  const [row] = await database.query<{ count: number }>(COUNT_DECIDED_UNNOTIFIED, []);
  return row?.count ?? 0;
}

const LIST_PAGE = {
  name: 'list orders',
  text: `
    select order_id, status, amount_minor::text, currency, gateway_reference, ${asMs('notified_at')}
    from cardauth.orders where order_id > $1 order by order_id limit ${PAGE_LENGTH}`,
};

interface SummaryRow {
  readonly order_id: OrderId;
  readonly status: OrderStatus;
  readonly amount_minor: string;
  readonly currency: string;
  readonly gateway_reference: string | null;
  readonly notified_at_ms: number | null;
}

async function* list(database: Database): AsyncGenerator<OrderSummary> {
  let after = '';
  for (;;) {
    const page = await database.query<SummaryRow>(LIST_PAGE, [after]);
    for (const row of page) yield orderSummary(row);
    const last = page[PAGE_LENGTH - 1];
    if (last === undefined) return;
    after = last.order_id;
  }
}

function orderSummary(row: SummaryRow): OrderSummary {
  return {
    orderId: row.order_id,
    status: row.status,
    amountMinor: BigInt(row.amount_minor),
    currency: row.currency,
    gatewayReference: row.gateway_reference ?? undefined,
    notifiedAtMs: wholeMs(row.notified_at_ms),
  };
}
