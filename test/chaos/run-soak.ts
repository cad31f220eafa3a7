/**
 * A soak on the stage of the chaos runs: a steady load for long, a worker killed now and then, no other faults. First
 * the top rate is measured, unless a rate is given: so many orders at once, and how long they take.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { makeDirectory, startKeeper } from '../support/private-services.ts';
import { waitFor } from '../support/wait-for.ts';
import { join } from 'node:path';
import { entriesOf } from './files.ts';
import type { JournalEntry } from './publisher-process.ts';
import type { Receipt } from './receiver-process.ts';
import { soakBooks } from './soak-books.ts';
import { flatnessOf, minutesOf, type Flatness, type Minute } from './soak-minutes.ts';
import { healGateway, setUp, WORK_QUEUES, type Stage } from './stage.ts';
import type { Vitals } from './vitals-process.ts';

export interface SoakReport {
  readonly commit: string;
  /** Measured at first, orders a second; undefined when a rate was given. */
  readonly topRate: number | undefined;
  readonly rate: number;
  readonly orders: number;
  readonly workersKilled: number;
  readonly minutes: readonly Minute[];
  readonly flatness: Flatness;
  readonly chargedTwice: number;
  readonly lost: number;
  /** Everything that does not fit, in words. */
  readonly problems: readonly string[];
}

export interface SoakParts {
  readonly minutes: number;
  readonly rate: number | undefined;
  readonly share: number;
  readonly commit: string;
  /** In how many orders the top rate is measured. */
  readonly measuredOrders?: number;
  readonly show: (line: string) => void;
}

const MEASURED_ORDERS = 2_000;
const KILL_EVERY_MS = 60_000;
const LOOK_EVERY_MS = 500;
const PATIENCE_MS = 120_000;
const vitals = fileURLToPath(new URL('vitals-process.js', import.meta.url));

export async function runSoak(parts: SoakParts): Promise<SoakReport> {
  const keeper = startKeeper();
  try {
    parts.show('starting three broker nodes and a database');
    const directory = makeDirectory(keeper);
    const folder = join(directory, 'evidence');
    const stage = await setUp({
      ...{ keeper, directory, folder, seed: 0 },
      wire: { watch: () => () => undefined, flush: () => undefined },
      settings: { NODE_OPTIONS: `--import=${vitals}`, VITALS: folder },
    });
    await healGateway(stage);
    const pool = new pg.Pool({ connectionString: stage.database.url, max: 1 });
    try {
      return await soak(stage, pool, parts);
    } finally {
      await pool.end();
      for (const worker of stage.workers) await worker.close();
    }
  } finally {
    await keeper.stop();
  }
}

async function soak(stage: Stage, pool: pg.Pool, parts: SoakParts): Promise<SoakReport> {
  const { commit, minutes, share, show } = parts;
  for (const worker of stage.workers) worker.start();
  for (const worker of stage.workers) await worker.ready();
  const measured = parts.rate === undefined ? (parts.measuredOrders ?? MEASURED_ORDERS) : 0;
  const topRate = measured === 0 ? undefined : await measureTopRate(stage, pool, measured, show);
  const rate = parts.rate ?? share * (topRate ?? 0);
  const soakMs = minutes * 60_000;
  const orders = measured + Math.max(1, Math.round((rate * soakMs) / 1_000));

  show(`${rate.toFixed(0)} orders a second for ${minutes} minutes`);
  const startMs = Date.now();
  const killing = new AbortController();
  const kills = killInTurn(stage, Math.min(KILL_EVERY_MS, soakMs / 2), killing.signal, show);
  const publisher = await stage.startPublisher({ orders, from: measured, overMs: soakMs, someExpire: false });
  const { code } = await publisher.exited;
  if (code !== 0) throw new Error(`the publisher ended with ${String(code)}`);
  const endMs = Date.now();
  killing.abort();
  const workersKilled = await kills;
  show('waiting for the last orders');
  await untilDone(stage, pool, orders);
  for (const worker of stage.workers) await worker.endWell();

  const { folder } = stage;
  const flow = {
    journal: entriesOf<JournalEntry>(folder, 'journal'),
    receipts: entriesOf<Receipt>(folder, 'receipts'),
  };
  const seen = minutesOf({ startMs, endMs, ...flow, vitals: entriesOf<Vitals>(folder, 'vitals') });
  const { chargedTwice, lost, problems } = await soakBooks(stage, pool, flow, orders);
  const figures = { topRate, rate, orders, workersKilled, minutes: seen, flatness: flatnessOf(seen) };
  return { commit, ...figures, chargedTwice, lost, problems };
}

/** Orders a second, from the first publish to the last announcement. */
async function measureTopRate(
  stage: Stage,
  pool: pg.Pool,
  orders: number,
  show: SoakParts['show'],
): Promise<number> {
  show(`measuring the top rate with ${orders} orders`);
  const startedAtMs = performance.now();
  await stage.startPublisher({ orders, from: 0, overMs: 1, someExpire: false });
  await untilDone(stage, pool, orders);
  const rate = (orders * 1_000) / (performance.now() - startedAtMs);
  show(`${rate.toFixed(0)} orders a second at the most`);
  return rate;
}

/** All workers but the first one, which is spared. Resolves to how many it were. */
async function killInTurn(
  stage: Stage,
  everyMs: number,
  signal: AbortSignal,
  show: SoakParts['show'],
): Promise<number> {
  const [, ...mortal] = stage.workers;
  let killed = 0;
  for (;;) {
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return killed;
    await mortal[killed % mortal.length]?.kill();
    killed += 1;
    show(`${killed} workers killed`);
  }
}

/** Every message is worked on: as many orders announced or parked as upstream has, and nothing on a queue. */
async function untilDone(stage: Stage, pool: pg.Pool, orders: number): Promise<void> {
  const confirmed = (): number => {
    const entries = entriesOf<JournalEntry>(stage.folder, 'journal');
    return entries.filter(({ outcome }) => outcome === 'confirmed').length;
  };
  await waitFor('every message to be confirmed', () => confirmed() >= orders, {
    timeoutMs: PATIENCE_MS,
    intervalMs: LOOK_EVERY_MS,
  });
  await waitFor(
    'the queues to be empty and every decided order announced',
    async () => {
      const queues = await stage.cluster.queues();
      const left = queues.filter(({ name }) => WORK_QUEUES.includes(name));
      const open = await pool.query<{ n: number }>(OPEN);
      return left.every(({ messages }) => messages === 0) && open.rows[0]?.n === 0;
    },
    { timeoutMs: PATIENCE_MS, intervalMs: LOOK_EVERY_MS },
  ).catch(() => undefined); // The books say it better.
}

const OPEN = `
  select count(*)::int as n from cardauth.orders
  where notified_at is null and status in ('received', 'authorizing', 'authorization-unknown', 'ready-to-ship', 'denied')`;
