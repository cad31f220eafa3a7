import { InvalidArgumentError } from 'commander';

/** Parses a whole number from 1 to `most`. */
export function countUpTo(most: number): (text: string) => number {
  return (text) => {
    const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (count < 1 || count > most) throw new InvalidArgumentError(`Expected a whole number, 1-${most}.`);
    return count;
  };
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time as milliseconds since the epoch: ISO 8601, or an age like `90m`, `24h` or `7d` before `nowMs`. */
export function timeOf(text: string, nowMs: number): number {
  const [, amount, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (amount !== undefined) return nowMs - Number(amount) * (UNITS_MS[unit] ?? 0);
  const isIso = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/.test(text);
  const atMs = isIso ? Date.parse(text) : NaN;
  if (Number.isNaN(atMs)) {
    throw new InvalidArgumentError('Expected an age (90m, 24h, 7d) or a time (2026-01-31T12:00:00Z).');
  }
  return atMs;
}
