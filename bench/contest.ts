/** The contest: what each contestant made of the same orders, and how that compares within each round. */
import { CONTESTANTS, type Contestant, type ContestantName } from './contestants/contestants.ts';
import { spreadOf, type Spread } from './report/spread.ts';
import type { HeatPlan } from './stage/heat.ts';
import type { Stage } from './stage/stage.ts';
import { DEFAULT_PREFETCH } from './stage/workers.ts';
import { takeTurns, type Turns } from './stage/turns.ts';

export interface ContestPlan {
  /** A round, for the fastest. */
  readonly orders: number;
  readonly rounds: number;
  readonly only: readonly ContestantName[];
}

export interface Standing {
  readonly contestant: ContestantName;
  /** Measured in each round. */
  readonly orders: number;
  readonly ordersPerSecond: Spread;
  /** Its rate over the other's of the same round; undefined when the other took no part. */
  readonly timesLimit: Spread | undefined;
  readonly timesStraightforward: Spread | undefined;
  readonly cpuMsPerOrder: Spread;
  readonly gatewayCpuMsPerOrder: Spread;
  /** Of everything on the machine, other people's programs included. */
  readonly machineCpuMsPerOrder: Spread;
  readonly peakRssMb: number;
}

const FEWEST_ORDERS = 40;
const WARM_UP_SHARE = 0.25;
/** With more of a heat's orders in flight at a time a burst is measured, not a rate. */
const MOST_IN_FLIGHT_SHARE = 0.25;

export async function holdContest(
  stage: Stage,
  { orders, rounds, only }: ContestPlan,
  show: (progress: string) => void,
): Promise<readonly Standing[]> {
  if (rounds === 0) return [];
  const contestants = CONTESTANTS.filter(({ name }) => only.includes(name));
  const heats = new Map(contestants.map((contestant) => [contestant.name, heatOf(contestant, orders)]));
  const turns = await takeTurns(stage, rounds, heats, show);
  return contestants.map(({ name }) => standingOf(name, turns, heats.get(name)?.orders ?? 0));
}

/** A heat of this contestant, for `orders` of the fastest. */
export function heatOf(contestant: Contestant, orders: number): HeatPlan {
  const measured = Math.max(FEWEST_ORDERS, Math.round(orders * contestant.share));
  return {
    contestant,
    orders: measured,
    warmUpOrders: Math.round(measured * WARM_UP_SHARE),
    prefetch: Math.min(DEFAULT_PREFETCH, Math.ceil(measured * MOST_IN_FLIGHT_SHARE)),
  };
}

function standingOf(name: ContestantName, turns: Turns<ContestantName>, orders: number): Standing {
  const results = turns.get(name) ?? [];
  const timesOf = (other: ContestantName): Spread | undefined => {
    const theirs = turns.get(other);
    if (theirs === undefined) return undefined;
    return spreadOf(
      results.map(({ ordersPerSecond }, round) => ordersPerSecond / (theirs[round]?.ordersPerSecond ?? NaN)),
    );
  };
  return {
    contestant: name,
    orders,
    ordersPerSecond: spreadOf(results.map(({ ordersPerSecond }) => ordersPerSecond)),
    timesLimit: timesOf('limit'),
    timesStraightforward: timesOf('straightforward'),
    cpuMsPerOrder: spreadOf(results.map(({ cpuMsPerOrder }) => cpuMsPerOrder)),
    gatewayCpuMsPerOrder: spreadOf(results.map(({ gatewayCpuMsPerOrder }) => gatewayCpuMsPerOrder)),
    machineCpuMsPerOrder: spreadOf(results.map(({ machineCpuMsPerOrder }) => machineCpuMsPerOrder)),
    peakRssMb: Math.max(...results.map(({ peakRssBytes }) => peakRssBytes)) / 2 ** 20,
  };
}
