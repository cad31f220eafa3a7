import { Fifo } from './fifo.ts';

/**
 * The bounded inbox of one bolt task. A post beyond the capacity is accepted and waits outside, in order; the
 * promise it returns resolves when it has moved in, and a sender that emits with back-pressure awaits it. Acks
 * never pass through a mailbox, so nothing here can hold them up.
 */
export class Mailbox<T> {
  readonly #capacity: number;
  readonly #inside = new Fifo<T>();
  readonly #outside = new Fifo<{ readonly item: T; readonly movedIn: () => void }>();
  #closed = false;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#inside.size + this.#outside.size;
  }

  get isFull(): boolean {
    return this.#inside.size >= this.#capacity;
  }

  /** Undefined when there was room; otherwise a promise that never rejects. A closed mailbox drops the item. */
  post(item: T): Promise<void> | undefined {
    if (this.#closed) return undefined;
    if (!this.isFull) {
      this.#inside.push(item);
      return undefined;
    }
    return new Promise((resolve) => {
      this.#outside.push({ item, movedIn: resolve });
    });
  }

  take(): T | undefined {
    const item = this.#inside.shift();
    if (item !== undefined && this.#outside.size > 0) this.#moveOneIn();
    return item;
  }

  /** Drops everything, lets all waiting senders go on, and accepts nothing more. */
  close(): void {
    this.#closed = true;
    while (this.#outside.size > 0) this.#moveOneIn();
    while (this.#inside.size > 0) this.#inside.shift();
  }

  #moveOneIn(): void {
    const waiting = this.#outside.shift();
    if (waiting === undefined) return;
    this.#inside.push(waiting.item);
    waiting.movedIn();
  }
}
