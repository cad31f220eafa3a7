/** What happens around a worker's work: how long it takes to start, to recover from a kill, and from an outage. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ours } from '../contestants/contestants.ts';
import { spreadOf, type Spread } from '../report/spread.ts';
import { doneTimesIn, judge } from '../stage/books.ts';
import { query } from '../stage/databases.ts';
import { GATEWAY_LATENCY_MS } from '../stage/heat.ts';
import { untilReady } from '../stage/ready.ts';
import type { Stage } from '../stage/stage.ts';
import { untilDone } from '../stage/until-done.ts';
import { endWell, startWorkers } from '../stage/workers.ts';

export interface LivesFigures {
  /** From the start of the process to `ready`. */
  readonly startMs: Spread;
  readonly kill: {
    /** Claimed and not decided when it died. */
    readonly ordersInFlight: number;
    /** From the start of the next process until all of them were decided. */
    readonly decidedAfterMs: number;
  };
  readonly outage: {
    readonly awayMs: number;
    readonly ordersPerSecondBefore: number;
    /** From the gateway's return to the first second with at least 90 % of the rate before; null if never. */
    readonly backAfterMs: number | null;
  };
}

export interface LivesPlan {
  /** Waiting before a kill, and a sixth of those before an outage. */
  readonly orders: number;
  readonly starts: number;
  /** How long the gateway is away. */
  readonly awayMs: number;
}

export async function measureLives(
  stage: Stage,
  plan: LivesPlan,
  show: (progress: string) => void,
): Promise<LivesFigures> {
  const startMs = spreadOf(await startTimes(stage, plan.starts));
  show(`ready ${startMs.median.toFixed(0)} ms after its start`);
  const kill = await killOnce(stage, plan);
  show(
    `${kill.ordersInFlight} orders in flight at a kill decided ${kill.decidedAfterMs.toFixed(0)} ms after`,
  );
  const outage = await outageOnce(stage, plan);
  show(`back to its rate ${outage.backAfterMs?.toFixed(0) ?? 'never'} ms after an outage`);
  return { startMs, kill, outage };
}

async function startTimes(stage: Stage, starts: number): Promise<number[]> {
  const times: number[] = [];
  await onFreshServices(stage, 0, async (databaseUrl) => {
    for (let n = 0; n < starts; n += 1) {
      const startedMs = performance.now();
      const workers = await startWorkers(stage, { contestant: ours, databaseUrl });
      await Promise.all(workers.map(untilReady));
      times.push(performance.now() - startedMs);
      await endWell(workers);
    }
  });
  return times;
}

async function killOnce(stage: Stage, { orders }: LivesPlan): Promise<LivesFigures['kill']> {
  return onFreshServices(stage, orders, async (databaseUrl) => {
    const [victim] = await startWorkers(stage, { contestant: ours, databaseUrl });
    while ((await stage.broker.receiptsWaiting()) < orders / 4) await sleep(5);
    process.kill(victim?.pid ?? 0, 'SIGKILL');
    await victim?.exited;
    const inFlight = await undecided(databaseUrl);

    const startedMs = performance.now();
    const workers = await startWorkers(stage, { contestant: ours, databaseUrl });
    while ((await undecided(databaseUrl, inFlight)).length > 0) await sleep(5);
    const decidedAfterMs = performance.now() - startedMs;
    await finish(stage, databaseUrl, orders, workers);
    return { ordersInFlight: inFlight.length, decidedAfterMs };
  });
}

/** The ids of orders that are claimed and not decided, among all or among these. */
async function undecided(databaseUrl: string, among?: readonly string[]): Promise<readonly string[]> {
  const rows = await query<{ order_id: string }>(
    databaseUrl,
    `select order_id from cardauth.orders
     where status not in ('ready-to-ship', 'denied') and ($1::text[] is null or order_id = any ($1))`,
    [among ?? null],
  );
  return rows.map(({ order_id: orderId }) => orderId);
}

/** Enough for the old rate to be seen, lost, and reached again. */
const OUTAGE_TIMES_ORDERS = 6;
const OUTAGE_AFTER_SHARE = 0.2;
const WINDOW_MS = 1_000;
const AS_GOOD_AS_BEFORE = 0.9;

async function outageOnce(stage: Stage, plan: LivesPlan): Promise<LivesFigures['outage']> {
  const { awayMs } = plan;
  const orders = plan.orders * OUTAGE_TIMES_ORDERS;
  return onFreshServices(stage, orders, async (databaseUrl) => {
    const workers = await startWorkers(stage, { contestant: ours, databaseUrl });
    while ((await stage.broker.receiptsWaiting()) < orders * OUTAGE_AFTER_SHARE) await sleep(5);
    const goneAtMs = nowMs();
    await stage.gateway.goAway(awayMs);
    const backAtMs = nowMs();
    await finish(stage, databaseUrl, orders, workers);

    const doneAtMs = await doneTimesIn(databaseUrl, 'cardauth.orders');
    const rateIn = (fromMs: number, toMs: number): number =>
      doneAtMs.filter((atMs) => atMs >= fromMs && atMs < toMs).length / ((toMs - fromMs) / 1000);
    const before = rateIn(goneAtMs - WINDOW_MS, goneAtMs);
    const lastWindowMs = (doneAtMs.at(-1) ?? 0) - WINDOW_MS;
    let fromMs = backAtMs;
    while (fromMs <= lastWindowMs && rateIn(fromMs, fromMs + WINDOW_MS) < before * AS_GOOD_AS_BEFORE)
      fromMs += 50;
    return {
      awayMs,
      ordersPerSecondBefore: before,
      backAfterMs: fromMs <= lastWindowMs ? fromMs - backAtMs : null,
    };
  });
}

async function onFreshServices<T>(
  stage: Stage,
  orders: number,
  use: (databaseUrl: string) => Promise<T>,
): Promise<T> {
  const { broker, databases, gateway, templates } = stage;
  const databaseUrl = await databases.create(templates.cardauth);
  await broker.clear();
  await broker.publish(1, orders);
  await databases.checkpoint();
  await gateway.begin(GATEWAY_LATENCY_MS);
  const result = await use(databaseUrl);
  await databases.drop(databaseUrl);
  return result;
}

async function finish(
  stage: Stage,
  databaseUrl: string,
  orders: number,
  workers: Awaited<ReturnType<typeof startWorkers>>,
): Promise<void> {
  const given = { contestant: ours, databaseUrl, orders };
  await untilDone(stage, given, workers);
  await endWell(workers);
  await judge(stage, given);
}

function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
