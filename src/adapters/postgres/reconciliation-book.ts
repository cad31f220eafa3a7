import type { StoredOrder } from '../../domain/order-states.ts';
import type { OrderId } from '../../domain/order.ts';
import type { Log } from '../../ports/log.ts';
import type { ReconciliationBook, ReconciliationRun } from '../../ports/reconciliation-book.ts';
import { Database } from './connection.ts';
import { ORDER_COLUMNS, storedOrder, type OrderRow } from './rows.ts';

/** A page of a wide range is found by reading over what lies outside of it. */
const WALL_MS = 60_000;
const CONNECT_WALL_MS = 5_000;
const PAGE_LENGTH = 1_000;

/** Connects when first asked. */
export function openReconciliationBook(options: {
  readonly databaseUrl: string;
  readonly log: Log;
}): ReconciliationBook & { close(): Promise<void> } {
  const database = new Database({
    ...options,
    applicationName: 'cardauth reconciliation',
    wallMs: WALL_MS,
    connectWallMs: CONNECT_WALL_MS,
    connections: 1,
    settings: 'set jit = off',
  });
  return {
    async ordersOf(orderIds) {
      const rows = await database.query<OrderRow>(ORDERS_OF, [orderIds]);
      return rows.map(storedOrder);
    },
    approvals: (range) => approvals(database, range),
    async keep(run) {
      await database.query(KEEP, runValues(run));
    },
    close: () => database.close(),
  };
}

const ORDERS_OF = {
  name: 'read orders to reconcile',
  text: `
    select o.order_id, ${ORDER_COLUMNS}
    from cardauth.orders o
    left join cardauth.attempts a on a.order_id = o.order_id and a.generation = o.generation
    where o.order_id = any ($1::text[])`,
};

const APPROVALS = {
  name: 'read approvals to reconcile',
  text: `
    select o.order_id, ${ORDER_COLUMNS}
    from cardauth.attempts a
    join cardauth.orders o on o.order_id = a.order_id and o.generation = a.generation
    where a.state = 'approved' and a.order_id > $1
      and a.created_at between to_timestamp($2::float8 / 1000) and to_timestamp($3::float8 / 1000)
    order by a.order_id limit ${PAGE_LENGTH}`,
};

async function* approvals(
  database: Database,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): AsyncGenerator<StoredOrder> {
  let after: OrderId = '';
  for (;;) {
    const page = await database.query<OrderRow>(APPROVALS, [after, fromMs, toMs]);
    for (const row of page) yield storedOrder(row);
    const last = page[PAGE_LENGTH - 1];
    if (last === undefined) return;
    after = last.order_id;
  }
}

const KEEP = {
  name: 'keep reconciliation',
  text: `
    with run as (
      insert into cardauth.reconciliation_runs
        (run_id, started_at, source, range_from, range_to, holds, approvals, fixing)
      values ($1, to_timestamp($2::float8 / 1000), $3, to_timestamp($4::float8 / 1000),
        to_timestamp($5::float8 / 1000), $6, $7, $8)
      returning run_id
    )
    insert into cardauth.reconciliation_differences
      (run_id, number, kind, order_id, gateway_reference, explanation, settled)
    select run.run_id, number, kind, order_id, reference, explanation, settled
    from run, json_to_recordset($9::json) as row
      (number int, kind text, order_id text, reference text, explanation text, settled text)`,
};

function runValues(run: ReconciliationRun): unknown[] {
  const differences = run.differences.map(({ orderId, ...difference }, index) => ({
    ...difference,
    number: index + 1,
    order_id: orderId,
  }));
  const { runId, startedAtMs, source, fromMs, toMs, holds, approvals: ours, isFixing } = run;
  return [runId, startedAtMs, source, fromMs, toMs, holds, ours, isFixing, JSON.stringify(differences)];
}
