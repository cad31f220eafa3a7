/**
 * Time that moves only when it is told to, and a scheduler that decides the order of everything that is ready:
 * the runtime's steps, deferred calls, timers that are due, and the points at which simulated I/O goes on. With a
 * seed, each order is one of the possible ones, and the same seed gives the same order.
 */
import type { Clock, Timer } from '../clock.ts';
import { nextBelow, type RandomSource } from '../random.ts';
import type { StepScheduler } from '../steps.ts';

export interface VirtualClockOptions {
  /** Without it, what became ready first runs first. */
  readonly random?: RandomSource;
  readonly startWallMs?: number;
}

interface Waiting {
  readonly dueMs: number;
  readonly order: number;
  readonly run: () => void;
}

export class VirtualClock implements Clock, StepScheduler {
  readonly #random: RandomSource | undefined;
  #nowMs = 0;
  #wallOffsetMs: number;
  #order = 0;
  readonly #ready: Waiting[] = [];
  readonly #deferred: Waiting[] = [];
  /** Sorted by due time and order, the earliest last. */
  readonly #timers: Waiting[] = [];

  constructor(options: VirtualClockOptions = {}) {
    this.#random = options.random;
    this.#wallOffsetMs = options.startWallMs ?? Date.UTC(2026, 0, 1);
  }

  nowMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return Math.floor(this.#wallOffsetMs + this.#nowMs);
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const waiting = this.#waiting(Math.max(0, delayMs), callback);
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#timers[middle]?.dueMs ?? 0) > waiting.dueMs) low = middle + 1;
      else high = middle;
    }
    this.#timers.splice(low, 0, waiting);
    return {
      cancel: () => {
        this.#cancel(waiting);
      },
    };
  }

  defer(callback: () => void): Timer {
    const waiting = this.#waiting(0, callback);
    this.#deferred.push(waiting);
    return {
      cancel: () => {
        this.#cancel(waiting);
      },
    };
  }

  schedule(step: () => void): void {
    this.#ready.push(this.#waiting(0, step));
  }

  /** Timers that are set, due or not. */
  get timers(): number {
    return this.#timers.length;
  }

  /** Whether something can run without time moving. */
  get hasReady(): boolean {
    return this.#ready.length + this.#deferred.length > 0 || (this.nextTimerMs ?? Infinity) <= this.#nowMs;
  }

  /** When the next timer is due, in monotonic milliseconds. */
  get nextTimerMs(): number | undefined {
    return this.#timers.at(-1)?.dueMs;
  }

  /** Runs one thing that is ready; false when nothing is. */
  runOne(): boolean {
    while ((this.nextTimerMs ?? Infinity) <= this.#nowMs) {
      const due = this.#timers.pop();
      if (due !== undefined) this.#ready.push(due);
    }
    this.#releaseDeferred();
    const at = this.#random === undefined ? 0 : nextBelow(this.#random, this.#ready.length);
    const [picked] = this.#ready.splice(at, 1);
    picked?.run();
    return picked !== undefined;
  }

  /** Moves time without running anything: what a stalled event loop sees afterwards. */
  move(byMs: number): void {
    this.#nowMs += byMs;
  }

  /** Moves the wall clock only. */
  jumpWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  /** A deferred call is ready once everything that was ready before it has run. */
  #releaseDeferred(): void {
    const [next] = this.#deferred;
    if (next === undefined || this.#ready.some(({ order }) => order < next.order)) return;
    this.#deferred.shift();
    this.#ready.push(next);
  }

  #waiting(delayMs: number, run: () => void): Waiting {
    return { dueMs: this.#nowMs + delayMs, order: this.#order++, run };
  }

  #cancel(waiting: Waiting): void {
    for (const list of [this.#ready, this.#deferred, this.#timers]) {
      const at = list.indexOf(waiting);
      if (at !== -1) list.splice(at, 1);
    }
  }
}
