/**
 * The runner's side of a spout: tracks its trees by message id, holds it to its cap, asks it for tuples when there
 * is room, and tells it how each tree ended. Whatever the spout throws is reported and changes nothing here.
 */
import type { Clock } from './clock.ts';
import { TopologyUsageError } from './errors.ts';
import { deliverAll, type Outlet } from './outlet.ts';
import type { ReportProblem } from './problems.ts';
import type { RollingWindows } from './rolling-windows.ts';
import type { RoutedTuple, TreeEdge } from './routed-tuple.ts';
import type { EmitOptions, Spout, SpoutCollector, TreeFailure } from './spout.ts';
import { countOutcome, type SpoutCounters, type SpoutStreamCounters } from './statistics.ts';
import type { StepScheduler } from './steps.ts';
import type { TreeOwner, TupleTree } from './tuple-tree.ts';
import type { FailureCause, TupleTrees } from './tuple-trees.ts';
import type { Values } from './tuple.ts';

export interface SpoutTaskParts {
  readonly component: string;
  readonly spout: Spout;
  readonly maxPending: number;
  readonly treeLimit: number;
  readonly clock: Clock;
  readonly steps: StepScheduler;
  readonly trees: TupleTrees;
  readonly outlets: ReadonlyMap<string, Outlet>;
  readonly counters: SpoutCounters;
  readonly windows: RollingWindows;
  readonly reportProblem: ReportProblem;
  readonly onTreeEnded: (tree: TupleTree, failure: TreeFailure | undefined) => void;
}

/** Whether emits are accepted: not yet or not now, or never again. */
type Intake = 'open' | 'closed' | 'stopped';

