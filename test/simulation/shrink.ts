import type { Fault } from './faults.ts';
import { simulate, type RunOptions, type RunResult } from './simulation.ts';

/** A run as data: what to store of a failure, and to run again. */
export interface Scenario {
  readonly seed: number;
  readonly orders: number;
  readonly workers: number;
  readonly plan: readonly Fault[];
}

/**
 * Takes away what a failure does not need: faults one after the other, orders, the length of what takes long. What is
 * left still breaks the same invariant, first of all.
 */
export async function shrink(failed: Scenario, alter?: RunOptions['alter']): Promise<Scenario> {
  const invariantOf = (result: RunResult) => result.violations[0]?.invariant;
  const wanted = invariantOf(await simulate({ ...failed, alter }));
  if (wanted === undefined) throw new Error(`seed ${failed.seed}: this scenario breaks nothing`);
  const stillFails = async (scenario: Scenario) =>
    invariantOf(await simulate({ ...scenario, alter })) === wanted;

  let least = failed;
  for (let size = Infinity; least.plan.length + least.orders < size;) {
    size = least.plan.length + least.orders;
    least = await withFewerFaults(least, stillFails);
    least = await withFewerOrders(least, stillFails);
  }
  const alone = { ...least, workers: 1 };
  return (await stillFails(alone)) ? alone : least;
}

type StillFails = (scenario: Scenario) => Promise<boolean>;

/** Halves first, then quarters, then one by one. */
async function withFewerFaults(scenario: Scenario, stillFails: StillFails): Promise<Scenario> {
  let { plan } = scenario;
  for (let size = Math.ceil(plan.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < plan.length;) {
      const fewer = plan.filter((_, at) => at < from || at >= from + size);
      if (await stillFails({ ...scenario, plan: fewer })) plan = fewer;
      else from += size;
    }
  }
  return { ...scenario, plan };
}

async function withFewerOrders(scenario: Scenario, stillFails: StillFails): Promise<Scenario> {
  for (let orders = 1; orders < scenario.orders; orders += 1) {
    if (await stillFails({ ...scenario, orders })) return { ...scenario, orders };
  }
  return scenario;
}
