import type { Clock, Timer } from '../../src/topology/clock.ts';
import type { Scheduled, SimulatedTime } from './time.ts';

/** Midnight of the first day, by every wall clock that nobody has touched. */
export const START_WALL_MS = Date.UTC(2026, 0, 1);

/**
 * One process of a worker: what runs in it, runs through `enter`. Killed, nothing of it runs again. Stopped (SIGSTOP,
 * or a blocked event loop), what would have run waits until it goes on, and time goes by meanwhile. Its wall clock may
 * be wrong; its monotonic one is not.
 */
export class SimulatedProcess implements Clock {
  readonly name: string;
  /** A command of an operator, not a worker. */
  readonly isOperator: boolean;
  wallOffsetMs = 0;
  /** Timers that were set and have neither fired nor been cancelled. */
  timers = 0;
  hasVanished = false;
  wasStopped = false;
  readonly #time: SimulatedTime;
  readonly #endings: (() => void)[] = [];
  #waiting: (() => void)[] | undefined;
  #isAlive = true;

  constructor(name: string, time: SimulatedTime, isOperator = false) {
    this.name = name;
    this.isOperator = isOperator;
    this.#time = time;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get isStopped(): boolean {
    return this.#waiting !== undefined;
  }

  nowMs(): number {
    return this.#time.nowMs;
  }

  wallMs(): number {
    return Math.floor(START_WALL_MS + this.wallOffsetMs + this.#time.nowMs);
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    return this.#timer(delayMs, callback);
  }

  defer(callback: () => void): Timer {
    return this.#timer(0, callback);
  }

  /** Runs code of the process, now or when it goes on; never once it is dead. */
  enter(run: () => void): void {
    if (!this.#isAlive) return;
    if (this.#waiting === undefined) run();
    else this.#waiting.push(run);
  }

  /** Runs code of the process after so long. */
  later(delayMs: number, run: () => void): void {
    this.#time.after(delayMs, () => {
      this.enter(run);
    });
  }

  stop(): void {
    this.#waiting ??= [];
    this.wasStopped = true;
  }

  /** What has waited runs in its order, each as an event of its own. */
  goOn(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const run of waiting) this.later(0, run);
  }

  /** `vanishes`: its machine is gone, and nobody says goodbye to its peers. */
  kill(vanishes = false): void {
    if (!this.#isAlive) return;
    this.#isAlive = false;
    this.hasVanished = vanishes;
    this.#waiting = undefined;
    for (const end of this.#endings) end();
  }

  /** Called when it is killed, in the world outside. */
  onKill(end: () => void): void {
    this.#endings.push(end);
  }

  #timer(delayMs: number, callback: () => void): Timer {
    if (!this.#isAlive) return { cancel: () => undefined };
    this.timers += 1;
    let isSet = true;
    const end = (): boolean => {
      const wasSet = isSet;
      if (isSet) this.timers -= 1;
      isSet = false;
      return wasSet;
    };
    const scheduled: Scheduled = this.#time.after(delayMs, () => {
      this.enter(() => {
        if (end()) callback();
      });
    });
    return {
      cancel: () => {
        if (end()) scheduled.cancel();
      },
    };
  }
}
