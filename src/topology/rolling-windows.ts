/**
 * Windows over counters and histograms that only ever grow: a window is what they hold now, less what they held at
 * its start. So counting costs one addition, however many windows there are. Each window keeps 20 readings at even
 * steps (19 full steps plus the current one, as in Storm); memory is fixed once everything is registered.
 */
import { HISTOGRAM_BUCKETS, LatencyHistogram } from './histogram.ts';

export const WINDOWS = ['10m', '3h', '1d', 'all'] as const;
export type WindowName = (typeof WINDOWS)[number];

const SPANS_MS: Readonly<Record<Exclude<WindowName, 'all'>, number>> = {
  '10m': 600_000,
  '3h': 10_800_000,
  '1d': 86_400_000,
};
const STEPS = 20;

export class Counter {
  readonly index: number;
  value = 0;

  constructor(index: number) {
    this.index = index;
  }
}

/** What happened within a window. */
export interface WindowReading {
  readonly spanMs: number;
  count(counter: Counter): number;
  latencies(histogram: IndexedHistogram): Uint32Array;
}

export class IndexedHistogram extends LatencyHistogram {
  readonly index: number;

  constructor(index: number) {
    super();
    this.index = index;
  }
}

interface Snapshot {
  readonly atMs: number;
  readonly counters: Float64Array;
  readonly buckets: Uint32Array;
}

export class RollingWindows {
  readonly #startMs: number;
  readonly #counters: Counter[] = [];
  readonly #histograms: IndexedHistogram[] = [];
  readonly #rings: {
    readonly name: WindowName;
    readonly stepMs: number;
    nextMs: number;
    snapshots: Snapshot[];
  }[];
  #nextRollMs: number;

  constructor(nowMs: number) {
    this.#startMs = nowMs;
    this.#rings = Object.entries(SPANS_MS).map(([name, spanMs]) => ({
      name: name as WindowName,
      stepMs: spanMs / STEPS,
      nextMs: nowMs + spanMs / STEPS,
      snapshots: [],
    }));
    this.#nextRollMs = Math.min(...this.#rings.map((ring) => ring.nextMs));
  }

  /** Readings kept at the moment, of all windows. */
  get readings(): number {
    return this.#rings.reduce((sum, { snapshots }) => sum + snapshots.length, 0);
  }

  counter(): Counter {
    const counter = new Counter(this.#counters.length);
    this.#counters.push(counter);
    return counter;
  }

  histogram(): IndexedHistogram {
    const histogram = new IndexedHistogram(this.#histograms.length);
    this.#histograms.push(histogram);
    return histogram;
  }

  /** To be called before anything is counted or read; one comparison most of the time. */
  roll(nowMs: number): void {
    if (nowMs < this.#nextRollMs) return;
    for (const ring of this.#rings) {
      if (nowMs < ring.nextMs) continue;
      const steps = Math.floor((nowMs - ring.nextMs) / ring.stepMs) + 1;
      const lastMs = ring.nextMs + (steps - 1) * ring.stepMs;
      // Nothing was counted in the steps that went by unseen: they share one reading.
      for (let back = Math.min(steps, STEPS) - 1; back >= 0; back--) {
        ring.snapshots.push(this.#snapshot(lastMs - back * ring.stepMs));
      }
      ring.snapshots.splice(0, ring.snapshots.length - STEPS);
      ring.nextMs = lastMs + ring.stepMs;
    }
    this.#nextRollMs = Math.min(...this.#rings.map((ring) => ring.nextMs));
  }

  read(window: WindowName, nowMs: number): WindowReading {
    this.roll(nowMs);
    const ring = this.#rings.find(({ name }) => name === window);
    const start = ring?.snapshots.length === STEPS ? ring.snapshots[0] : undefined;
    return {
      spanMs: nowMs - (start?.atMs ?? this.#startMs),
      count: (counter) => counter.value - (start?.counters[counter.index] ?? 0),
      latencies: (histogram) => {
        const from = histogram.index * HISTOGRAM_BUCKETS;
        return histogram.counts.map((count, bucket) => count - (start?.buckets[from + bucket] ?? 0));
      },
    };
  }

  #snapshot(atMs: number): Snapshot {
    const buckets = new Uint32Array(this.#histograms.length * HISTOGRAM_BUCKETS);
    for (const { index, counts } of this.#histograms) buckets.set(counts, index * HISTOGRAM_BUCKETS);
    return { atMs, counters: Float64Array.from(this.#counters, ({ value }) => value), buckets };
  }
}
