/** Failures that were found once, as small as they could be made: each must pass ever after. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Scenario } from './shrink.ts';

export interface Regression extends Scenario {
  /** What went wrong, and what mended it. */
  readonly about: string;
}

/** `test/simulation/regressions`, as seen from dist. */
const FOLDER = join(import.meta.dirname, '../../../test/simulation/regressions');

export function readRegressions(): { readonly name: string; readonly regression: Regression }[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => ({ name, regression: readRegression(join(FOLDER, name)) }));
}

export function readRegression(path: string): Regression {
  return JSON.parse(readFileSync(path, 'utf8')) as Regression;
}

/** Gives the path. */
export function writeRegression(name: string, regression: Regression): string {
  mkdirSync(FOLDER, { recursive: true });
  const path = join(FOLDER, `${name}.json`);
  writeFileSync(path, `${JSON.stringify(regression, undefined, 2)}\n`);
  return path;
}
