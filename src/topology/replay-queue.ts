/**
 * Where a spout keeps failed tuples until their replay is due.
 *
 * It holds at most `capacity` of them: `add` says false beyond that, and the spout gives the tuple back to its
 * source. It hands out due ones earliest first, and while fresh work waits, at most `share` of the turns, so that
 * neither starves the other. `onDue` is called when one becomes due; what is due already waits for `next`.
 */
import type { Clock, Timer } from './clock.ts';

export interface ReplayQueueOptions {
  readonly clock: Clock;
  readonly capacity: number;
  /** Part of the turns that replays may take while fresh work waits, in (0, 1]. */
  readonly share: number;
  readonly onDue: () => void;
}

interface WaitingReplay<T> {
  readonly messageId: string;
  readonly dueMs: number;
  readonly item: T;
}

export class ReplayQueue<T> {
  readonly #options: ReplayQueueOptions;
  /** Sorted by due time, the earliest last. */
  #waiting: WaitingReplay<T>[] = [];
  #credit = 0;
  #timer: Timer | undefined;
  #timerDueMs = 0;

  constructor(options: ReplayQueueOptions) {
    if (!(options.share > 0 && options.share <= 1)) {
      throw new RangeError(`replay queue: share must be in (0, 1], got ${options.share}`);
    }
    this.#options = options;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Whether a replay is due now. */
  get isDue(): boolean {
    const earliest = this.#waiting.at(-1);
    return earliest !== undefined && earliest.dueMs <= this.#options.clock.nowMs();
  }

  /** False when the queue is full, and then nothing is kept. */
  add(messageId: string, item: T, delayMs: number): boolean {
    if (this.#waiting.length >= this.#options.capacity) return false;
    const dueMs = this.#options.clock.nowMs() + delayMs;
    this.#waiting.splice(this.#positionOf(dueMs), 0, { messageId, dueMs, item });
    this.#arm();
    return true;
  }

  /** The next due replay, if it is a replay's turn. Call it for every free slot, fresh work second. */
  next(freshWorkWaits: boolean): T | undefined {
    if (!this.isDue) return undefined;
    if (freshWorkWaits) {
      this.#credit += this.#options.share;
      if (this.#credit < 1) return undefined;
      this.#credit -= 1;
    }
    const replay = this.#waiting.pop();
    this.#arm();
    return replay?.item;
  }

  /** Takes a waiting replay out before it is due; undefined when there is none of this id. */
  cancel(messageId: string): T | undefined {
    const at = this.#waiting.findIndex((replay) => replay.messageId === messageId);
    if (at === -1) return undefined;
    const [replay] = this.#waiting.splice(at, 1);
    this.#arm();
    return replay?.item;
  }

  /** Takes everything out, earliest first, and leaves no timer: for giving back at the end. */
  takeAll(): T[] {
    const items = this.#waiting.reverse().map((replay) => replay.item);
    this.#waiting = [];
    this.#arm();
    return items;
  }

  /** After all that are due no later, so that equal times keep their order. */
  #positionOf(dueMs: number): number {
    let low = 0;
    let high = this.#waiting.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#waiting[middle]?.dueMs ?? 0) > dueMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** One timer, for the earliest replay that is not due yet. */
  #arm(): void {
    const nowMs = this.#options.clock.nowMs();
    const upcoming = this.#waiting.findLast((replay) => replay.dueMs > nowMs);
    if (this.#timer !== undefined) {
      if (upcoming?.dueMs === this.#timerDueMs) return;
      this.#timer.cancel();
      this.#timer = undefined;
    }
    if (upcoming === undefined) return;
    this.#timerDueMs = upcoming.dueMs;
    this.#timer = this.#options.clock.setTimer(upcoming.dueMs - nowMs, () => {
      this.#timer = undefined;
      this.#arm();
      this.#options.onDue();
    });
  }
}
