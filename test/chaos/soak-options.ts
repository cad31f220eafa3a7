import { parseArgs } from 'node:util';

export const SOAK_USAGE = `usage: npm run soak -- [--minutes M] [--rate R | --share S] [--json]

  --minutes M  how long orders are published: 30 by default
  --rate R     so many orders a second
  --share S    this share of the rate that is measured first, above 0 and at most 1: 0.7 by default
  --json       print the result as one JSON object

Three workers; one is killed every minute, in turn, but one of them never: what it leaks shows.
Exit code 0: memory, handles, latency and backlog stayed flat (or it was too short to tell), nothing was lost or charged
twice. 1: not so. 64: usage.
`;

export interface SoakOptions {
  readonly minutes: number;
  /** Orders a second; undefined: by `share`. */
  readonly rate: number | undefined;
  readonly share: number;
  readonly json: boolean;
}

const DEFAULT_MINUTES = '30';
const DEFAULT_SHARE = '0.7';
const MOST_MINUTES = 24 * 60;
const MOST_PER_SECOND = 10_000;

/** Throws a TypeError or RangeError about what is wrong. */
export function soakOptionsOf(args: readonly string[]): SoakOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: DEFAULT_MINUTES },
      rate: { type: 'string' },
      share: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  if (values.rate !== undefined && values.share !== undefined)
    throw new RangeError('--rate and --share: give one of them');
  return {
    minutes: numberUpTo('--minutes', values.minutes, MOST_MINUTES),
    rate: values.rate === undefined ? undefined : numberUpTo('--rate', values.rate, MOST_PER_SECOND),
    share: numberUpTo('--share', values.share ?? DEFAULT_SHARE, 1),
    json: values.json,
  };
}

function numberUpTo(name: string, text: string, most: number): number {
  const number = /^\d{1,6}(?:\.\d{1,3})?$/.test(text) ? Number(text) : NaN;
  if (!(number > 0 && number <= most))
    throw new RangeError(`${name} ${text}: expected a number above 0, up to ${most}`);
  return number;
}
