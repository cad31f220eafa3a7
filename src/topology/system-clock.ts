import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';

import type { Clock, Timer } from './clock.ts';
import { Sfc32, type RandomSource } from './random.ts';

/** The longest delay that setTimeout takes; beyond it Node fires at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** Node's own time. A delay longer than setTimeout can hold is waited for in several turns. */
export const systemClock: Clock = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer: (delayMs, callback) => new SystemTimer(delayMs, callback),
  defer: (callback) => {
    const immediate = setImmediate(callback);
    return {
      cancel: () => {
        clearImmediate(immediate);
      },
    };
  },
};

class SystemTimer implements Timer {
  readonly #callback: () => void;
  readonly #dueMs: number;
  #timeout: NodeJS.Timeout;

  constructor(delayMs: number, callback: () => void) {
    this.#callback = callback;
    this.#dueMs = performance.now() + delayMs;
    this.#timeout = this.#arm(delayMs);
  }

  cancel(): void {
    clearTimeout(this.#timeout);
  }

  #arm(delayMs: number): NodeJS.Timeout {
    return setTimeout(
      () => {
        // Timers of Node may fire up to a millisecond early by the fractional clock; ours may not.
        const leftMs = this.#dueMs - performance.now();
        if (leftMs > 0) this.#timeout = this.#arm(leftMs);
        else this.#callback();
      },
      Math.min(Math.ceil(delayMs), LONGEST_DELAY_MS),
    );
  }
}

/** A fast generator whose starting state comes from the system's entropy. */
export function systemRandom(): RandomSource {
  const seed = randomBytes(16);
  return new Sfc32([seed.readUInt32LE(0), seed.readUInt32LE(4), seed.readUInt32LE(8), seed.readUInt32LE(12)]);
}
