import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory, startKeeper } from '../support/private-services.ts';
import { check } from './checker.ts';
import { loadEvidence } from './evidence.ts';
import { planOf } from './plan.ts';
import { plant } from './plants.ts';
import { reportOf, type Report } from './report.ts';
import { runChaos } from './run-chaos.ts';
import type { Progress } from './settle.ts';

export interface TrialOptions {
  readonly orders: number;
  readonly seed: number;
  /** Name of a bug, see plants.ts. */
  readonly plant?: string | undefined;
  /** Where the evidence is to be kept; removed in the end when there is no such wish. */
  readonly evidence?: string | undefined;
  readonly commit: string;
  readonly show: (progress: Progress) => void;
}

/** A run of its own and what the checker says of it; leaves nothing running. */
export async function holdTrial(options: TrialOptions): Promise<Report> {
  const { commit, evidence, orders, seed, show } = options;
  if (evidence !== undefined && existsSync(evidence))
    throw new Error(`${evidence} exists already: name a folder that does not`);
  const startedAtMs = performance.now();
  const keeper = startKeeper();
  try {
    const directory = makeDirectory(keeper);
    const folder = evidence ?? join(directory, 'evidence');
    const plan = planOf(orders, seed);
    const bug = options.plant;
    const program = bug === undefined ? {} : { program: plant(bug, join(directory, 'planted')) };
    const secrets = await runChaos({ keeper, directory, folder, plan, ...program, show });
    const found = loadEvidence(folder, plan, secrets);
    return reportOf(found, check(found), { commit, durationMs: Math.round(performance.now() - startedAtMs) });
  } finally {
    await keeper.stop();
  }
}
