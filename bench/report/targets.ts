import type { Standing } from '../contest.ts';
import type { ContestantName } from '../contestants/contestants.ts';
import type { Figures } from './figures.ts';

/** Something that the worker is to achieve, beside what it did: of several rounds the median. */
export interface Target {
  readonly what: string;
  readonly unit: string;
  readonly bound: 'at least' | 'at most';
  readonly wanted: number;
  /** Undefined when it was not measured. */
  readonly measured: number | undefined;
  readonly isMet: boolean | undefined;
}

export function targetsOf(figures: Figures): readonly Target[] {
  const { runtime, backlog, table, workers, latency, lives } = figures;
  const standings = new Map(figures.contest.map((standing) => [standing.contestant, standing]));
  const ourRate = rateOf(standings, 'ours');
  const over = (other: ContestantName): number | undefined => quotient(ourRate, rateOf(standings, other));
  const half = latency?.find(({ share }) => share === 0.5);
  const tenths = backlog?.tenfold.tenths.map(({ ordersPerSecond }) => ordersPerSecond);
  const two = workers?.find((figure) => figure.workers === 2);

  return [
    atLeast(3, 'times', "the straightforward worker's rate", over('straightforward')),
    atLeast(6, 'times', "graphile-worker's rate", over('graphile-worker')),
    atLeast(20, 'times', "DBOS Transact's rate", over('dbos')),
    atLeast(0.65, 'times', 'the rate of the limit', over('limit')),
    atMost(
      1.4,
      'times',
      'the CPU time an order of the limit',
      quotient(standings.get('ours')?.cpuMsPerOrder.median, standings.get('limit')?.cpuMsPerOrder.median),
    ),
    atMost(
      30,
      'ms',
      "p99 at half of that rate, beyond the gateway's own",
      half && half.p99Ms - half.gatewayP99Ms,
    ),
    atLeast(1, 'M/s', 'tuple trees through the acker', runtime && runtime.treesPerSecond / 1e6),
    atMost(32, 'bytes', 'a pending tree in the acker', runtime?.bytesPerPendingTree),
    atMost(2, 'us', 'a tuple through two bolts', runtime?.microsecondsPerTuple),
    atLeast(
      0.9,
      'times',
      'the rate with ten times the backlog',
      quotient(backlog?.tenfold.ordersPerSecond, backlog?.ordersPerSecond.median),
    ),
    atLeast(0.9, 'times', 'the rate with ten times the orders in the table', table?.ratio.median),
    atMost(
      1.1,
      'times',
      'the memory with ten times the backlog',
      quotient(backlog?.tenfold.peakRssMb, backlog?.peakRssMb),
    ),
    atLeast(
      0.9,
      'times',
      'the slowest tenth of that backlog over its mean',
      quotient(tenths && Math.min(...tenths), backlog?.tenfold.ordersPerSecond),
    ),
    atMost(
      10,
      's',
      'until the old rate after an outage of the gateway',
      lives && seconds(lives.outage.backAfterMs ?? Infinity),
    ),
    atLeast(1.6, 'times', 'the rate with two workers', two?.timesOne.median),
    atMost(200, 'MB', 'memory at 500 in flight', standings.get('ours')?.peakRssMb),
    atMost(1.5, 's', 'from start to ready', seconds(lives?.startMs.median)),
    atMost(3, 's', 'from a restart to all orders of a kill decided', seconds(lives?.kill.decidedAfterMs)),
  ];
}

function rateOf(standings: ReadonlyMap<ContestantName, Standing>, name: ContestantName): number | undefined {
  return standings.get(name)?.ordersPerSecond.median;
}

function quotient(dividend: number | undefined, divisor: number | undefined): number | undefined {
  return dividend === undefined || divisor === undefined ? undefined : dividend / divisor;
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}

function atLeast(wanted: number, unit: string, what: string, measured: number | undefined): Target {
  const isMet = measured === undefined ? undefined : measured >= wanted;
  return { what, unit, bound: 'at least', wanted, measured, isMet };
}

function atMost(wanted: number, unit: string, what: string, measured: number | undefined): Target {
  const isMet = measured === undefined ? undefined : measured <= wanted;
  return { what, unit, bound: 'at most', wanted, measured, isMet };
}
