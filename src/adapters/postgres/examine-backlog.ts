import type pg from 'pg';

import { findingsOf, type Finding } from '../../ports/examination.ts';
import { run } from './connection.ts';
import { fromDatabase } from './database-error.ts';
import { UNFINISHED_ORDERS } from './rows.ts';

interface Question {
  readonly check: string;
  /** Selects `count` and `oldest_s`, the age of the oldest one in seconds. */
  readonly sql: string;
  readonly nothing: string;
  readonly some: (count: number, age: string) => string;
  readonly remedy: string;
}

const QUESTIONS: readonly Question[] = [
  {
    check: 'orders.without-verdict',
    // The index on resolve_due_at holds only these rows. A quarter of an hour is far beyond the resolver's pace.
    sql: `
      select count(*)::int as count, extract(epoch from now() - min(resolve_due_at))::float8 as oldest_s
      from cardauth.attempts where resolve_due_at < now() - interval '15 minutes'`,
    nothing: 'no order without a verdict or announcement is overdue',
    some: (count, age) => `${count} order(s) are due to be looked after, the first since ${age}`,
    remedy: 'is a worker running, and its intake not held? see /readyz',
  },
  {
    check: 'orders.in-review',
    sql: `
      select count(*)::int as count, extract(epoch from now() - min(updated_at))::float8 as oldest_s
      from ${UNFINISHED_ORDERS} o where status = 'review'`,
    nothing: 'no order is in review',
    some: (count, age) => `${count} order(s) are in review, the first since ${age}`,
    remedy: 'compare `cardauth orders show ID` with the gateway',
  },
  {
    check: 'orders.unannounced',
    sql: `
      select count(*)::int as count, extract(epoch from now() - min(decided_at))::float8 as oldest_s
      from ${UNFINISHED_ORDERS} o
      where status in ('ready-to-ship', 'denied') and decided_at < now() - interval '5 minutes'`,
    nothing: 'every order that was decided is announced',
    some: (count, age) => `${count} order(s) are decided and not announced, the first since ${age}`,
    remedy: 'is the notification exchange there, with a queue bound to it?',
  },
  {
    check: 'orders.parked',
    sql: `
      select count(*)::int as count, extract(epoch from now() - min(parked_at))::float8 as oldest_s
      from cardauth.parked_orders where state = 'parked'`,
    nothing: 'no order is parked',
    some: (count, age) => `${count} order(s) are parked, the first since ${age}`,
    remedy: 'each waits for a person; its reason says for what',
  },
];

/** What waits for a person or a worker: counts, which on a very large table may take too long and are then skipped. */
export async function examineBacklog(client: pg.Client): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const question of QUESTIONS) findings.push(await answer(client, question));
  return findings;
}

async function answer(client: pg.Client, question: Question): Promise<Finding> {
  const { check, sql, nothing, some, remedy } = question;
  const { ok, warning, skipped } = findingsOf(check);
  try {
    const [row] = await run<{ count: number; oldest_s: number | null }>(client, sql);
    if (row === undefined || row.count === 0) return ok(nothing);
    return warning(some(row.count, ageText(row.oldest_s ?? 0)), remedy);
  } catch (error) {
    return skipped(`not counted: ${fromDatabase(error).message}`);
  }
}

function ageText(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 72 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}
