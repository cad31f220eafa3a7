/**
 * Time as the runtime sees it. Everything that waits, measures or expires takes a Clock, so that a test can
 * drive it; nothing in src/topology calls Date, performance or setTimeout itself.
 */
export interface Clock {
  /** Monotonic milliseconds, with fractions. Wall-clock jumps never move it. */
  nowMs(): number;
  /** Milliseconds since the epoch, for people and for what is stored. */
  wallMs(): number;
  /** Calls `callback` once, `delayMs` from now at the earliest. */
  setTimer(delayMs: number, callback: () => void): Timer;
  /** Calls `callback` once results that have already arrived were processed (setImmediate on Node). */
  defer(callback: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/** Resolves after `delayMs` on `clock`. */
export function pause(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimer(delayMs, resolve);
  });
}
