/**
 * One group commit: facts of different orders, decided together and written by one statement.
 *
 *   READ    the orders with their attempts, in one snapshot, and the database's clock; but for those that this worker
 *           has just written (recent-orders.ts)
 *   ALIVE   only when somebody else's claim is in the way: which of those sessions still hold their locks
 *   decide  each fact, by the domain's rules
 *   WRITE   orders, attempts, events and operators' actions, in one statement, which is the transaction
 *
 * No lock is held between the statements: a worker that freezes here holds nobody up. Instead the write is fenced.
 * It takes an order only if its version is still the one that was decided upon (none, for a new order), writes
 * attempt and event only for orders that it took, and reports those. A fact whose order was overtaken is simply
 * decided again. So of two workers that claim the same new order, one inserts it and the other finds it claimed.
 *
 * Orders are written in the order of their ids: statements of several workers wait for one another, never in a circle.
 */
import { decide, type Attempt, type StoredOrder } from '../../domain/order-states.ts';
import type { OrderId } from '../../domain/order.ts';
import type { SoftDeclineRetry } from '../../domain/soft-declines.ts';
import type { AppliedFact } from '../../ports/order-book.ts';
import type { Queryable } from './connection.ts';
import type { RecentOrders } from './recent-orders.ts';
import {
  asTime,
  FACT_ROW_COLUMNS,
  factRow,
  leavesTrace,
  ORDER_COLUMNS,
  storedOrder,
  type DecidedFact,
  type FactOfOrder,
  type OrderRow,
} from './rows.ts';
import { livingWorkers } from './worker-session.ts';

/** What decisions depend on besides order, fact and database. */
export interface Terms {
  /** This worker's session. */
  readonly worker: number;
  readonly leaseMs: number;
  readonly keyWindowMs: number;
  readonly inquiryWaitsMs: readonly number[];
  readonly softDeclineRetry?: SoftDeclineRetry | undefined;
}

/** The decision on a fact, committed; `overtaken`: the order changed meanwhile, nothing was written for it. */
export type Result = AppliedFact | 'overtaken';

/**
 * Decides and records `facts`, at most one an order. Resolves after the commit with one result a fact, in their
 * order. Rejects with what connection.ts throws; nothing was written then, unless the reply to a commit was lost.
 */
export async function commitTogether(
  database: Queryable,
  facts: readonly FactOfOrder[],
  terms: Terms,
  recent: RecentOrders,
): Promise<Result[]> {
  const { orders, remembered, nowMs } = await read(database, facts, recent);
  const carriedOut = await ordersOfRepeatedCommands(database, facts);
  const alive = await livingWorkers(database, claimantsInTheWay(facts, orders, terms.worker));
  const context = { ...terms, nowMs, isAlive: (worker: number) => alive.has(worker) };

  const decided = facts.map((each): DecidedFact | Result => {
    const { orderId, fact, remark, command } = each;
    const before = orders.get(orderId);
    if (carriedOut.has(orderId)) return repeated(before);
    const decision = decide(before, fact, context);
    // No write would tell whether the order is still as it is remembered.
    if (decision.order === before && remembered.has(orderId)) return 'overtaken';
    return { orderId, fact, remark, command, before, decision, worker: terms.worker };
  });

  const taken = await write(database, decided.filter(isDecided).filter(leavesTrace));
  return decided.map((each, index): Result => {
    const result = isDecided(each) ? resultOf(each, taken) : each;
    const orderId = facts[index]?.orderId ?? '';
    if (result !== 'overtaken' && taken.has(orderId)) recent.wrote(orderId, result);
    else recent.forget(orderId);
    return result;
  });
}

function isDecided(each: DecidedFact | Result): each is DecidedFact {
  return each !== 'overtaken' && 'decision' in each;
}

function resultOf({ orderId, before, decision }: DecidedFact, taken: ReadonlySet<OrderId>): Result {
  return decision.order === before || taken.has(orderId) ? decision : 'overtaken';
}

function repeated(order: StoredOrder | undefined): AppliedFact {
  return { order, next: { step: 'nothing' }, alarm: undefined, isRepeated: true };
}

/** The row of an order that is not stored carries its id and the time only. */
type ReadRow = { readonly now_ms: number } & (
  OrderRow | { readonly order_id: OrderId; readonly version: null }
);

const READ = {
  name: 'read orders',
  text: `
    select asked.order_id, (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms, ${ORDER_COLUMNS}
    from unnest($1::text[]) as asked (order_id)
    left join cardauth.orders o on o.order_id = asked.order_id
    left join cardauth.attempts a on a.order_id = o.order_id and a.generation = o.generation`,
};

/** `remembered`: not read, but as this worker has written them last. */
async function read(
  database: Queryable,
  facts: readonly FactOfOrder[],
  recent: RecentOrders,
): Promise<{ orders: Map<OrderId, StoredOrder>; remembered: Set<OrderId>; nowMs: number }> {
  const orders = new Map<OrderId, StoredOrder>();
  for (const each of facts) {
    const order = recent.before(each);
    if (order !== undefined) orders.set(each.orderId, order);
  }
  const remembered = new Set(orders.keys());
  const asked = facts.map(({ orderId }) => orderId).filter((orderId) => !remembered.has(orderId));
  if (asked.length > 0) {
    const rows = await database.query<ReadRow>(READ, [asked]);
    recent.setTime(Math.max(...rows.map(({ now_ms: nowMs }) => nowMs)));
    for (const row of rows) if (row.version !== null) orders.set(row.order_id, storedOrder(row));
  }
  return { orders, remembered, nowMs: recent.nowMs() };
}

