import { heatOf } from '../contest.ts';
import { ours } from '../contestants/contestants.ts';
import { spreadOf, type Spread } from '../report/spread.ts';
import type { Stage } from '../stage/stage.ts';
import { takeTurns } from '../stage/turns.ts';

/** A worker that may have so many orders under way (CARDAUTH_MAX_SPOUT_PENDING). */
export interface InFlightFigure {
  readonly inFlight: number;
  readonly orders: number;
  readonly ordersPerSecond: Spread;
  readonly cpuMsPerOrder: Spread;
  readonly peakRssMb: number;
}

const NUMBERS = [10, 50, 100, 200, 500, 1_000, 2_000];
/** Few in flight are slow, and need few orders to show it. */
const ROUND_TRIPS = 100;

export async function measureInFlight(
  stage: Stage,
  { orders, rounds }: { readonly orders: number; readonly rounds: number },
  show: (progress: string) => void,
): Promise<readonly InFlightFigure[]> {
  const heats = new Map(
    NUMBERS.map((inFlight) => [
      `${inFlight} in flight`,
      { ...heatOf(ours, Math.min(orders, inFlight * ROUND_TRIPS)), prefetch: inFlight },
    ]),
  );
  const turns = await takeTurns(stage, rounds, heats, show);
  return NUMBERS.map((inFlight) => {
    const name = `${inFlight} in flight`;
    const results = turns.get(name) ?? [];
    return {
      inFlight,
      orders: heats.get(name)?.orders ?? 0,
      ordersPerSecond: spreadOf(results.map(({ ordersPerSecond }) => ordersPerSecond)),
      cpuMsPerOrder: spreadOf(results.map(({ cpuMsPerOrder }) => cpuMsPerOrder)),
      peakRssMb: Math.max(...results.map(({ peakRssBytes }) => peakRssBytes)) / 2 ** 20,
    };
  });
}