export class SpoutTask implements TreeOwner, SpoutCollector {
  readonly component: string;
  readonly task = 0;
  readonly #parts: SpoutTaskParts;
  readonly #live = new Map<string, TupleTree>();
  #intake: Intake = 'closed';
  /** Below the cap for as long as somebody has a reason to go slow. */
  #mostPending = Infinity;
  #hearsOutcomes = true;
  #atCapSinceMs: number | undefined;
  #askScheduled = false;
  readonly #ask = (): void => {
    this.#askScheduled = false;
    const room = this.room();
    if (room === 0) return;
    this.#call('spout.nextTuples', (spout) => {
      spout.nextTuples(room);
    });
  };

  constructor(parts: SpoutTaskParts) {
    this.component = parts.component;
    this.#parts = parts;
  }

  get intake(): Intake {
    return this.#intake;
  }

  get pending(): number {
    return this.#live.size;
  }

  /** Since when the cap has kept the spout from emitting, in monotonic milliseconds. */
  get atCapSinceMs(): number | undefined {
    return this.#atCapSinceMs;
  }

  emit(
    stream: string,
    messageId: string,
    values: Values,
    options?: EmitOptions,
  ): ReturnType<SpoutCollector['emit']> {
    const outlet = this.#outlet(stream);
    if (this.#intake === 'stopped') return 'stopped';
    if (this.#live.has(messageId)) {
      this.#parts.counters.duplicates.value++;
      return 'duplicate';
    }
    if (this.room() === 0) return 'at-cap';
    const counters = this.#streamCounters(stream);
    const tree = this.#parts.trees.open({
      owner: this,
      messageId,
      counters,
      receivedAtMs: options?.receivedAtMs,
    });
    this.#live.set(messageId, tree);
    this.#parts.windows.roll(tree.startedAtMs);
    if (this.#live.size >= this.#parts.maxPending) this.#atCapSinceMs = this.#parts.clock.nowMs();
    this.#startTree(tree, outlet, values);
    return 'emitted';
  }

  emitUnreliable(stream: string, values: Values): boolean {
    const outlet = this.#outlet(stream);
    if (this.#intake !== 'open') return false;
    const tuples = outlet.address(values, []);
    this.#streamCounters(stream).unreliable.value++;
    const fitting = tuples.filter(({ target }) => target.hasRoom);
    void deliverAll(fitting);
    if (fitting.length === tuples.length) return true;
    outlet.counters.discarded.value++;
    return false;
  }

  isPending(messageId: string): boolean {
    return this.#live.has(messageId);
  }

  room(): number {
    if (this.#intake !== 'open') return 0;
    const { maxPending, trees, treeLimit } = this.#parts;
    const most = Math.min(maxPending, this.#mostPending);
    return Math.max(0, Math.min(most - this.#live.size, treeLimit - trees.pending));
  }

  wake(): void {
    if (this.#askScheduled || this.#intake !== 'open') return;
    this.#askScheduled = true;
    this.#parts.steps.schedule(this.#ask);
  }

  /** The spout's own words for why it emits nothing. */
  idleReason(): ReturnType<Spout['idleReason']> {
    try {
      return this.#parts.spout.idleReason();
    } catch (error) {
      this.#parts.reportProblem({ component: this.component, during: 'spout.idleReason', error });
      return { reason: 'unknown: the spout threw when it was asked', waitingReplays: 0 };
    }
  }

  limitPending(most: number): void {
    const hadLess = most > this.#mostPending;
    this.#mostPending = most;
    if (hadLess) this.wake();
  }

  openIntake(): void {
    if (this.#intake !== 'closed') return;
    this.#intake = 'open';
    this.#call('spout.activate', (spout) => {
      spout.activate();
    });
    this.wake();
  }

  closeIntake(): void {
    if (this.#intake !== 'open') return;
    this.#intake = 'closed';
    this.#call('spout.deactivate', (spout) => {
      spout.deactivate();
    });
  }

  /** No emit is accepted any more; outcomes still are told. */
  stopIntake(): void {
    this.closeIntake();
    this.#intake = 'stopped';
  }

  /** Tells the spout nothing more: what a crash does. */
  fallSilent(): void {
    this.#intake = 'stopped';
    this.#hearsOutcomes = false;
    this.#live.clear();
  }

  treeEnded(tree: TupleTree, failure: TreeFailure | undefined): void {
    this.#live.delete(tree.messageId);
    this.#atCapSinceMs = undefined;
    this.#count(tree, failure);
    if (!this.#hearsOutcomes) return;
    this.#call(failure === undefined ? 'spout.ack' : 'spout.fail', (spout) => {
      if (failure === undefined) spout.ack(tree.messageId);
      else spout.fail(tree.messageId, failure);
    });
    this.#parts.onTreeEnded(tree, failure);
    this.wake();
  }

  #startTree(tree: TupleTree, outlet: Outlet, values: Values): void {
    const root: TreeEdge = { tree, low: 0, high: 0, childrenLow: 0, childrenHigh: 0 };
    let tuples: readonly RoutedTuple[];
    try {
      tuples = outlet.address(values, [{ edges: [root] }]);
    } catch (error) {
      this.#later(() => this.#parts.trees.fail(tree, groupingFailure(error)));
      return;
    }
    if (tuples.length === 0) {
      this.#later(() => this.#parts.trees.report(tree, 0, 0));
      return;
    }
    this.#parts.trees.report(tree, root.childrenLow, root.childrenHigh);
    void deliverAll(tuples);
  }

  /** A spout hears of a tree only after the emit that started it has returned. */
  #later(end: () => boolean): void {
    this.#parts.steps.schedule(() => {
      end();
    });
  }

  #count({ counters, receivedAtMs }: TupleTree, failure: TreeFailure | undefined): void {
    const nowMs = this.#parts.clock.nowMs();
    this.#parts.windows.roll(nowMs);
    countOutcome(counters, failure);
    if (failure === undefined) this.#parts.counters.completeMs.record(nowMs - receivedAtMs);
  }

  #call(during: string, call: (spout: Spout) => void): void {
    try {
      call(this.#parts.spout);
    } catch (error) {
      this.#parts.reportProblem({ component: this.component, during, error });
    }
  }

  #outlet(stream: string): Outlet {
    const outlet = this.#parts.outlets.get(stream);
    if (outlet !== undefined) return outlet;
    throw new TopologyUsageError(
      `spout "${this.component}" emitted on stream "${stream}", which it does not declare`,
    );
  }

  #streamCounters(stream: string): SpoutStreamCounters {
    const counters = this.#parts.counters.streams.get(stream);
    if (counters !== undefined) return counters;
    throw new TopologyUsageError(`spout "${this.component}" has no stream "${stream}"`);
  }
}

function groupingFailure(error: unknown): FailureCause {
  return { reason: 'explicit', errorClass: 'bug', error, retryAfterMs: undefined };
}
