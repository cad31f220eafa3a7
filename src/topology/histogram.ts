/**
 * A latency histogram of fixed size: whole microseconds in buckets of at most 1/16 of their value, up to 71
 * minutes. Recording is a few integer operations; two readings subtract, which is how windows are made.
 */
const SUB_BUCKET_BITS = 4;
const SUB_BUCKETS = 2 ** SUB_BUCKET_BITS;
const LARGEST_US = 2 ** 32 - 1;

export const HISTOGRAM_BUCKETS = (32 - SUB_BUCKET_BITS + 1) * SUB_BUCKETS;

export interface LatencySummary {
  readonly count: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export class LatencyHistogram {
  readonly counts = new Uint32Array(HISTOGRAM_BUCKETS);

  record(latencyMs: number): void {
    const bucket = bucketOf(latencyMs);
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
  }
}

/** Percentiles are the upper bounds of their buckets: at most 6.25 % above the true value, never below it. */
export function summarize(counts: Uint32Array): LatencySummary {
  let count = 0;
  for (const inBucket of counts) count += inBucket;
  return {
    count,
    p50Ms: percentileMs(counts, count, 0.5),
    p95Ms: percentileMs(counts, count, 0.95),
    p99Ms: percentileMs(counts, count, 0.99),
    maxMs: percentileMs(counts, count, 1),
  };
}

function percentileMs(counts: Uint32Array, count: number, share: number): number {
  if (count === 0) return 0;
  let left = Math.max(1, Math.ceil(count * share));
  for (let bucket = 0; bucket < counts.length; bucket++) {
    left -= counts[bucket] ?? 0;
    if (left <= 0) return upperBoundUs(bucket) / 1000;
  }
  return LARGEST_US / 1000;
}

function bucketOf(latencyMs: number): number {
  const us = Math.min(LARGEST_US, Math.max(0, Math.round(latencyMs * 1000)));
  if (us < SUB_BUCKETS) return us;
  const shift = 31 - Math.clz32(us) - SUB_BUCKET_BITS;
  return shift * SUB_BUCKETS + (us >>> shift);
}

function upperBoundUs(bucket: number): number {
  if (bucket < SUB_BUCKETS * 2) return bucket;
  const shift = Math.floor(bucket / SUB_BUCKETS) - 1;
  return (bucket - shift * SUB_BUCKETS + 1) * 2 ** shift - 1;
}
