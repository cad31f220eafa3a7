import { heatOf, holdContest } from './contest.ts';
import { ours } from './contestants/contestants.ts';
import type { BenchOptions, SeriesName } from './options.ts';
import type { Figures } from './report/figures.ts';
import { machineFacts } from './report/machine.ts';
import { measureBacklog } from './series/backlog.ts';
import { measureInFlight } from './series/in-flight.ts';
import { measureLatency } from './series/latency.ts';
import { measureLives } from './series/lives.ts';
import { measureRuntime } from './series/runtime.ts';
import { measureTable } from './series/table.ts';
import { measureWorkers } from './series/workers.ts';
import { runHeat } from './stage/heat.ts';
import type { Stage } from './stage/stage.ts';

/** Series say how a worker's rate changes, not what it is: that takes no more rounds than these. */
const MOST_ROUNDS_OF_SERIES = 3;
/** Orders at which waits and repetitions have their full length; fewer orders shorten them. */
const FULL_SIZE_ORDERS = 10_000;

/** All of it, one after the other; throws WrongResult when a contestant's work was wrong. */
export async function measure(
  stage: Stage,
  options: BenchOptions,
  show: (progress: string) => void,
): Promise<Figures> {
  const { orders } = options;
  const size = { orders, rounds: Math.max(1, Math.min(options.rounds, MOST_ROUNDS_OF_SERIES)) };
  const scale = Math.min(1, orders / FULL_SIZE_ORDERS);
  const ifWanted = async <T>(name: SeriesName, run: () => Promise<T>): Promise<T | undefined> =>
    options.series.includes(name) ? run() : undefined;

  const machine = await machineFacts(stage);
  const contest = await holdContest(stage, options, show);
  const topRate = async (): Promise<number> =>
    contest.find(({ contestant }) => contestant === 'ours')?.ordersPerSecond.median ??
    (await runHeat(stage, heatOf(ours, orders))).ordersPerSecond;
  return {
    machine,
    contest,
    runtime: await ifWanted('runtime', () => measureRuntime(Math.max(10_000, Math.round(1e6 * scale)))),
    backlog: await ifWanted('backlog', () => measureBacklog(stage, size, show)),
    table: await ifWanted('table', () => measureTable(stage, size, show)),
    workers: await ifWanted('workers', () => measureWorkers(stage, size, show)),
    inFlight: await ifWanted('in-flight', () => measureInFlight(stage, size, show)),
    latency: await ifWanted('latency', async () => {
      const { warmUpOrders } = heatOf(ours, orders);
      return measureLatency(stage, { topRate: await topRate(), warmUpOrders, seconds: 10 * scale }, show);
    }),
    lives: await ifWanted('lives', () =>
      measureLives(stage, { orders, starts: Math.ceil(5 * scale), awayMs: 5_000 * scale }, show),
    ),
  };
}
