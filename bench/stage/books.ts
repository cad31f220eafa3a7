import type { Contestant } from '../contestants/contestants.ts';
import { query } from './databases.ts';
import type { Broker } from './broker.ts';
import type { Gateway } from '../gateway/gateway.ts';

export interface Judged {
  readonly contestant: Contestant;
  readonly databaseUrl: string;
  /** That it was given: numbers 1 to this. */
  readonly orders: number;
  /** Order ids, where somebody received the announcements meanwhile; else they are on downstream's queue. */
  readonly announced?: ReadonlySet<string>;
}

/** Who knows what happened, besides the database. */
export interface JudgedBy {
  readonly gateway: Pick<Gateway, 'counts'>;
  readonly broker: Pick<Broker, 'takeReceipts' | 'neverTaken'>;
}

/** A contestant was fast by doing less, or wrong. */
export class WrongResult extends Error {
  override readonly name = 'WrongResult';
}

/** After it has ended: throws WrongResult when orders were lost, charged twice or not announced. */
export async function judge(by: JudgedBy, judged: Judged): Promise<void> {
  const { contestant, orders } = judged;
  const problems = [
    ...(await chargeProblems(by, orders)),
    ...(contestant.table === undefined ? [] : await recordProblems(judged, contestant.table)),
    ...(contestant.table === undefined ? [] : await announcementProblems(by, judged)),
    ...(await queueProblems(by)),
  ];
  if (problems.length > 0) throw new WrongResult(`${contestant.name}: ${problems.join(', ')}`);
}

async function chargeProblems({ gateway }: JudgedBy, orders: number): Promise<string[]> {
  const counts = await gateway.counts();
  return [
    ...(counts.orders === orders ? [] : [`${counts.orders} of ${orders} orders were charged`]),
    ...(counts.chargedAgain === 0 ? [] : [`${counts.chargedAgain} charges too many`]),
  ];
}

async function recordProblems({ databaseUrl, orders }: Judged, table: string): Promise<string[]> {
  const done = await doneIn(databaseUrl, table);
  return done === orders ? [] : [`${done} of ${orders} orders are recorded as approved and announced`];
}

/** How many of a round's orders are approved, announced, and marked as such. */
export async function doneIn(databaseUrl: string, table: string): Promise<number> {
  const [row] = await query<{ done: number }>(
    databaseUrl,
    `select count(*)::int as done from ${table}
     where status = 'ready-to-ship' and notified_at is not null and ${OF_THIS_ROUND}`,
  );
  return row?.done ?? 0;
}

/** When each of them was, in milliseconds since the epoch, earliest first. */
export async function doneTimesIn(databaseUrl: string, table: string): Promise<readonly number[]> {
  const rows = await query<{ at_ms: number }>(
    databaseUrl,
    `select (extract(epoch from notified_at) * 1000)::float8 as at_ms from ${table}
     where notified_at is not null and ${OF_THIS_ROUND} order by 1`,
  );
  return rows.map(({ at_ms: atMs }) => atMs);
}

/** Not one that a series put into the table before. */
const OF_THIS_ROUND = `order_id not like 'old-%'`;

async function announcementProblems({ broker }: JudgedBy, judged: Judged): Promise<string[]> {
  const { orders, announced = new Set((await broker.takeReceipts()).map(({ orderId }) => orderId)) } = judged;
  return announced.size === orders ? [] : [`${announced.size} of ${orders} orders were announced`];
}

async function queueProblems({ broker }: JudgedBy): Promise<string[]> {
  const left = await broker.neverTaken();
  return left === 0 ? [] : [`${left} orders were never taken off the queue`];
}
