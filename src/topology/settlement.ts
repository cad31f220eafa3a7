/** The one place where a bolt's tuple is settled: acked, failed, or ended by an error. */
import { ERROR_STREAM, type ErrorValues } from './bolt.ts';
import type { Clock } from './clock.ts';
import { NonRetriableError, RetriableError, TopologyUsageError } from './errors.ts';
import { deliverAll, type Outlet } from './outlet.ts';
import type { RoutedTuple } from './routed-tuple.ts';
import type { RollingWindows } from './rolling-windows.ts';
import type { BoltCounters } from './statistics.ts';
import type { FailureCause, TupleTrees } from './tuple-trees.ts';

export class Settlement {
  readonly #clock: Clock;
  readonly #trees: TupleTrees;
  readonly #counters: BoltCounters;
  readonly #windows: RollingWindows;
  readonly #outlets: ReadonlyMap<string, Outlet>;

  constructor(parts: {
    clock: Clock;
    trees: TupleTrees;
    counters: BoltCounters;
    windows: RollingWindows;
    outlets: ReadonlyMap<string, Outlet>;
  }) {
    this.#clock = parts.clock;
    this.#trees = parts.trees;
    this.#counters = parts.counters;
    this.#windows = parts.windows;
    this.#outlets = parts.outlets;
  }

  /** Throws TopologyUsageError for a stream that the bolt did not declare. */
  outlet(stream: string): Outlet {
    const outlet = this.#outlets.get(stream);
    if (outlet !== undefined) return outlet;
    throw new TopologyUsageError(
      `a bolt emitted on stream "${stream}", which it does not declare (declared: ${[...this.#outlets.keys()].join(', ')})`,
    );
  }

  /** Counts that the bolt's `execute` is over; it may wait for room downstream after that. */
  countExecuted(tuple: RoutedTuple): void {
    const nowMs = this.#clock.nowMs();
    this.#windows.roll(nowMs);
    const tookMs = nowMs - tuple.begunAtMs;
    tuple.counters.executed.value++;
    this.#counters.executed.value++;
    this.#counters.executeMsTotal.value += tookMs;
    this.#counters.executeMs.record(tookMs);
  }

  /** Reports, in one step, the tuple's own edge and all edges that were anchored to it. */
  ack(tuple: RoutedTuple): boolean {
    if (!this.#settleOnce(tuple)) return false;
    tuple.counters.acked.value++;
    this.#counters.processMs.record(this.#clock.nowMs() - tuple.queuedAtMs);
    for (const { tree, low, high, childrenLow, childrenHigh } of tuple.edges) {
      this.#trees.report(tree, low ^ childrenLow, high ^ childrenHigh);
    }
    return true;
  }

  /** Fails every tree of the tuple. */
  fail(tuple: RoutedTuple, error: unknown): boolean {
    if (!this.#settleOnce(tuple)) return false;
    tuple.counters.failed.value++;
    const cause = causeOf(error);
    for (const { tree } of tuple.edges) this.#trees.fail(tree, cause);
    return true;
  }

  /**
   * What a rejected `execute` means: a NonRetriableError acks the tuple and goes to the error stream, if anyone
   * consumes that; everything else fails the tuple. Undefined, or a promise for room in the error stream.
   */
  reject(tuple: RoutedTuple, error: unknown): Promise<unknown> | undefined {
    if (tuple.settled) return undefined;
    const errors = this.#outlets.get(ERROR_STREAM);
    if (!(error instanceof NonRetriableError) || errors === undefined || errors.subscriptions.length === 0) {
      this.fail(tuple, error);
      return undefined;
    }
    const values: ErrorValues = { error, values: tuple.values };
    let toErrorStream: RoutedTuple[];
    try {
      toErrorStream = errors.address(values, [tuple]);
    } catch (groupingError) {
      this.fail(tuple, groupingError);
      return undefined;
    }
    tuple.counters.toErrorStream.value++;
    this.ack(tuple);
    return deliverAll(toErrorStream);
  }

  #settleOnce(tuple: RoutedTuple): boolean {
    if (tuple.settle()) return true;
    tuple.counters.settledTwice.value++;
    return false;
  }
}

/** Errors that are not one of the runtime's own classes are bugs or surprises: class `unknown`, to be replayed. */
function causeOf(error: unknown): FailureCause {
  const known = error instanceof RetriableError || error instanceof NonRetriableError;
  return {
    reason: 'explicit',
    errorClass: error instanceof TopologyUsageError ? 'bug' : known ? error.errorClass : 'unknown',
    error,
    retryAfterMs: error instanceof RetriableError ? error.retryAfterMs : undefined,
  };
}
