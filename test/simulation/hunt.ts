/** Whether the simulation finds what it must find. */
import { OPERATOR_PLANTS } from './operator-plants.ts';
import type { Plant } from './planting.ts';
import { WORKER_PLANTS } from './plants.ts';
import { simulate, type RunResult } from './simulation.ts';

export const PLANTS: readonly Plant[] = [...WORKER_PLANTS, ...OPERATOR_PLANTS];

/** The first of so many seeds in which it is found. */
export async function huntPlant(
  plant: Plant,
  firstSeed: number,
  seeds: number,
): Promise<{ readonly result: RunResult; readonly seedsTried: number } | undefined> {
  const { alter, alterOperator } = plant;
  const areOperatorsBusy = OPERATOR_PLANTS.includes(plant);
  const undo = plant.patch?.();
  try {
    for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
      const result = await simulate({ seed, alter, alterOperator, areOperatorsBusy });
      if (result.violations.length > 0) return { result, seedsTried: seed - firstSeed + 1 };
    }
    return undefined;
  } finally {
    undo?.();
  }
}
