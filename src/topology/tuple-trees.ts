/**
 * All pending tuple trees: the acker, the deadlines, and the one place where a tree ends. Each tree ends exactly
 * once, as acked, failed (explicit), failed (timeout) or failed (shutdown); its owner is told, once, and after
 * that every report about it changes nothing.
 */
import { Acker, slotOf } from './acker.ts';
import type { Clock } from './clock.ts';
import { DeadlineWheel } from './deadline-wheel.ts';
import type { TreeFailure } from './spout.ts';
import { TupleTree, type TreeOwner } from './tuple-tree.ts';
import type { SpoutStreamCounters } from './statistics.ts';

export type FailureCause = Pick<TreeFailure, 'reason' | 'errorClass' | 'error' | 'retryAfterMs'>;

export interface TupleTreesOptions {
  readonly clock: Clock;
  readonly limit: number;
  readonly messageTimeoutMs: number | 'off';
  readonly maxTreeLifetimeMs: number;
}

export class TupleTrees {
  readonly #clock: Clock;
  readonly #acker: Acker;
  readonly #wheel: DeadlineWheel | undefined;
  readonly #timeoutMs: number;
  readonly #maxLifetimeMs: number;
  readonly #bySlot: (TupleTree | undefined)[] = [];

  constructor(options: TupleTreesOptions) {
    this.#clock = options.clock;
    this.#acker = new Acker(options.limit);
    this.#maxLifetimeMs = options.maxTreeLifetimeMs;
    if (options.messageTimeoutMs === 'off') {
      this.#timeoutMs = Infinity;
      return;
    }
    this.#timeoutMs = options.messageTimeoutMs;
    this.#wheel = new DeadlineWheel({
      clock: options.clock,
      timeoutMs: options.messageTimeoutMs,
      expire: (slot) => {
        this.#expire(slot);
      },
    });
  }

  get pending(): number {
    return this.#acker.pending;
  }

  /** Milliseconds that the event loop has stood still; deadlines moved by as much. */
  get stalledMs(): number {
    return this.#wheel?.stalledMs ?? 0;
  }

  *[Symbol.iterator](): Iterator<TupleTree> {
    for (const tree of this.#bySlot) if (tree !== undefined) yield tree;
  }

  /** Opens a tree that has no edge yet; the caller reports the first edges next. */
  open(source: {
    owner: TreeOwner;
    messageId: string;
    counters: SpoutStreamCounters;
    receivedAtMs: number | undefined;
  }): TupleTree {
    const startedAtMs = this.#clock.nowMs();
    const tree = new TupleTree(this.#acker.open(0, 0), {
      owner: source.owner,
      messageId: source.messageId,
      counters: source.counters,
      startedAtMs,
      receivedAtMs: source.receivedAtMs ?? startedAtMs,
    });
    const slot = slotOf(tree.root);
    this.#bySlot[slot] = tree;
    this.#wheel?.add(slot, this.#wheel.nowMs() + this.#timeoutMs);
    return tree;
  }

  /** Reports an ack, or the first edges; ends the tree when it is complete. False when it had ended before. */
  report(tree: TupleTree, low: number, high: number): boolean {
    const result = this.#acker.report(tree.root, low, high);
    if (result === 'complete') {
      this.#forget(tree);
      tree.owner.treeEnded(tree, undefined);
    }
    return result !== 'stale';
  }

  /** False when it had ended before. */
  fail(tree: TupleTree, cause: FailureCause): boolean {
    if (!this.#acker.fail(tree.root)) return false;
    this.#forget(tree);
    const failure: TreeFailure = {
      ...cause,
      where: {
        component: tree.lastPlace.component,
        task: tree.lastPlace.task,
        phase: tree.lastPhase,
        ageMs: this.#clock.nowMs() - tree.startedAtMs,
      },
    };
    tree.markFailed(failure);
    tree.owner.treeEnded(tree, failure);
    return true;
  }

  isAlive(tree: TupleTree): boolean {
    return this.#acker.isAlive(tree.root);
  }

  /** A heartbeat: one more message timeout from now, up to the maximum lifetime. False when the tree has ended. */
  extend(tree: TupleTree): boolean {
    if (!this.isAlive(tree)) return false;
    if (this.#wheel !== undefined) {
      const nowMs = this.#wheel.nowMs();
      const ageMs = this.#clock.nowMs() - tree.startedAtMs;
      const leftOfLifetimeMs = Math.max(0, this.#maxLifetimeMs - ageMs);
      this.#wheel.extend(slotOf(tree.root), nowMs + Math.min(this.#timeoutMs, leftOfLifetimeMs));
    }
    return true;
  }

  /** Until the timeout; 0 when the tree has ended, Infinity when timeouts are off. */
  remainingMs(tree: TupleTree): number {
    if (!this.isAlive(tree)) return 0;
    if (this.#wheel === undefined) return Infinity;
    return Math.max(0, this.#wheel.deadlineMs(slotOf(tree.root)) - this.#wheel.nowMs());
  }

  /** Forgets every tree without telling anyone, and leaves no timer: what a crash does. */
  abandon(): void {
    for (const tree of this) {
      this.#acker.fail(tree.root);
      this.#forget(tree);
    }
    this.stop();
  }

  /** No timeout fires after this. */
  stop(): void {
    this.#wheel?.stop();
  }

  #expire(slot: number): void {
    const tree = this.#bySlot[slot];
    if (tree === undefined) return;
    this.fail(tree, { reason: 'timeout', errorClass: 'timeout', error: undefined, retryAfterMs: undefined });
  }

  #forget(tree: TupleTree): void {
    const slot = slotOf(tree.root);
    this.#bySlot[slot] = undefined;
    this.#wheel?.remove(slot);
  }
}
