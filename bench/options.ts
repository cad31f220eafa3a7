import { parseArgs } from 'node:util';
import { CONTESTANT_NAMES, type ContestantName } from './contestants/contestants.ts';

export const SERIES_NAMES = [
  'runtime',
  'backlog',
  'table',
  'workers',
  'in-flight',
  'latency',
  'lives',
] as const;
export type SeriesName = (typeof SERIES_NAMES)[number];

export const USAGE = `usage: npm run bench -- [--orders N] [--rounds R] [--only NAMES] [--series NAMES] [--json]

  --orders N      orders a round, for the fast contestants; slow ones get a fixed share. 10000 by default
  --rounds R      how often each contestant has its turn: 5 by default
  --only NAMES    contestants, comma-separated: ${CONTESTANT_NAMES.join(', ')}; all by default
  --series NAMES  what else is measured: ${SERIES_NAMES.join(', ')}, or none; all by default
  --flush-ms MS   each flush of the database's log takes so much longer: as on a slower disk or a network volume. 0 by default
  --keep FOLDER   keep the logs of all processes there
  --profile NAME  with --keep: the processes of this contestant leave CPU profiles there, too
  --json          print the result as one JSON object

Exit code 0: every contestant did its work, however fast. 1: orders were lost, charged twice or not announced. 64: usage.
`;

export interface BenchOptions {
  readonly orders: number;
  readonly rounds: number;
  readonly only: readonly ContestantName[];
  readonly series: readonly SeriesName[];
  readonly flushMs: number;
  readonly keep: string | undefined;
  readonly profile: ContestantName | undefined;
  readonly json: boolean;
}

/** Throws a TypeError or RangeError about what is wrong. */
export function optionsOf(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      orders: { type: 'string', default: '10000' },
      rounds: { type: 'string', default: '5' },
      only: { type: 'string', default: CONTESTANT_NAMES.join(',') },
      series: { type: 'string', default: SERIES_NAMES.join(',') },
      'flush-ms': { type: 'string', default: '0' },
      keep: { type: 'string' },
      profile: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  return {
    orders: wholeNumber('--orders', values.orders, 100, 1_000_000),
    rounds: wholeNumber('--rounds', values.rounds, 0, 100),
    only: namesOf('--only', values.only, CONTESTANT_NAMES),
    series: values.series === 'none' ? [] : namesOf('--series', values.series, SERIES_NAMES),
    flushMs: millisecondsOf('--flush-ms', values['flush-ms']),
    keep: values.keep,
    profile: profileOf(values.profile, values.keep),
    json: values.json,
  };
}

function profileOf(name: string | undefined, keep: string | undefined): ContestantName | undefined {
  if (name === undefined) return undefined;
  if (keep === undefined) throw new RangeError('--profile needs --keep, where the profiles are to be kept');
  return namesOf('--profile', name, CONTESTANT_NAMES)[0];
}

function namesOf<Name extends string>(option: string, text: string, known: readonly Name[]): readonly Name[] {
  return text.split(',').map((word) => {
    const name = known.find((one) => one === word);
    if (name === undefined) throw new RangeError(`${option} ${word}: there is only ${known.join(', ')}`);
    return name;
  });
}

/** As far as PostgreSQL's commit_delay goes. */
const LONGEST_FLUSH_MS = 100;

function millisecondsOf(option: string, text: string): number {
  const ms = /^\d{1,3}(\.\d{1,3})?$/.test(text) ? Number(text) : NaN;
  if (!(ms <= LONGEST_FLUSH_MS))
    throw new RangeError(`${option} ${text}: expected milliseconds from 0 to ${LONGEST_FLUSH_MS}`);
  return ms;
}

function wholeNumber(option: string, text: string, least: number, most: number): number {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
  if (!(number >= least && number <= most))
    throw new RangeError(`${option} ${text}: expected a whole number from ${least} to ${most}`);
  return number;
}
