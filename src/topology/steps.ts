import type { Clock } from './clock.ts';
import { Fifo } from './fifo.ts';

/**
 * Runs the runtime's own steps: a task that looks into its mailbox, a spout that is asked for tuples. A step never
 * runs inside the call that asked for it, so a spout's `emit` returns before anything is executed. Steps never
 * throw. A test gives its own scheduler, and so decides the interleaving.
 */
export interface StepScheduler {
  schedule(step: () => void): void;
}

/** Steps between two looks at the event loop: long enough to be cheap, short enough not to starve I/O. */
const STEPS_IN_A_ROW = 256;
/** Its callbacks run as those of queueMicrotask do, at a fraction of the cost: no async resource is made for each. */
const settled = Promise.resolve();

export class MicrotaskSteps implements StepScheduler {
  readonly #clock: Clock;
  readonly #steps = new Fifo<() => void>();
  #scheduled = false;
  readonly #runBatch = (): void => {
    this.#run();
  };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  schedule(step: () => void): void {
    this.#steps.push(step);
    if (this.#scheduled) return;
    this.#scheduled = true;
    void settled.then(this.#runBatch);
  }

  #run(): void {
    for (let count = 0; count < STEPS_IN_A_ROW; count++) {
      const step = this.#steps.shift();
      if (step === undefined) {
        this.#scheduled = false;
        return;
      }
      step();
    }
    this.#clock.defer(this.#runBatch);
  }
}
