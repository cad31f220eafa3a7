const SMALLEST_RING = 16;

/** A first-in-first-out queue in a ring that doubles when full: no shifting, no garbage a tuple. */
export class Fifo<T> {
  #ring: (T | undefined)[] = new Array<T | undefined>(SMALLEST_RING);
  #head = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(item: T): void {
    if (this.#size === this.#ring.length) this.#grow();
    this.#ring[(this.#head + this.#size) & (this.#ring.length - 1)] = item;
    this.#size++;
  }

  shift(): T | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#ring[this.#head];
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    this.#size--;
    return item;
  }

  #grow(): void {
    const ring = new Array<T | undefined>(this.#ring.length * 2);
    for (let at = 0; at < this.#size; at++) {
      ring[at] = this.#ring[(this.#head + at) & (this.#ring.length - 1)];
    }
    this.#ring = ring;
    this.#head = 0;
  }
}
