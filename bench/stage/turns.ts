import { runHeat, type HeatPlan, type HeatResult } from './heat.ts';
import type { Stage } from './stage.ts';

/** What each did, round by round. */
export type Turns<Name> = ReadonlyMap<Name, readonly HeatResult[]>;

/** Every heat has its turn in every round, so that a busy moment of the machine meets all alike. */
export async function takeTurns<Name extends string>(
  stage: Stage,
  rounds: number,
  heats: ReadonlyMap<Name, HeatPlan>,
  show: (progress: string) => void,
): Promise<Turns<Name>> {
  const turns = new Map<Name, HeatResult[]>(Array.from(heats.keys(), (name) => [name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const [name, plan] of heats) {
      const result = await runHeat(stage, plan);
      turns.get(name)?.push(result);
      show(`round ${round} of ${rounds}: ${name} ${result.ordersPerSecond.toFixed(0)} orders/s`);
    }
  }
  return turns;
}
