/** The contest: every contestant has its turn in every round, so that a busy moment of the machine meets all alike. */
import { CONTESTANTS, type Contestant, type ContestantName } from './contestants/contestants.ts';
import { runHeat, type HeatResult } from './stage/heat.ts';
import type { Stage } from './stage/stage.ts';

export interface ContestPlan {
  readonly orders: number;
  readonly rounds: number;
  readonly only: readonly ContestantName[];
}

/** What each did, round by round. */
export type Contest = ReadonlyMap<ContestantName, readonly HeatResult[]>;

const FEWEST_ORDERS = 40;
const WARM_UP_SHARE = 0.25;

export async function holdContest(
  stage: Stage,
  plan: ContestPlan,
  show: (progress: string) => void,
): Promise<Contest> {
  const contestants = CONTESTANTS.filter(({ name }) => plan.only.includes(name));
  const contest = new Map<ContestantName, HeatResult[]>(contestants.map(({ name }) => [name, []]));
  for (let round = 1; round <= plan.rounds; round += 1) {
    for (const contestant of contestants) {
      const result = await runHeat(stage, { contestant, ...sizeOf(contestant, plan.orders) });
      contest.get(contestant.name)?.push(result);
      const rate = result.ordersPerSecond.toFixed(0);
      show(`round ${round} of ${plan.rounds}: ${contestant.name} ${rate} orders/s`);
    }
  }
  return contest;
}

/** Of a heat, for `orders` of the fastest. */
export function sizeOf({ share }: Contestant, orders: number): { orders: number; warmUpOrders: number } {
  const measured = Math.max(FEWEST_ORDERS, Math.round(orders * share));
  return { orders: measured, warmUpOrders: Math.round(measured * WARM_UP_SHARE) };
}
