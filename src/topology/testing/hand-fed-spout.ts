import type { Spout, SpoutCollector, TreeFailure } from '../spout.ts';
import type { Streams } from '../tuple.ts';

interface Waiting<Out extends Streams> {
  readonly stream: keyof Out & string;
  readonly messageId: string;
  readonly values: Out[keyof Out & string];
}

export type Outcome =
  | { readonly messageId: string; readonly kind: 'acked' }
  | { readonly messageId: string; readonly kind: 'failed'; readonly failure: TreeFailure };

/** A spout that emits what a test pushes, remembers every outcome, and replays nothing by itself. */
export class HandFedSpout<Out extends Streams> implements Spout<Out> {
  readonly outcomes: Outcome[] = [];
  /** Emits that were not accepted for another reason than room. */
  readonly refused: { readonly messageId: string; readonly answer: 'duplicate' | 'stopped' }[] = [];
  /** Calls of the runner, in order, but for `nextTuples`, `ack` and `fail`. */
  readonly calls: string[] = [];
  #collector: SpoutCollector<Out> | undefined;
  #waiting: Waiting<Out>[] = [];

  /** What the runner gave it; only there once the topology has started. */
  get collector(): SpoutCollector<Out> {
    if (this.#collector === undefined) throw new Error('hand-fed spout: start the topology first');
    return this.#collector;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  push<S extends keyof Out & string>(stream: S, messageId: string, values: Out[S]): void {
    this.#waiting.push({ stream, messageId, values });
    this.#collector?.wake();
  }

  /** How a message's trees have ended so far. */
  outcomesOf(messageId: string): string[] {
    return this.outcomes
      .filter((outcome) => outcome.messageId === messageId)
      .map((outcome) => (outcome.kind === 'acked' ? 'acked' : outcome.failure.reason));
  }

  open(_context: unknown, collector: SpoutCollector<Out>): void {
    this.calls.push('open');
    this.#collector = collector;
  }

  nextTuples(room: number): void {
    for (let left = room; left > 0; left--) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      const answer = this.collector.emit(next.stream, next.messageId, next.values);
      if (answer === 'at-cap') return;
      this.#waiting.shift();
      if (answer !== 'emitted') this.refused.push({ messageId: next.messageId, answer });
    }
  }

  ack(messageId: string): void {
    this.outcomes.push({ messageId, kind: 'acked' });
  }

  fail(messageId: string, failure: TreeFailure): void {
    this.outcomes.push({ messageId, kind: 'failed', failure });
  }

  activate(): void {
    this.calls.push('activate');
  }

  deactivate(): void {
    this.calls.push('deactivate');
  }

  quiesce(): Promise<void> {
    this.calls.push('quiesce');
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.calls.push('close');
    return Promise.resolve();
  }

  idleReason(): { reason: string; waitingReplays: number } {
    return { reason: this.#waiting.length === 0 ? 'nothing was pushed' : 'no room', waitingReplays: 0 };
  }
}
