/** Pages of orders for people: one statement a page, each answered from an index (0007-order-search.sql). */
import { createHash } from 'node:crypto';
import type { OrderStatus } from '../../domain/order-states.ts';
import type { Log } from '../../ports/log.ts';
import type { FoundOrder, OrderFilter, OrderPage, OrderSearch } from '../../ports/order-search.ts';
import { Database, type Statement } from './connection.ts';
import {
  asMs,
  ATTEMPT_COLUMNS,
  ORDER_COLUMNS,
  storedAttempt,
  storedOrder,
  UNFINISHED_ORDERS,
} from './rows.ts';
import type { AttemptRow, OrderRow } from './rows.ts';
import { livingWorkers } from './worker-session.ts';

/** The longest that an operator waits for a page that no index helps with. */
const WALL_MS = 60_000;
const CONNECT_WALL_MS = 5_000;

export interface PostgresOrderSearch extends OrderSearch {
  close(): Promise<void>;
}

/** Connects when first asked. */
export function openOrderSearch(options: {
  readonly databaseUrl: string;
  readonly log: Log;
}): PostgresOrderSearch {
  const database = new Database({
    ...options,
    applicationName: 'cardauth search',
    wallMs: WALL_MS,
    connectWallMs: CONNECT_WALL_MS,
    connections: 1,
    settings: 'set default_transaction_read_only = on',
  });
  return { find: (filter) => find(database, filter), close: () => database.close() };
}

async function find(database: Database, filter: OrderFilter): Promise<OrderPage> {
  const { statement, values } = searchStatement(filter);
  const rows = await database.query<FoundRow>(statement, values);
  const [first] = rows;
  // Nothing found carries no time: any will do, there is nothing that it could be compared with.
  if (first === undefined) return { orders: [], end: undefined, readAtMs: 0, livingWorkers: new Set() };
  const orders = rows.slice(0, filter.limit).map(foundOrder);
  const last = rows.length > filter.limit ? rows[filter.limit - 1] : undefined;
  const owners = orders.flatMap(({ order: { attempt } }) =>
    attempt?.leaseUntilMs === undefined ? [] : [attempt.owner],
  );
  return {
    orders,
    end: last && { seenAtUs: last.seen_at_us, orderId: last.order_id },
    readAtMs: first.read_at_ms,
    livingWorkers: await livingWorkers(database, new Set(owners)),
  };
}

type FoundRow = OrderRow & {
  readonly seen_at_us: string;
  readonly seen_at_ms: number;
  readonly updated_at_ms: number;
  readonly read_at_ms: number;
  readonly earlier_rows: readonly (AttemptRow & { readonly generation: number })[];
};

function foundOrder(row: FoundRow): FoundOrder {
  return {
    order: storedOrder(row),
    earlierAttempts: row.earlier_rows.map((one) => ({ ...storedAttempt(one), generation: one.generation })),
    seenAtMs: Math.round(row.seen_at_ms),
    updatedAtMs: Math.round(row.updated_at_ms),
  };
}

/** One more than the page's length is read: it tells whether there is another page. */
export function searchStatement(filter: OrderFilter): {
  readonly statement: Statement;
  readonly values: readonly unknown[];
} {
  const values: unknown[] = [];
  const value = (one: unknown): string => `$${values.push(one)}`;
  const conditions = conditionsOf(filter, value);
  const orders = isOfUnfinished(filter) ? UNFINISHED_ORDERS : 'cardauth.orders';
  const direction = filter.newestFirst ? 'desc' : 'asc';
  const text = `
    select o.order_id, ${ORDER_COLUMNS}, ${asMs('o.updated_at')},
      (extract(epoch from o.created_at) * 1000)::float8 as seen_at_ms,
      (extract(epoch from o.created_at) * 1000000)::bigint::text as seen_at_us,
      (extract(epoch from now()) * 1000)::float8 as read_at_ms,
      case when o.generation = 1 then '[]' else (
        select coalesce(json_agg(row), '[]') from (
          select a.generation, ${ATTEMPT_COLUMNS} from cardauth.attempts a
          where a.order_id = o.order_id and a.generation < o.generation order by a.generation
        ) row
      ) end as earlier_rows
    from (
      select * from ${orders} o
      ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`}
      order by o.created_at ${direction}, o.order_id ${direction} limit ${value(filter.limit + 1)}::int
    ) o
    left join cardauth.attempts a on a.order_id = o.order_id and a.generation = o.generation
    order by o.created_at ${direction}, o.order_id ${direction}`;
  return { statement: { name: `search orders ${digestOf(text)}`, text }, values };
}

/** A name for each of the texts that the conditions make. */
function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

function conditionsOf(filter: OrderFilter, value: (one: unknown) => string): string[] {
  const { statuses, reason, reference, cardLast4, customerId, after } = filter;
  const conditions: string[] = [];
  if (statuses.length > 0) conditions.push(`o.status = any (${value(statuses)}::text[])`);
  if (filter.isUnannounced) conditions.push(`o.status in ('ready-to-ship', 'denied')`);
  if (reason !== undefined) conditions.push(`o.status_reason = ${value(reason)}`);
  if (customerId !== undefined) conditions.push(`o.customer_id = ${value(customerId)}`);
  if (cardLast4 !== undefined) conditions.push(`o.card_last4 = ${value(cardLast4)}`);
  if (reference !== undefined) conditions.push(hasReference(value(reference)));
  if (filter.seenBeforeMs !== undefined)
    conditions.push(`o.created_at < ${time(value(filter.seenBeforeMs))}`);
  if (filter.seenSinceMs !== undefined) conditions.push(`o.created_at >= ${time(value(filter.seenSinceMs))}`);
  if (after !== undefined) {
    const comparison = filter.newestFirst ? '<' : '>';
    const seenAt = `timestamptz 'epoch' + ${value(after.seenAtUs)}::bigint * interval '1 microsecond'`;
    conditions.push(`(o.created_at, o.order_id) ${comparison} (${seenAt}, ${value(after.orderId)})`);
  }
  return conditions;
}

/** Only decided orders are announced (orders_only_decisions_are_notified). */
function isOfUnfinished({ isUnannounced, statuses }: OrderFilter): boolean {
  return isUnannounced || (statuses.length > 0 && statuses.every(isUndecided));
}

function isUndecided(status: OrderStatus): boolean {
  return status !== 'ready-to-ship' && status !== 'denied';
}

function hasReference(reference: string): string {
  return `o.order_id in (
        select order_id from cardauth.attempts where gateway_reference = ${reference}
        union all select order_id from cardauth.attempts where void_reference = ${reference}
      )`;
}

function time(ms: string): string {
  return `timestamptz 'epoch' + ${ms}::float8 * interval '1 millisecond'`;
}
