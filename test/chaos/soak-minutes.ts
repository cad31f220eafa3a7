/** What a soak measured, minute by minute, and whether it stayed flat. */
import { grouped } from './finding.ts';
import type { JournalEntry } from './publisher-process.ts';
import type { Receipt } from './receiver-process.ts';
import type { Vitals } from './vitals-process.ts';

const MINUTE_MS = 60_000;
const MEBIBYTE = 2 ** 20;

export interface Minute {
  /** From 0. */
  readonly minute: number;
  readonly published: number;
  readonly announced: number;
  /** From the broker's confirm to downstream, of what was published in this minute; 0 without any. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Published and not announced when the minute was over. */
  readonly backlog: number;
  /** Of the worker that nobody kills: medians, and of the heap the least, which is what is left after a collection. */
  readonly rssMib: number;
  readonly heapMib: number;
  readonly descriptors: number;
  readonly resources: number;
}

export interface SoakEvidence {
  readonly startMs: number;
  readonly endMs: number;
  readonly journal: readonly JournalEntry[];
  readonly receipts: readonly Receipt[];
  readonly vitals: readonly Vitals[];
}

/** Whole minutes; a soak of less has one. */
export function minutesOf({ endMs, journal, receipts, startMs, vitals }: SoakEvidence): Minute[] {
  const published = firstTimes(
    journal.filter(({ outcome, orderId }) => outcome === 'confirmed' && orderId !== undefined),
    ({ orderId }) => orderId ?? '',
  );
  const announced = firstTimes(receipts, ({ body }) => body.orderId);
  // What is never announced (it is parked) is no backlog.
  const orders = [...published].filter(([orderId]) => announced.has(orderId));
  const spared = longestLived(vitals);
  const count = Math.max(1, Math.floor((endMs - startMs) / MINUTE_MS));
  return Array.from({ length: count }, (_, minute) => {
    const fromMs = startMs + minute * MINUTE_MS;
    const toMs = Math.min(endMs, fromMs + MINUTE_MS);
    const isWithin = (atMs: number): boolean => atMs >= fromMs && atMs < toMs;
    const own = orders.filter(([, atMs]) => isWithin(atMs));
    const latencies = own.map(([orderId, atMs]) => Math.max(0, (announced.get(orderId) ?? atMs) - atMs));
    const lived = spared.filter(({ atMs }) => isWithin(atMs));
    const open = orders.filter(([orderId, atMs]) => atMs < toMs && (announced.get(orderId) ?? 0) >= toMs);
    return {
      minute,
      published: own.length,
      announced: [...announced.values()].filter(isWithin).length,
      p50Ms: percentile(latencies, 0.5),
      p99Ms: percentile(latencies, 0.99),
      backlog: open.length,
      rssMib: percentile(lived.map(({ rssBytes }) => rssBytes), 0.5) / MEBIBYTE, // prettier-ignore
      heapMib: percentile(lived.map(({ heapBytes }) => heapBytes), 0) / MEBIBYTE, // prettier-ignore
      descriptors: percentile(lived.map((one) => one.descriptors), 0.5), // prettier-ignore
      resources: percentile(lived.map((one) => one.resources), 0.5), // prettier-ignore
    };
  });
}

function firstTimes<T extends { readonly atMs: number }>(
  items: readonly T[],
  keyOf: (item: T) => string,
): Map<string, number> {
  const times = new Map<string, number>();
  for (const item of items) {
    const key = keyOf(item);
    times.set(key, Math.min(item.atMs, times.get(key) ?? Infinity));
  }
  return times;
}

/** Those of the process that was seen most often. */
function longestLived(vitals: readonly Vitals[]): readonly Vitals[] {
  const byPid = grouped(vitals, ({ pid }) => String(pid));
  return [...byPid.values()].reduce((most, one) => (one.length > most.length ? one : most), []);
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

// --- flat or not -------------------------------------------------------------------------------------------------

/** How one figure went, by the straight line through its minutes. */
export interface Trend {
  readonly name: string;
  readonly mean: number;
  /** From the first to the last of the minutes looked at, along the line. */
  readonly rise: number;
  readonly limit: number;
  readonly isFlat: boolean;
}

export interface Flatness {
  /** undefined: too short to tell. */
  readonly isFlat: boolean | undefined;
  readonly trends: readonly Trend[];
}

const WARM_UP_SHARE = 0.2;
/** After the warm-up. */
const LEAST_MINUTES = 5;

/** What a figure may rise by: a part of its mean, or so much, whichever is more. Noise of a shared machine is below. */
const LIMITS: readonly (readonly [keyof Minute, share: number, least: number])[] = [
  ['rssMib', 0.1, 16],
  ['heapMib', 0.2, 10],
  ['descriptors', 0.1, 3],
  ['resources', 0.2, 8],
  ['p50Ms', 0.5, 20],
  ['p99Ms', 0.5, 500],
  ['backlog', 0.5, 50],
];

/** Memory, handles, latency and backlog, without the warm-up. */
export function flatnessOf(minutes: readonly Minute[]): Flatness {
  const seen = minutes.slice(Math.ceil(minutes.length * WARM_UP_SHARE));
  const trends = LIMITS.map(([name, share, least]): Trend => {
    const values = seen.map((minute) => minute[name]);
    const mean = sum(values) / Math.max(1, values.length);
    const rise = slopeOf(values) * Math.max(0, values.length - 1);
    const limit = Math.max(share * mean, least);
    return { name, mean, rise, limit, isFlat: rise <= limit };
  });
  const isLongEnough = seen.length >= LEAST_MINUTES;
  return { isFlat: isLongEnough ? trends.every(({ isFlat }) => isFlat) : undefined, trends };
}

/** Least squares, per step. */
function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = sum(values) / Math.max(1, values.length);
  const squares = sum(values.map((_, index) => (index - middle) ** 2));
  const products = sum(values.map((value, index) => (index - middle) * (value - mean)));
  return squares === 0 ? 0 : products / squares;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
