import type { Clock, Timer } from '../clock.ts';
import type { StepScheduler } from '../steps.ts';
import type { VirtualClock } from './virtual-clock.ts';

/**
 * One process as the virtual clock sees it. When it is killed, nothing of it runs again: no timer, no step, and no
 * code behind an `await` of `point` or `sleep`. Simulated I/O of a worker waits by these two, so that it can be
 * stopped dead at any await; what happens outside of the process (at a gateway, say) uses the clock itself.
 */
export class VirtualProcess implements Clock, StepScheduler {
  readonly #clock: VirtualClock;
  readonly #waiting = new Set<Timer>();
  #killed = false;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  get isKilled(): boolean {
    return this.#killed;
  }

  /** Timers that this process has set and that have not fired. */
  get timers(): number {
    return this.#waiting.size;
  }

  nowMs(): number {
    return this.#clock.nowMs();
  }

  wallMs(): number {
    return this.#clock.wallMs();
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    return this.#own(callback, (run) => this.#clock.setTimer(delayMs, run));
  }

  defer(callback: () => void): Timer {
    return this.#own(callback, (run) => this.#clock.defer(run));
  }

  schedule(step: () => void): void {
    this.#clock.schedule(() => {
      if (!this.#killed) step();
    });
  }

  /** Resolves when the scheduler picks it; between two points anything else may happen. */
  point(): Promise<void> {
    return new Promise((resolve) => {
      this.schedule(resolve);
    });
  }

  /** Resolves once that much time has passed. */
  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.setTimer(delayMs, resolve);
    });
  }

  kill(): void {
    this.#killed = true;
    for (const timer of this.#waiting) timer.cancel();
    this.#waiting.clear();
  }

  #own(callback: () => void, set: (run: () => void) => Timer): Timer {
    if (this.#killed) return { cancel: () => undefined };
    const timer = set(() => {
      this.#waiting.delete(timer);
      callback();
    });
    this.#waiting.add(timer);
    return {
      cancel: () => {
        this.#waiting.delete(timer);
        timer.cancel();
      },
    };
  }
}
