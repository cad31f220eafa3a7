import { heatOf } from '../contest.ts';
import { ours } from '../contestants/contestants.ts';
import { spreadOf, type Spread } from '../report/spread.ts';
import { query } from '../stage/databases.ts';
import { playHeat } from '../stage/heat.ts';
import type { Stage } from '../stage/stage.ts';
import { takeTurns } from '../stage/turns.ts';

/** How a worker fares with ten times as many orders of the past in its tables. */
export interface TableFigures {
  readonly rows: number;
  readonly ordersPerSecond: Spread;
  readonly tenfold: { readonly rows: number; readonly ordersPerSecond: Spread };
  /** Tenfold over single, within each round. */
  readonly ratio: Spread;
}

/** Real ones, from which the others are copied. */
const MODEL_ORDERS = 100;

export async function measureTable(
  stage: Stage,
  { orders, rounds }: { readonly orders: number; readonly rounds: number },
  show: (progress: string) => void,
): Promise<TableFigures> {
  const rows = Math.ceil((orders * 2) / MODEL_ORDERS) * MODEL_ORDERS;
  const heat = heatOf(ours, orders);
  const names = ['table x1', 'table x10'] as const;
  const [single, tenfold] = [await databaseWith(stage, rows), await databaseWith(stage, rows * 10)];
  const turns = await takeTurns(
    stage,
    rounds,
    new Map([
      [names[0], { ...heat, template: single }],
      [names[1], { ...heat, template: tenfold }],
    ]),
    show,
  );
  for (const template of [single, tenfold]) await stage.databases.drop(template);
  const [one = [], ten = []] = names.map((name) =>
    turns.get(name)?.map(({ ordersPerSecond }) => ordersPerSecond),
  );
  return {
    rows,
    ordersPerSecond: spreadOf(one),
    tenfold: { rows: rows * 10, ordersPerSecond: spreadOf(ten) },
    ratio: spreadOf(ten.map((rate, round) => rate / (one[round] ?? NaN))),
  };
}

/** A database whose tables hold so many orders that were done long ago, each with its attempt and its history. */
async function databaseWith(stage: Stage, rows: number): Promise<string> {
  const { databaseUrl } = await playHeat(stage, {
    contestant: ours,
    orders: MODEL_ORDERS / 2,
    warmUpOrders: MODEL_ORDERS / 2,
  });
  await query(databaseUrl, copiesOf(rows / MODEL_ORDERS));
  await query(databaseUrl, 'vacuum analyze');
  return databaseUrl;
}

/** Triggers are off meanwhile: they forbid none of this to a new order, but take the time of a million orders. */
function copiesOf(times: number): string {
  const copy = (table: string, ...renamed: readonly string[]): string => {
    const fields = [`'order_id', 'old-' || n || '-' || t.order_id`, ...renamed].join(', ');
    return `
      insert into cardauth.${table} overriding system value
        select (jsonb_populate_record(t, jsonb_build_object(${fields}))).*
        from cardauth.${table} t, generate_series(1, ${times}) n;
      delete from cardauth.${table} where order_id not like 'old-%';`;
  };
  const reference = `'gateway_reference', t.gateway_reference || '-' || n`;
  return `
    set session_replication_role = replica;
    ${copy('orders', reference)}
    ${copy('attempts', reference, `'idempotency_key', 'order-old-' || n || '-' || t.order_id || '-1'`)}
    ${copy('order_events')}`;
}
