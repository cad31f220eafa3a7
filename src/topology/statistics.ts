/**
 * What the runtime counts: exact, per component and stream, at a few additions a tuple. Components keep their own
 * counters and increment them directly; statistics-report.ts turns them into what is read.
 */
import type { TreeFailure } from './spout.ts';
import { RollingWindows, type Counter, type IndexedHistogram } from './rolling-windows.ts';

/** One stream on the emitting side. */
export interface OutletCounters {
  /** Emits. */
  readonly emitted: Counter;
  /** Tuples: one for each target task of an emit. */
  readonly transferred: Counter;
  /** Emits dropped: unreliable without room, or anchored to trees that have all ended. */
  readonly discarded: Counter;
}

/** One stream of a spout: emitted = unreliable + acked + the three failures + pending, at every observation. */
export interface SpoutStreamCounters extends OutletCounters {
  readonly acked: Counter;
  readonly failedExplicit: Counter;
  readonly failedTimeout: Counter;
  readonly failedShutdown: Counter;
  readonly unreliable: Counter;
}

/** Counts how one tree of the stream ended. */
export function countOutcome(counters: SpoutStreamCounters, failure: TreeFailure | undefined): void {
  switch (failure?.reason) {
    case undefined:
      counters.acked.value++;
      break;
    case 'explicit':
      counters.failedExplicit.value++;
      break;
    case 'timeout':
      counters.failedTimeout.value++;
      break;
    case 'shutdown':
      counters.failedShutdown.value++;
      break;
  }
}

export interface SpoutCounters {
  readonly streams: ReadonlyMap<string, SpoutStreamCounters>;
  readonly duplicates: Counter;
  /** From the source's receipt of a tuple to the end of its complete tree. */
  readonly completeMs: IndexedHistogram;
}

/** One stream on the consuming side. */
export interface InputCounters {
  readonly executed: Counter;
  readonly acked: Counter;
  /** Failed and to be replayed. */
  readonly failed: Counter;
  /** Of the acked ones those that a NonRetriableError sent to the error stream. */
  readonly toErrorStream: Counter;
  /** Not executed, because all their trees had ended while they waited. */
  readonly expired: Counter;
  /** Second acks and fails of one tuple. */
  readonly settledTwice: Counter;
}

export interface BoltCounters {
  readonly outlets: ReadonlyMap<string, OutletCounters>;
  /** By `component.stream`. */
  readonly inputs: ReadonlyMap<string, InputCounters>;
  readonly executed: Counter;
  readonly executeMsTotal: Counter;
  /** Time inside `execute`. */
  readonly executeMs: IndexedHistogram;
  /** From arrival in the mailbox to the ack. */
  readonly processMs: IndexedHistogram;
  readonly ticks: Counter;
  readonly ticksMissed: Counter;
}

export class Statistics {
  readonly windows: RollingWindows;
  readonly spouts = new Map<string, SpoutCounters>();
  readonly bolts = new Map<string, BoltCounters>();
  /** Throws of spouts, ticks, cleanups: whatever went to `onProblem`. */
  readonly problems: Counter;

  constructor(nowMs: number) {
    this.windows = new RollingWindows(nowMs);
    this.problems = this.windows.counter();
  }

  addSpout(id: string, streams: readonly string[]): SpoutCounters {
    const counters: SpoutCounters = {
      streams: new Map(streams.map((stream) => [stream, this.#spoutStream()])),
      duplicates: this.windows.counter(),
      completeMs: this.windows.histogram(),
    };
    this.spouts.set(id, counters);
    return counters;
  }

  addBolt(id: string, streams: readonly string[], inputs: readonly string[]): BoltCounters {
    const { windows } = this;
    const counters: BoltCounters = {
      outlets: new Map(streams.map((stream) => [stream, this.#outlet()])),
      inputs: new Map(inputs.map((input) => [input, this.#input()])),
      executed: windows.counter(),
      executeMsTotal: windows.counter(),
      executeMs: windows.histogram(),
      processMs: windows.histogram(),
      ticks: windows.counter(),
      ticksMissed: windows.counter(),
    };
    this.bolts.set(id, counters);
    return counters;
  }

  #outlet(): OutletCounters {
    const { windows } = this;
    return { emitted: windows.counter(), transferred: windows.counter(), discarded: windows.counter() };
  }

  #spoutStream(): SpoutStreamCounters {
    const { windows } = this;
    return {
      ...this.#outlet(),
      acked: windows.counter(),
      failedExplicit: windows.counter(),
      failedTimeout: windows.counter(),
      failedShutdown: windows.counter(),
      unreliable: windows.counter(),
    };
  }

  #input(): InputCounters {
    const { windows } = this;
    return {
      executed: windows.counter(),
      acked: windows.counter(),
      failed: windows.counter(),
      toErrorStream: windows.counter(),
      expired: windows.counter(),
      settledTwice: windows.counter(),
    };
  }
}
