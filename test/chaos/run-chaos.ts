/**
 * One run: set up, storm, heal, wait until nothing moves any more, end, and lay down the evidence. Nothing is judged
 * here: see checker.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Keeper } from '../support/private-services.ts';
import { waitFor } from '../support/wait-for.ts';
import { collectEvidence } from './collect.ts';
import { entriesOf, record } from './files.ts';
import { unleash } from './nemesis.ts';
import { freeOrphans } from './orphans.ts';
import type { Plan } from './plan.ts';
import type { JournalEntry } from './publisher-process.ts';
import { probe } from './probes.ts';
import { healGateway, ORDERS_QUEUE, RECEIPTS_QUEUE, setUp, WORK_QUEUES, type Stage } from './stage.ts';
import { openWireLog } from './wire-watch.ts';

export interface Progress {
  readonly doing: string;
  readonly decided: number;
  readonly blows: number;
}

export interface RunOptions {
  readonly keeper: Keeper;
  /** Of the private services. */
  readonly directory: string;
  /** Where the evidence goes; must be empty or not there. */
  readonly folder: string;
  readonly plan: Plan;
  /** Another `cardauth` than the real one. */
  readonly program?: string;
  readonly show: (progress: Progress) => void;
}

const LOOK_EVERY_MS = 1_000;
/** After the storm: without any change for so long, what is open stays open, and is judged so. */
const PATIENCE_MS = 60_000;
const MOST_ROUNDS = 5;
/** Lease and message timeout together: what is younger may be in flight, and is not compared. */
const COMPARED_AFTER_MS = 10_000;

/** Resolves to what must not be found in any evidence, by name. */
export async function runChaos(options: RunOptions): Promise<Stage['secrets']> {
  const { keeper, directory, folder, plan, program, show } = options;
  show({ doing: 'starting three broker nodes and a database', decided: 0, blows: 0 });
  const wire = openWireLog(folder);
  const stage = await setUp({ keeper, directory, folder, seed: plan.seed, program, wire });
  const flushing = setInterval(() => {
    wire.flush();
  }, 200);
  const pool = new pg.Pool({ connectionString: stage.database.url, max: 2 });
  pool.on('error', () => undefined);
  try {
    await storm(stage, plan, pool, show);
    // No faults any more; the nemesis has put up what it had knocked down.
    await healGateway(stage);
    await settle(stage, plan, pool, show);
    if (await freeOrphans(stage)) await settle(stage, plan, pool, show);
    await finishOperations(stage, plan, pool, show);
    await probe(stage);
    show({ doing: 'ending the workers', decided: await decidedIn(pool), blows: plan.blows.length });
    await finishLeftovers(stage);
    wire.flush();
    await endOutside(stage);
    await collectEvidence(stage, pool);
    return stage.secrets;
  } finally {
    clearInterval(flushing);
    for (const worker of stage.workers) await worker.close();
    await pool.end();
  }
}

async function storm(stage: Stage, plan: Plan, pool: pg.Pool, show: RunOptions['show']): Promise<void> {
  for (const worker of stage.workers) worker.start();
  // Upstream's queue is there before upstream is.
  await waitFor('the orders queue', () => stage.cluster.messagesIn(ORDERS_QUEUE).then(() => true), {
    timeoutMs: PATIENCE_MS,
    intervalMs: 200,
  });
  const { orders, stormMs: overMs } = plan;
  const publisher = await stage.startPublisher({ orders, from: 0, overMs, someExpire: true });
  const nemesis = unleash(plan.blows, { ...stage, ordersQueue: ORDERS_QUEUE }, stage.folder);
  const storming = new AbortController();
  const watching = (async () => {
    while (!storming.signal.aborted) {
      show({ doing: 'storm', decided: await decidedIn(pool), blows: nemesis.done });
      await sleep(LOOK_EVERY_MS);
    }
  })();
  const [exit] = await Promise.all([publisher.exited, nemesis.over]);
  storming.abort();
  await watching;
  if (exit.code !== 0) throw new Error(`the publisher ended with ${JSON.stringify(exit)}`);
}

/** Until every order is decided and announced, or with a person; or until nothing changes any more. */
async function settle(stage: Stage, plan: Plan, pool: pg.Pool, show: RunOptions['show']): Promise<void> {
  const published = orderIdsIn(stage.folder);
  let last = '';
  let changedAtMs = performance.now();
  while (performance.now() - changedAtMs < PATIENCE_MS) {
    const { open, known } = await openIn(pool);
    const missing = published.size - known;
    if (open === 0 && missing <= 0) return;
    const now = `${open} open, ${Math.max(0, missing)} not stored`;
    if (now !== last) changedAtMs = performance.now();
    last = now;
    show({ doing: `calm: ${now}`, decided: await decidedIn(pool), blows: plan.blows.length });
    await sleep(LOOK_EVERY_MS);
  }
}

/** What is left in the lot is replayed; then the books are compared twice, the second time with nothing to do. */
async function finishOperations(
  stage: Stage,
  plan: Plan,
  pool: pg.Pool,
  show: RunOptions['show'],
): Promise<void> {
  const say = async (doing: string): Promise<void> => {
    show({ doing, decided: await decidedIn(pool), blows: plan.blows.length });
  };
  await say('operators replay what is left');
  await stage.operators.clearLot();
  await settle(stage, plan, pool, show);
  await say('operators compare the books');
  await sleep(COMPARED_AFTER_MS);
  await stage.operators.reconcile();
  await settle(stage, plan, pool, show);
  await stage.operators.reconcile();
}

/**
 * Ends the workers in good order. An order that the resolver settled may have a message that still waits for its replay
 * and comes back when its worker ends: the next ones take it.
 */
async function finishLeftovers(stage: Stage): Promise<void> {
  for (const worker of stage.workers) await worker.endWell();
  for (let round = 0; round < MOST_ROUNDS && (await leftOn(stage)) > 0; round += 1) {
    for (const worker of stage.workers) worker.start();
    for (const worker of stage.workers) await worker.ready();
    const deadlineMs = performance.now() + PATIENCE_MS;
    while ((await leftOn(stage)) > 0 && performance.now() < deadlineMs) await sleep(LOOK_EVERY_MS);
    for (const worker of stage.workers) await worker.endWell();
  }
}

/** Downstream hears the rest; the gateway writes down what it was asked. */
async function endOutside(stage: Stage): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while ((await stage.cluster.messagesIn(RECEIPTS_QUEUE)) > 0 && performance.now() < deadlineMs) {
    await sleep(LOOK_EVERY_MS);
  }
  for (const { pid, exited } of [stage.receiver, stage.simulator]) {
    process.kill(pid, 'SIGTERM');
    await exited;
  }
  const queues = await stage.cluster.queues();
  record(stage.folder, 'queues', ...queues.map(({ name, messages }) => ({ name, messages })));
}

async function leftOn({ cluster }: Stage): Promise<number> {
  const queues = await cluster.queues();
  return queues
    .filter(({ name }) => WORK_QUEUES.includes(name))
    .reduce((sum, { messages }) => sum + messages, 0);
}

function orderIdsIn(folder: string): Set<string> {
  return new Set(entriesOf<JournalEntry>(folder, 'journal').flatMap(({ orderId }) => orderId ?? []));
}

async function decidedIn(pool: pg.Pool): Promise<number> {
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
