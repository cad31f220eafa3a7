/**
 * Time that moves from event to event, never by itself. An event that concerns the worker's code is followed by a
 * drain of all promise callbacks before the next one is taken; one that only changes the simulated world is not, which
 * is most of the speed.
 *
 * No timer of Node's is involved: a tick of `process.nextTick` that is asked for by a promise callback comes when no
 * promise callback is left, at a fraction of the cost of a turn of the event loop.
 */
export interface Scheduled {
  cancel(): void;
}

class Event implements Scheduled {
  readonly dueMs: number;
  readonly order: number;
  readonly isQuiet: boolean;
  run: (() => void) | undefined;

  constructor(dueMs: number, order: number, isQuiet: boolean, run: () => void) {
    this.dueMs = dueMs;
    this.order = order;
    this.isQuiet = isQuiet;
    this.run = run;
  }

  cancel(): void {
    this.run = undefined;
  }
}

/** Why `run` ended. */
export type Ending = 'done' | 'time is up' | 'nothing left';

export class SimulatedTime {
  nowMs = 0;
  events = 0;
  /** Something that is late by more than a latency arrives until then. */
  lateUntilMs = 0;
  #order = 0;
  readonly #heap: Event[] = [];

  /** Runs `run` then; all promise callbacks that follow from it run before anything else does. */
  after(delayMs: number, run: () => void): Scheduled {
    return this.#add(delayMs, false, run);
  }

  /** The same, for what touches nothing of a worker's. */
  quietlyAfter(delayMs: number, run: () => void): Scheduled {
    return this.#add(delayMs, true, run);
  }

  /** The same, for what may be late; a world is not quiet before it has arrived. */
  lateAfter(delayMs: number, run: () => void): void {
    this.lateUntilMs = Math.max(this.lateUntilMs, this.nowMs + delayMs);
    this.quietlyAfter(delayMs, run);
  }

  /** Until `isDone`, which is asked between events, or `untilMs`. Rejects with what an event throws. */
  run(untilMs: number, isDone: () => boolean): Promise<Ending> {
    return new Promise((resolve, reject) => {
      const settled = Promise.resolve();
      // Not queueMicrotask, which costs several times as much in Node.
      const drained = (): void => {
        void settled.then(go);
      };
      const go = (): void => {
        try {
          for (;;) {
            if (isDone()) {
              resolve('done');
              return;
            }
            const event = this.#next(untilMs);
            if (event === undefined) {
              resolve(this.#heap.length === 0 ? 'nothing left' : 'time is up');
              return;
            }
            this.nowMs = event.dueMs;
            this.events += 1;
            const { run } = event;
            event.run = undefined;
            run?.();
            if (!event.isQuiet) break;
          }
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
          return;
        }
        process.nextTick(drained);
      };
      process.nextTick(drained);
    });
  }

  #add(delayMs: number, isQuiet: boolean, run: () => void): Event {
    const event = new Event(this.nowMs + Math.max(0, delayMs), this.#order++, isQuiet, run);
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const above = (at - 1) >>> 1;
      const other = heap[above] as Event;
      if (isBefore(other, event)) break;
      heap[at] = other;
      at = above;
    }
    heap[at] = event;
    return event;
  }

  /** The earliest event that was not cancelled; undefined when there is none by then. */
  #next(untilMs: number): Event | undefined {
    for (;;) {
      const [first] = this.#heap;
      if (first === undefined) return undefined;
      if (first.run !== undefined && first.dueMs > untilMs) {
        this.nowMs = untilMs;
        return undefined;
      }
      this.#removeFirst();
      if (first.run !== undefined) return first;
    }
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop() as Event;
    const size = heap.length;
    if (size === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= size) break;
      const right = heap[below + 1];
      if (right !== undefined && below + 1 < size && isBefore(right, heap[below] as Event)) below += 1;
      const child = heap[below] as Event;
      if (isBefore(last, child)) break;
      heap[at] = child;
      at = below;
    }
    heap[at] = last;
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.dueMs < other.dueMs || (one.dueMs === other.dueMs && one.order < other.order);
}
