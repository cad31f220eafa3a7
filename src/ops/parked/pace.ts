import { pause, type Clock } from '../../topology/clock.ts';

/** How often somebody who waits looks whether to go on. */
const LOOK_MS = 200;

/** Lets at most so many through a second, evenly; who comes late is not made up for. */
export class Pace {
  readonly #clock: Clock;
  readonly #gapMs: number;
  #nextMs: number;

  constructor(clock: Clock, messagesPerSecond: number) {
    this.#clock = clock;
    this.#gapMs = 1_000 / messagesPerSecond;
    this.#nextMs = clock.nowMs();
  }

  /** Resolves when it is the next one's turn, or soon after `signal` was aborted. */
  async turn(signal: AbortSignal): Promise<void> {
    // A timer is late by a millisecond or more; what is due within that goes along with it.
    for (let leftMs; (leftMs = this.#nextMs - this.#clock.nowMs()) > TIMER_GRAIN_MS;) {
      if (signal.aborted) return;
      await pause(this.#clock, Math.min(leftMs, LOOK_MS));
    }
    this.#nextMs = Math.max(this.#nextMs, this.#clock.nowMs() - LOOK_MS) + this.#gapMs;
  }
}

const TIMER_GRAIN_MS = 1;
