/** When a run may go on: every order is decided and announced or with a person, or nothing changes any more. */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { entriesOf } from './files.ts';
import type { Plan } from './plan.ts';
import type { JournalEntry } from './publisher-process.ts';
import type { Stage } from './stage.ts';

export interface Progress {
  readonly doing: string;
  readonly decided: number;
  readonly blows: number;
}

/** A run under way. */
export interface Run {
  readonly stage: Stage;
  readonly plan: Plan;
  /** To the database, which may be away. */
  readonly pool: pg.Pool;
  readonly show: (progress: Progress) => void;
}

const LOOK_EVERY_MS = 1_000;
/** Without any change for so long, what is open stays open, and is judged so. */
const PATIENCE_MS = 60_000;
/** Once it was waited for in vain. */
const IMPATIENCE_MS = 5_000;

/** Whether everything is settled; `wasInVain`: it was not the last time, and is not expected to be. */
export async function settle(run: Run, { wasInVain = false } = {}): Promise<boolean> {
  const { plan, pool, show, stage } = run;
  const published = orderIdsIn(stage.folder);
  const patienceMs = wasInVain ? IMPATIENCE_MS : PATIENCE_MS;
  let last = '';
  let changedAtMs = performance.now();
  while (performance.now() - changedAtMs < patienceMs) {
    const { open, known } = await openIn(pool);
    const missing = published.size - known;
    if (open === 0 && missing <= 0) return true;
    const now = `${open} open, ${Math.max(0, missing)} not stored`;
    if (now !== last) changedAtMs = performance.now();
    last = now;
    show({ doing: `calm: ${now}`, decided: await decidedIn(pool), blows: plan.blows.length });
    await sleep(LOOK_EVERY_MS);
  }
  return false;
}

function orderIdsIn(folder: string): Set<string> {
  return new Set(entriesOf<JournalEntry>(folder, 'journal').flatMap(({ orderId }) => orderId ?? []));
}

export async function decidedIn(pool: pg.Pool): Promise<number> {
  const { count } = await counted<{ count: number }>(
    pool,
    'select count(*)::int as count from cardauth.orders where notified_at is not null',
    { count: 0 },
  );
  return count;
}

/** Orders that somebody still has to do something about, and those that are stored, or parked without being so. */
async function openIn(pool: pg.Pool): Promise<{ open: number; known: number }> {
  return counted(
    pool,
    `with parked as (select distinct order_id from cardauth.order_events where fact = 'parked')
     select
       (select count(*)::int from cardauth.orders o
        where o.status = 'authorizing' or o.status = 'authorization-unknown'
          or (o.status in ('ready-to-ship', 'denied') and o.notified_at is null)
          or (o.status = 'received' and not exists (
            select from cardauth.parked_orders p where p.order_id = o.order_id and p.state = 'parked')))
       + (select count(*)::int from cardauth.replay_members m
        where m.state = 'published'
          and not exists (select from cardauth.orders o where o.order_id = m.order_id)) as open,
       (select count(*)::int from (select order_id from cardauth.orders union select order_id from parked) k) as known`,
    { open: Infinity, known: 0 },
  );
}

/** The first row; `otherwise` while the database is away. */
async function counted<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  sql: string,
  otherwise: Row,
): Promise<Row> {
  try {
    return (await pool.query<Row>(sql)).rows[0] ?? otherwise;
  } catch {
    return otherwise;
  }
}
