import type { BoltTask } from './bolt-task.ts';
import type { Clock, Timer } from './clock.ts';

/**
 * Offers a tick to one task every `everyMs`, on a fixed grid. Ticks that found the one before still waiting, and
 * grid points that a stall skipped, are not made up for: the next tick says how many were missed.
 */
export class TickSource {
  readonly #clock: Clock;
  readonly #task: BoltTask;
  readonly #everyMs: number;
  #dueMs: number;
  #missed = 0;
  #timer: Timer | undefined;

  constructor(clock: Clock, task: BoltTask, everyMs: number) {
    this.#clock = clock;
    this.#task = task;
    this.#everyMs = everyMs;
    this.#dueMs = clock.nowMs() + everyMs;
    this.#arm();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    this.#timer = this.#clock.setTimer(this.#dueMs - this.#clock.nowMs(), () => {
      this.#offer();
    });
  }

  #offer(): void {
    const skipped = Math.floor((this.#clock.nowMs() - this.#dueMs) / this.#everyMs);
    const dueMs = this.#dueMs + skipped * this.#everyMs;
    this.#missed += skipped;
    if (this.#task.offerTick({ dueMs, missed: this.#missed })) this.#missed = 0;
    else this.#missed++;
    this.#dueMs = dueMs + this.#everyMs;
    this.#arm();
  }
}
