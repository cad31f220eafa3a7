import { heatOf } from '../contest.ts';
import { ours } from '../contestants/contestants.ts';
import { spreadOf, type Spread } from '../report/spread.ts';
import { runHeat, type HeatResult } from '../stage/heat.ts';
import { peakRssBytes } from '../stage/process-usage.ts';
import type { Stage } from '../stage/stage.ts';
import { takeTurns } from '../stage/turns.ts';

/** How a worker fares with ten times as many orders waiting. */
export interface BacklogFigures {
  readonly orders: number;
  readonly ordersPerSecond: Spread;
  readonly peakRssMb: number;
  readonly tenfold: {
    readonly orders: number;
    readonly ordersPerSecond: number;
    readonly peakRssMb: number;
    /** Each tenth of its orders: the rate, and the most memory seen meanwhile. */
    readonly tenths: readonly { readonly ordersPerSecond: number; readonly peakRssMb: number }[];
  };
}

const TENTHS = 10;

export async function measureBacklog(
  stage: Stage,
  { orders, rounds }: { readonly orders: number; readonly rounds: number },
  show: (progress: string) => void,
): Promise<BacklogFigures> {
  const heat = heatOf(ours, orders);
  const single =
    (await takeTurns(stage, rounds, new Map([['backlog x1', heat]]), show)).get('backlog x1') ?? [];
  const tenfoldHeat = { ...heat, orders: heat.orders * TENTHS };
  const tenfold = await runHeat(stage, tenfoldHeat);
  show(`backlog x10: ${tenfold.ordersPerSecond.toFixed(0)} orders/s`);
  return {
    orders: heat.orders,
    ordersPerSecond: spreadOf(single.map(({ ordersPerSecond }) => ordersPerSecond)),
    peakRssMb: Math.max(...single.map(({ peakRssBytes: bytes }) => bytes)) / 2 ** 20,
    tenfold: {
      orders: tenfoldHeat.orders,
      ordersPerSecond: tenfold.ordersPerSecond,
      peakRssMb: tenfold.peakRssBytes / 2 ** 20,
      tenths: tenthsOf(tenfold, heat.warmUpOrders),
    },
  };
}

function tenthsOf({ doneAtMs, samples }: HeatResult, warmUpOrders: number) {
  const length = (doneAtMs.length - warmUpOrders) / TENTHS;
  return Array.from({ length: TENTHS }, (_, tenth) => {
    const first = warmUpOrders + Math.round(tenth * length);
    const last = warmUpOrders + Math.round((tenth + 1) * length);
    const [fromMs = 0, toMs = 0] = [doneAtMs[first - 1], doneAtMs[last - 1]];
    return {
      ordersPerSecond: (last - first) / ((toMs - fromMs) / 1000),
      peakRssMb: peakRssBytes(samples, fromMs, toMs) / 2 ** 20,
    };
  });
}
