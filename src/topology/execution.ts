import type { Tick } from './bolt.ts';
import type { RoutedTuple } from './routed-tuple.ts';

/** How a task runs its bolt. */
export interface Execution {
  /**
   * Runs the bolt on a tuple and sees that the tuple is settled or held. Undefined when that is over, or a promise
   * for it (room downstream included). Never throws or rejects, whatever the bolt does.
   */
  execute(tuple: RoutedTuple): Promise<unknown> | undefined;
  /** Rejects with what the bolt rejects with. */
  tick(tick: Tick): Promise<void>;
}

/** A bolt's answer as a real promise, whatever it returned; undefined when it was over at once. */
export function asPromise(answer: Promise<void> | void): Promise<void> | undefined {
  return answer === undefined ? undefined : Promise.resolve(answer);
}
