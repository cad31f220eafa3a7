/**
 * One stream of one task, on the emitting side: who consumes it, and how an emit becomes tuples.
 *
 * Addressing (choosing targets, making edges) and delivering are two steps: between them the emitter reports the
 * new edges to the acker, so that no tuple is on its way before its tree knows of it.
 */
import type { Selector } from './groupings.ts';
import type { RandomSource } from './random.ts';
import { RoutedTuple, type TreeEdge, type TupleSource, type TupleTarget } from './routed-tuple.ts';
import type { InputCounters, OutletCounters } from './statistics.ts';
import type { TupleTrees } from './tuple-trees.ts';
import type { Values } from './tuple.ts';

export interface Subscription {
  readonly select: Selector;
  readonly tasks: readonly TupleTarget[];
  readonly counters: InputCounters;
}

/** Something that tuples can be anchored to: an input tuple, or the root of a tree. */
export interface Anchor {
  readonly edges: readonly TreeEdge[];
}

export interface OutletParts {
  readonly source: TupleSource;
  readonly counters: OutletCounters;
  readonly trees: TupleTrees;
  readonly random: RandomSource;
  /** Called with every emit that is delivered; for tests that watch a stream. */
  readonly watch: ((source: TupleSource, values: Values, messageId: string | undefined) => void) | undefined;
}

export class Outlet {
  readonly #parts: OutletParts;
  readonly subscriptions: Subscription[] = [];

  constructor(parts: OutletParts) {
    this.#parts = parts;
  }

  get counters(): OutletCounters {
    return this.#parts.counters;
  }

  /**
   * Makes the tuples of one emit: one for each target task, with one edge for each tree of its anchors that is
   * still pending. With anchors whose trees have all ended it makes none: nobody waits for them. Throws what the
   * groupings throw, before any edge was made.
   */
  address(values: Values, anchors: readonly Anchor[]): RoutedTuple[] {
    const { counters } = this.#parts;
    counters.emitted.value++;
    const targets: TupleTarget[] = [];
    const inputs: InputCounters[] = [];
    for (const subscription of this.subscriptions) {
      subscription.select(values, subscription.tasks, targets);
      while (inputs.length < targets.length) inputs.push(subscription.counters);
    }
    if (this.#isForNobody(anchors)) {
      counters.discarded.value++;
      return [];
    }
    counters.transferred.value += targets.length;
    this.#parts.watch?.(this.#parts.source, values, anchors[0]?.edges[0]?.tree.messageId);
    return targets.map((target, at) => this.#tupleFor(values, target, inputs[at], anchors));
  }

  #isForNobody(anchors: readonly Anchor[]): boolean {
    let tracked = false;
    for (const { edges } of anchors) {
      for (const { tree } of edges) {
        if (this.#parts.trees.isAlive(tree)) return false;
        tracked = true;
      }
    }
    return tracked;
  }

  #tupleFor(
    values: Values,
    target: TupleTarget,
    counters: InputCounters | undefined,
    anchors: readonly Anchor[],
  ): RoutedTuple {
    if (counters === undefined) throw new Error(`outlet: target ${target.component} came without its input`);
    const { source, trees } = this.#parts;
    return new RoutedTuple(trees, values, { source, target, counters, edges: this.#edgesFrom(anchors) });
  }

  /** A new id for each (target, anchor); ids into the same tree are one edge, their XOR. */
  #edgesFrom(anchors: readonly Anchor[]): TreeEdge[] {
    const edges: TreeEdge[] = [];
    for (const anchor of anchors) {
      for (const parent of anchor.edges) {
        if (!this.#parts.trees.isAlive(parent.tree)) continue;
        const low = this.#parts.random.next32() | 0;
        const high = this.#nonZeroWith(low);
        parent.childrenLow ^= low;
        parent.childrenHigh ^= high;
        const same = edges.find(({ tree }) => tree === parent.tree);
        if (same === undefined) {
          edges.push({ tree: parent.tree, low, high, childrenLow: 0, childrenHigh: 0 });
        } else {
          same.low ^= low;
          same.high ^= high;
        }
      }
    }
    return edges;
  }

  /** The upper half of an edge id that is not zero as a whole. */
  #nonZeroWith(low: number): number {
    const high = this.#parts.random.next32() | 0;
    return (low | high) === 0 ? 1 : high;
  }
}

/** Undefined when every tuple found room at once. */
export function deliverAll(tuples: readonly RoutedTuple[]): Promise<unknown> | undefined {
  let waits: Promise<void>[] | undefined;
  for (const tuple of tuples) {
    const wait = tuple.target.deliver(tuple);
    if (wait !== undefined) (waits ??= []).push(wait);
  }
  return waits === undefined ? undefined : Promise.all(waits);
}
