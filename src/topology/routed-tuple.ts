import type { InputCounters } from './statistics.ts';
import type { TaskLoad } from './groupings.ts';
import type { TreePhase, TreePlace, TupleTree } from './tuple-tree.ts';
import type { TupleTrees } from './tuple-trees.ts';
import type { Tuple, Values } from './tuple.ts';

/** A bolt's task as its senders see it. */
export interface TupleTarget extends TaskLoad, TreePlace {
  /** Undefined when there was room, else a promise for when there is. */
  deliver(tuple: RoutedTuple): Promise<void> | undefined;
  readonly hasRoom: boolean;
}

export interface TupleSource {
  readonly component: string;
  readonly stream: string;
  readonly task: number;
}

/** One tree that a tuple belongs to: the id of its edge there, and the XOR of the ids of what was anchored to it. */
export interface TreeEdge {
  readonly tree: TupleTree;
  low: number;
  high: number;
  childrenLow: number;
  childrenHigh: number;
}

/** A tuple on its way to one task. */
export class RoutedTuple implements Tuple {
  readonly values: Values;
  readonly source: TupleSource;
  readonly target: TupleTarget;
  readonly counters: InputCounters;
  /** One for each distinct tree; none for a tuple that nobody tracks. */
  readonly edges: readonly TreeEdge[];
  readonly #trees: TupleTrees;
  queuedAtMs = 0;
  begunAtMs = 0;
  begun = false;
  settled = false;
  held = false;
  #signal: AbortSignal | undefined;

  constructor(
    trees: TupleTrees,
    values: Values,
    route: { source: TupleSource; target: TupleTarget; counters: InputCounters; edges: readonly TreeEdge[] },
  ) {
    this.#trees = trees;
    this.values = values;
    this.source = route.source;
    this.target = route.target;
    this.counters = route.counters;
    this.edges = route.edges;
  }

  get messageId(): string | undefined {
    return this.edges[0]?.tree.messageId;
  }

  remainingMs(): number {
    let leastMs = Infinity;
    for (const { tree } of this.edges) leastMs = Math.min(leastMs, this.#trees.remainingMs(tree));
    return leastMs;
  }

  get signal(): AbortSignal {
    this.#signal ??= this.#makeSignal();
    return this.#signal;
  }

  /** Whether nobody waits for this tuple any more, because all its trees have ended. */
  get isExpired(): boolean {
    for (const { tree } of this.edges) if (this.#trees.isAlive(tree)) return false;
    return this.edges.length > 0;
  }

  see(phase: TreePhase): void {
    for (const { tree } of this.edges) {
      tree.lastPlace = this.target;
      tree.lastPhase = phase;
    }
  }

  begin(nowMs: number): void {
    this.begun = true;
    this.begunAtMs = nowMs;
    for (const { tree } of this.edges) {
      tree.started = true;
      tree.underWay++;
    }
    this.see('executing');
  }

  /** Marks it as settled; false when it was before. */
  settle(): boolean {
    if (this.settled) return false;
    this.settled = true;
    for (const { tree } of this.edges) {
      tree.lastPlace = this.target;
      if (this.begun) tree.underWay--;
    }
    return true;
  }

  #makeSignal(): AbortSignal {
    const [first, ...others] = this.edges;
    if (first === undefined) return new AbortController().signal;
    if (others.length === 0) return first.tree.signal;
    return AbortSignal.any(this.edges.map(({ tree }) => tree.signal));
  }
}
