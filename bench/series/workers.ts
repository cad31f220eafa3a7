import { heatOf } from '../contest.ts';
import { ours } from '../contestants/contestants.ts';
import { spreadOf, type Spread } from '../report/spread.ts';
import type { Stage } from '../stage/stage.ts';
import { takeTurns } from '../stage/turns.ts';

/** Several workers on one queue. */
export interface WorkersFigure {
  readonly workers: number;
  readonly ordersPerSecond: Spread;
  /** Over one worker's rate of the same round. */
  readonly timesOne: Spread;
  /** Of all of them. */
  readonly cpuMsPerOrder: Spread;
}

const NUMBERS = [1, 2, 4];

export async function measureWorkers(
  stage: Stage,
  { orders, rounds }: { readonly orders: number; readonly rounds: number },
  show: (progress: string) => void,
): Promise<readonly WorkersFigure[]> {
  const heats = new Map(
    NUMBERS.map((workers) => [`${workers} workers`, { ...heatOf(ours, orders), workers }]),
  );
  const turns = await takeTurns(stage, rounds, heats, show);
  const one = turns.get('1 workers') ?? [];
  return NUMBERS.map((workers) => {
    const results = turns.get(`${workers} workers`) ?? [];
    return {
      workers,
      ordersPerSecond: spreadOf(results.map(({ ordersPerSecond }) => ordersPerSecond)),
      timesOne: spreadOf(
        results.map(({ ordersPerSecond }, round) => ordersPerSecond / (one[round]?.ordersPerSecond ?? NaN)),
      ),
      cpuMsPerOrder: spreadOf(results.map(({ cpuMsPerOrder }) => cpuMsPerOrder)),
    };
  });
}
