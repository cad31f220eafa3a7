import { parseArgs } from 'node:util';
import { PLANT_NAMES } from './plants.ts';

export const USAGE = `usage: npm run chaos -- [--orders N] [--seed S] [--plant BUG] [--evidence FOLDER] [--json]

  --orders N         how many messages are published, and with them how much happens: 5000 by default
  --seed S           of the plan and of the faults at the gateway; a new one by default
  --plant BUG        a worker with this bug in it, which must be found: ${PLANT_NAMES.join(', ')}
  --evidence FOLDER  keep the evidence there; the folder must not exist
  --json             print the result as one JSON object

Exit code 0: every invariant holds (with --plant: the bug was found). 1: not so, or the storm was none. 64: usage.
`;

export interface ChaosOptions {
  readonly orders: number;
  readonly seed: number;
  readonly plant: string | undefined;
  readonly evidence: string | undefined;
  readonly json: boolean;
}

const MOST_ORDERS = 1_000_000;

/** Throws a TypeError or RangeError about what is wrong; `newSeed` stands for a seed that is not given. */
export function optionsOf(args: readonly string[], newSeed: () => number): ChaosOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      orders: { type: 'string', default: '5000' },
      seed: { type: 'string' },
      plant: { type: 'string' },
      evidence: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const { plant } = values;
  if (plant !== undefined && !PLANT_NAMES.includes(plant))
    throw new RangeError(`--plant ${plant}: there is only ${PLANT_NAMES.join(' and ')}`);
  return {
    orders: wholeNumber('--orders', values.orders, 1, MOST_ORDERS),
    seed: values.seed === undefined ? newSeed() : wholeNumber('--seed', values.seed, 0, 2 ** 32 - 1),
    plant,
    evidence: values.evidence,
    json: values.json,
  };
}

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
  if (!(number >= least && number <= most))
    throw new RangeError(`${name} ${text}: expected a whole number from ${least} to ${most}`);
  return number;
}
