/**
 * The end of a topology's work.
 *
 * No tree is started any more. Delivery is stopped first, so that what is given back does not come straight in
 * again; then trees that no bolt has begun are failed as `shutdown`. The others may settle until the deadline; what
 * is left then is failed too. Each failure makes the spout give its message back. Then everything is closed.
 *
 * The report says of every message that was in flight: `completed`; `returned`, when nothing was under way for it
 * as it was given back; `unknown`, when a bolt was still at work on it, so that its effect may yet happen.
 */
import type { Assembly } from './assembly.ts';
import type { Clock, Timer } from './clock.ts';
import type { TreeFailure } from './spout.ts';
import type { TupleTree } from './tuple-tree.ts';
import type { TupleTrees } from './tuple-trees.ts';

/** Message ids by how they ended between the call of `drain` and the end. */
export interface DrainReport {
  readonly completed: readonly string[];
  readonly returned: readonly string[];
  readonly unknown: readonly string[];
}

export interface DrainParts {
  readonly clock: Clock;
  readonly trees: TupleTrees;
  readonly assembly: Assembly;
  readonly quiesce: () => Promise<void>;
  readonly close: (urgent: boolean) => Promise<void>;
}

export class Drain {
  readonly report: Promise<DrainReport>;
  readonly #parts: DrainParts;
  readonly #completed: string[] = [];
  readonly #returned: string[] = [];
  readonly #unknown: string[] = [];
  #finish: (report: DrainReport) => void = () => undefined;
  #deadline: Timer | undefined;
  #quiesced = false;
  #urgent = false;
  #closing = false;

  constructor(parts: DrainParts) {
    this.#parts = parts;
    this.report = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  begin(deadlineMs: number): void {
    const { assembly, clock } = this.#parts;
    for (const { task } of assembly.spouts) task.stopIntake();
    this.#deadline = clock.setTimer(deadlineMs, () => {
      this.#closeNow();
    });
    void this.#quiesce();
  }

  treeEnded(tree: TupleTree, failure: TreeFailure | undefined): void {
    if (failure === undefined) this.#completed.push(tree.messageId);
    else if (tree.underWay > 0) this.#unknown.push(tree.messageId);
    else this.#returned.push(tree.messageId);
    this.check();
  }

  /** Closes when everything has settled. */
  check(): void {
    if (!this.#quiesced || this.#parts.trees.pending > 0) return;
    for (const { tasks } of this.#parts.assembly.bolts) {
      for (const { task } of tasks) if (!task.isIdle) return;
    }
    this.#closeNow();
  }

  /** Waits for nothing any more; called while it closes already, not even for that. */
  endNow(): void {
    this.#urgent = true;
    if (this.#closing) this.#done();
    else this.#closeNow();
  }

  /** The process died: nobody gets a report. */
  abandon(): void {
    this.#closing = true;
    this.#deadline?.cancel();
  }

  async #quiesce(): Promise<void> {
    await this.#parts.quiesce();
    if (this.#closing) return;
    this.#failTrees((tree) => !tree.started);
    this.#quiesced = true;
    this.check();
  }

  #closeNow(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#deadline?.cancel();
    this.#failTrees(() => true);
    void this.#parts.close(this.#urgent).then(() => {
      this.#done();
    });
  }

  #failTrees(which: (tree: TupleTree) => boolean): void {
    for (const tree of [...this.#parts.trees].filter(which)) {
      this.#parts.trees.fail(tree, {
        reason: 'shutdown',
        errorClass: 'shutdown',
        error: undefined,
        retryAfterMs: undefined,
      });
    }
  }

  #done(): void {
    this.#finish({ completed: this.#completed, returned: this.#returned, unknown: this.#unknown });
  }
}
