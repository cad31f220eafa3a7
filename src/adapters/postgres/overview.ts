/**
 * Figures over all orders, cheap however many there are, since none of them reads the table as a whole. Plans on 300,000
 * orders, 300 of them unfinished and 2,880 of the last day:
 * - `unfinished`, 1.6 ms: the list of them and their orders by primary key (Nested Loop); 260 ms with 50,000 of them;
 * - `books`, 6 ms: the orders by orders_by_age or the BRIN index orders_created_at, and the approvals by
 *   attempts_one_open_or_approved.
 */
import type { OrderStatus } from '../../domain/order-states.ts';
import type { BookFigures, Overview, Unfinished, UnfinishedOrders } from '../../ports/overview.ts';
import type { Database } from './connection.ts';
import { overdueRetries } from './retry-ledger.ts';
import { UNFINISHED_ORDERS } from './rows.ts';

export function createOverview(database: Database): Overview {
  return {
    unfinished: () => unfinished(database),
    books: (sinceMs) => books(database, sinceMs),
  };
}

const UNFINISHED = {
  name: 'unfinished orders',
  text: `
    select distinct on (status) status, (count(*) over (partition by status))::float8 as count, order_id,
      (extract(epoch from now() - created_at) * 1000)::float8 as age_ms
    from ${UNFINISHED_ORDERS} o
    order by status, created_at`,
};

const PARKED = {
  name: 'count parked',
  text: `select count(*)::float8 as count from cardauth.parked_orders where closed_at is null`,
};

interface UnfinishedRow {
  readonly status: OrderStatus;
  readonly count: number;
  readonly order_id: string;
  readonly age_ms: number;
}

async function unfinished(database: Database): Promise<Unfinished> {
  const rows = await database.query<UnfinishedRow>(UNFINISHED, []);
  const [parked] = await database.query<{ count: number }>(PARKED, []);
  const overdue = await overdueRetries(database, 1);
  const byStatus: Partial<Record<OrderStatus, UnfinishedOrders>> = {};
  for (const { status, count, order_id: orderId, age_ms: ageMs } of rows) {
    byStatus[status] = { count, oldest: { orderId, ageMs: Math.max(0, Math.round(ageMs)) } };
  }
  return { byStatus, parked: parked?.count ?? 0, overdueRetries: overdue.count };
}

// An approved attempt of any generation counts: a later generation of an approved order must not exist.
const BOOKS = {
  name: 'books of orders',
  text: `
    select o.status, count(*)::float8 as count,
      count(*) filter (where a.order_id is not null)::float8 as approved,
      count(*) filter (where (o.status = 'ready-to-ship') <> (a.order_id is not null)
        or (a.order_id is not null and a.gateway_reference is distinct from o.gateway_reference))::float8
        as contradictory,
      count(*) filter (where o.status = 'ready-to-ship' and o.notified_at is not null)::float8 as notified,
      count(*) filter (where o.status = 'ready-to-ship' and o.notified_at is null)::float8 as to_be_notified,
      count(*) filter (where o.decided_at is not null and o.attempts >= 1)::float8 as asked,
      count(*) filter (where o.decided_at is not null and o.attempts = 1)::float8 as asked_once
    from cardauth.orders o
    left join cardauth.attempts a on a.order_id = o.order_id and a.state = 'approved'
    where o.created_at >= to_timestamp($1::float8 / 1000)
    group by o.status`,
};

interface BookRow {
  readonly status: OrderStatus;
  readonly count: number;
  readonly approved: number;
  readonly contradictory: number;
  readonly notified: number;
  readonly to_be_notified: number;
  readonly asked: number;
  readonly asked_once: number;
}

async function books(database: Database, sinceMs: number): Promise<BookFigures> {
  const rows = await database.query<BookRow>(BOOKS, [sinceMs]);
  const sum = (of: (row: BookRow) => number) => rows.reduce((total, row) => total + of(row), 0);
  const ready = rows.filter(({ status }) => status === 'ready-to-ship');
  const countOf = (status: OrderStatus) => rows.find((row) => row.status === status)?.count ?? 0;
  return {
    received: sum((row) => row.count),
    byStatus: {
      received: countOf('received'),
      authorizing: countOf('authorizing'),
      'authorization-unknown': countOf('authorization-unknown'),
      review: countOf('review'),
      'ready-to-ship': countOf('ready-to-ship'),
      denied: countOf('denied'),
    },
    approved: sum((row) => row.approved),
    contradictory: sum((row) => row.contradictory),
    approvedNotified: sum((row) => row.notified),
    approvedToBeNotified: sum((row) => row.to_be_notified),
    asked: sum((row) => row.asked),
    askedApproved: ready[0]?.asked ?? 0,
    askedOnceApproved: ready[0]?.asked_once ?? 0,
  };
}