const REPEATED = {
  name: 'find repeated commands',
  text: `
    select asked.order_id
    from unnest($1::text[], $2::text[]) as asked (order_id, command_id)
    join cardauth.audit_log l on l.command_id = asked.command_id and l.subject = 'order:' || asked.order_id`,
};

/** Asks only when there are operators' commands among the facts. */
async function ordersOfRepeatedCommands(
  database: Queryable,
  facts: readonly FactOfOrder[],
): Promise<Set<OrderId>> {
  const commanded = facts.filter(({ command }) => command !== undefined);
  if (commanded.length === 0) return new Set();
  const rows = await database.query<{ order_id: OrderId }>(REPEATED, [
    commanded.map(({ orderId }) => orderId),
    commanded.map(({ command }) => command?.commandId),
  ]);
  return new Set(rows.map((row) => row.order_id));
}

/** Owners of unreleased claims on orders that somebody else asks for now. */
function claimantsInTheWay(
  facts: readonly FactOfOrder[],
  orders: ReadonlyMap<OrderId, StoredOrder>,
  worker: number,
): Set<number> {
  const claimed = facts.filter(({ fact }) => fact.kind === 'claim' || fact.kind === 'settled');
  const attempts = claimed.map(({ orderId }) => orders.get(orderId)?.attempt);
  const inTheWay = (attempt: Attempt | undefined): attempt is Attempt =>
    attempt?.leaseUntilMs !== undefined && attempt.owner !== worker;
  return new Set(attempts.filter(inTheWay).map(({ owner }) => owner));
}

// `on conflict do update ... where` is the fence: a new order has version 1 and never matches a stored one. The last
// condition of the other two, `not changed or ...`, is the same in both and is planned as one look-up in a hash.
const WRITE = {
  name: 'write orders',
  text: `
    with fact as materialized (
      select * from json_to_recordset($1::json) as row (${FACT_ROW_COLUMNS})
    ),
    taken as (
      insert into cardauth.orders as o (
        order_id, customer_id, status, status_reason, amount_minor, currency, fingerprint, card_brand, card_last4,
        gateway_reference, authorization_expires_at, generation, attempts, decided_at, notified_at, retry_at,
        retry_until, version)
      select
        order_id, customer_id, status, status_reason, amount_minor, currency, fingerprint, card_brand, card_last4,
        gateway_reference, ${asTime('authorization_expires_at')}, generation, attempts, ${asTime('decided_at')},
        ${asTime('notified_at')}, ${asTime('retry_at')}, ${asTime('retry_until')}, version
      from fact where changed order by order_id collate "C"
      on conflict (order_id) do update set
        status = excluded.status, status_reason = excluded.status_reason,
        gateway_reference = excluded.gateway_reference,
        authorization_expires_at = excluded.authorization_expires_at, generation = excluded.generation,
        attempts = excluded.attempts, decided_at = excluded.decided_at, notified_at = excluded.notified_at,
        retry_at = excluded.retry_at, retry_until = excluded.retry_until,
        version = excluded.version, updated_at = now()
      where o.version = excluded.version - 1
      returning o.order_id
    ),
    attempted as (
      insert into cardauth.attempts as a (
        order_id, generation, idempotency_key, gateway_reference, claim, owner, lease_until, key_used_since,
        maybe_sent, state, decline_class, inquiries, resolve_due_at, void_reference, void_state, void_tries,
        last_outcome, detail)
      select
        order_id, generation, idempotency_key, attempt_reference, claim, owner, ${asTime('lease_until')},
        ${asTime('key_used_since')}, maybe_sent, state, decline_class, inquiries, ${asTime('resolve_due_at')},
        void_reference, void_state, void_tries, outcome, detail
      from fact where attempt_changed and (not changed or order_id in (select order_id from taken))
      on conflict (order_id, generation) do update set
        gateway_reference = coalesce(excluded.gateway_reference, a.gateway_reference), claim = excluded.claim,
        owner = excluded.owner, lease_until = excluded.lease_until, key_used_since = excluded.key_used_since,
        maybe_sent = excluded.maybe_sent, state = excluded.state, decline_class = excluded.decline_class,
        inquiries = excluded.inquiries, resolve_due_at = excluded.resolve_due_at,
        void_reference = excluded.void_reference, void_state = excluded.void_state,
        void_tries = excluded.void_tries,
        last_outcome = coalesce(excluded.last_outcome, a.last_outcome),
        detail = coalesce(excluded.detail, a.detail), updated_at = now()
    ),
    noted as (
      insert into cardauth.order_events (
        order_id, fact, generation, version, claim, worker, status_before, status_after, outcome, detail, alarm)
      select
        order_id, fact, generation, version, fact_claim, worker, status_before, status, outcome, detail, alarm
      from fact where not changed or order_id in (select order_id from taken)
    ),
    audited as (
      insert into cardauth.audit_log (command_id, actor, action, reason, subject, before, after)
      select command_id, actor, action, reason, subject, audit_before, audit_after
      from fact where command_id is not null and (not changed or order_id in (select order_id from taken))
    )
    select order_id from taken`,
};

/** Ids of the changed orders that were taken: of the version they were decided upon. */
async function write(database: Queryable, decided: readonly DecidedFact[]): Promise<Set<OrderId>> {
  if (decided.length === 0) return new Set();
  const rows = await database.query<{ order_id: OrderId }>(WRITE, [JSON.stringify(decided.map(factRow))]);
  return new Set(rows.map((row) => row.order_id));
}
