/**
 * One contestant, once: orders are put on the queue, the contestant is started, and works until none is left. The first
 * ones warm it up; what is measured is from the last of these done to the last of all done.
 */
import type { Contestant } from '../contestants/contestants.ts';
import { doneTimesIn, judge } from './books.ts';
import { cpuMsBetween, peakRssBytes, watchUsage, type UsageSample } from './process-usage.ts';
import type { Stage } from './stage.ts';
import { untilDone } from './until-done.ts';
import { endWell, startWorkers } from './workers.ts';

export interface HeatPlan {
  readonly contestant: Contestant;
  /** That are measured. */
  readonly orders: number;
  /** Before these. */
  readonly warmUpOrders: number;
  /** Orders in flight at most, a worker. Default 500. */
  readonly prefetch?: number;
  /** Processes on the one queue. Default 1. */
  readonly workers?: number;
  /** Another database to copy than the contestant's own. */
  readonly template?: string;
}

export interface HeatResult {
  readonly ordersPerSecond: number;
  /** Of all its processes. */
  readonly cpuMsPerOrder: number;
  readonly gatewayCpuMsPerOrder: number;
  /** Of all that runs on the machine: broker, database and gateway too, and whoever else is there. */
  readonly machineCpuMsPerOrder: number;
  /** The most that one of its processes had. */
  readonly peakRssBytes: number;
  /** When each order was done, in milliseconds since the epoch, earliest first; warm-up included. */
  readonly doneAtMs: readonly number[];
  /** Of its first process. */
  readonly samples: readonly UsageSample[];
}

export const GATEWAY_LATENCY_MS = 10;

/** Throws when the contestant does not come to an end, and WrongResult when what it left behind is wrong. */
export async function runHeat(stage: Stage, plan: HeatPlan): Promise<HeatResult> {
  const { result, databaseUrl } = await playHeat(stage, plan);
  await stage.databases.drop(databaseUrl);
  return result;
}

/** The same, and its database is left as it is. */
export async function playHeat(
  stage: Stage,
  plan: HeatPlan,
): Promise<{ readonly result: HeatResult; readonly databaseUrl: string }> {
  const { contestant, orders, warmUpOrders } = plan;
  const total = orders + warmUpOrders;
  const { broker, databases, gateway } = stage;
  const databaseUrl = await databases.create(plan.template ?? stage.templates[contestant.template]);
  await broker.clear();
  await (contestant.addOrders?.(databaseUrl, total) ?? broker.publish(1, total));
  await databases.checkpoint();
  await gateway.begin(GATEWAY_LATENCY_MS);

  const workers = await startWorkers(stage, { ...plan, databaseUrl });
  const usage = watchUsage([...workers, gateway].map(({ pid }) => pid));
  try {
    await untilDone(stage, { contestant, databaseUrl, orders: total }, workers);
  } finally {
    usage.stop();
  }
  await endWell(workers);
  await judge(stage, { contestant, databaseUrl, orders: total });

  const doneAtMs = await (contestant.table === undefined
    ? gateway.chargedAtMs()
    : doneTimesIn(databaseUrl, contestant.table));
  const [from = 0, to = 0] = [doneAtMs[warmUpOrders - 1], doneAtMs.at(-1)];
  const cpuMs = (pid: number): number => cpuMsBetween(usage.of(pid), from, to);
  const result = {
    ordersPerSecond: orders / ((to - from) / 1000),
    cpuMsPerOrder: workers.reduce((sum, { pid }) => sum + cpuMs(pid), 0) / orders,
    gatewayCpuMsPerOrder: cpuMs(gateway.pid) / orders,
    machineCpuMsPerOrder: cpuMsBetween(usage.machine, from, to) / orders,
    peakRssBytes: Math.max(...workers.map(({ pid }) => peakRssBytes(usage.of(pid)))),
    doneAtMs,
    samples: usage.of(workers[0]?.pid ?? 0),
  };
  return { result, databaseUrl };
}
