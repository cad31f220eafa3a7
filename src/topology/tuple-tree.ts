import type { Root } from './acker.ts';
import type { TreeFailure } from './spout.ts';
import type { SpoutStreamCounters } from './statistics.ts';

/** Where a tree was seen last: the newest step of any of its tuples. */
export type TreePhase = 'emitted' | 'queued' | 'executing' | 'held' | 'emitting';

export interface TreePlace {
  readonly component: string;
  readonly task: number;
}

/** Who is told how a tree ended: the spout's task that emitted its root. */
export interface TreeOwner extends TreePlace {
  treeEnded(tree: TupleTree, failure: TreeFailure | undefined): void;
}

/** The tree failed while a bolt was at work on it; what `tuple.signal` is aborted with. */
export class TreeFailedError extends Error {
  override readonly name = 'TreeFailedError';
  readonly failure: TreeFailure;

  constructor(messageId: string, failure: TreeFailure) {
    super(
      `the tuple tree of message ${messageId} failed (${failure.reason}); nobody waits for its result any more`,
    );
    this.failure = failure;
  }
}

/** One spout tuple and all that was emitted from it, while it is pending. */
export class TupleTree {
  readonly root: Root;
  readonly owner: TreeOwner;
  readonly messageId: string;
  readonly counters: SpoutStreamCounters;
  readonly startedAtMs: number;
  readonly receivedAtMs: number;
  lastPlace: TreePlace;
  lastPhase: TreePhase = 'emitted';
  /** Whether a bolt began to execute any of its tuples. */
  started = false;
  /** Tuples of this tree that a bolt has begun and not settled. */
  underWay = 0;
  #failure: TreeFailure | undefined;
  #controller: AbortController | undefined;

  constructor(
    root: Root,
    source: {
      owner: TreeOwner;
      messageId: string;
      counters: SpoutStreamCounters;
      startedAtMs: number;
      receivedAtMs: number;
    },
  ) {
    this.root = root;
    this.owner = source.owner;
    this.messageId = source.messageId;
    this.counters = source.counters;
    this.startedAtMs = source.startedAtMs;
    this.receivedAtMs = source.receivedAtMs;
    this.lastPlace = source.owner;
  }

  /** Made when it is first asked for: an AbortController costs more than all the rest of a tree. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#failure !== undefined) this.#abort(this.#controller, this.#failure);
    }
    return this.#controller.signal;
  }

  markFailed(failure: TreeFailure): void {
    this.#failure = failure;
    if (this.#controller !== undefined) this.#abort(this.#controller, failure);
  }

  #abort(controller: AbortController, failure: TreeFailure): void {
    controller.abort(new TreeFailedError(this.messageId, failure));
  }
}
