/**
 * Knows when a tuple tree is complete, in 12 bytes a tree (Apache Storm's algorithm).
 *
 * Every edge of a tree (one target task of one emit) has a random non-zero 64-bit id. A tree's value is the XOR
 * of everything reported about it: the ids of the first edges when it opens; then, with each ack, in one step,
 * the acked edge's own id and the ids of all edges emitted anchored to it. Each id is reported exactly twice, by
 * the side that creates the edge and by the side that acks it, so the value is zero when, and (but for a chance
 * of 2^-64 a report) only when, every edge was acked. The order of reports does not matter.
 *
 * 64 bits are two 32-bit halves in typed arrays; a tree is a slot in them. A root is slot + generation in one
 * safe integer. A slot's generation moves when a tree opens (to an odd number) and when it ends (to an even one),
 * so a report about a finished tree is recognized as stale; slots are reused first in, first out, so that a root
 * returns only after 2^31 turns of the whole table.
 */

/** Names one tree for ever: generation * 2^21 + slot. */
export type Root = number;

export type Report = 'pending' | 'complete' | 'stale';

const SLOT_SPAN = 2 ** 21;
const SMALLEST_TABLE = 64;
const END_OF_LIST = -1;

export class Acker {
  readonly #limit: number;
  #low: Int32Array;
  /** Of a live tree the upper half of its value; of a free slot the next free slot. */
  #high: Int32Array;
  #generation: Uint32Array;
  #firstFree = END_OF_LIST;
  #lastFree = END_OF_LIST;
  #pending = 0;

  /** `limit` is the number of trees that may be alive at once, at most 2^21. */
  constructor(limit: number) {
    if (!Number.isInteger(limit) || limit < 1 || limit > SLOT_SPAN) {
      throw new RangeError(
        `acker: the limit of live trees must be an integer in 1..${SLOT_SPAN}, got ${limit}`,
      );
    }
    this.#limit = limit;
    this.#low = new Int32Array(0);
    this.#high = new Int32Array(0);
    this.#generation = new Uint32Array(0);
    this.#grow(Math.min(limit, SMALLEST_TABLE));
  }

  get pending(): number {
    return this.#pending;
  }

  /** Slots in the table; a slot number is always below it. */
  get capacity(): number {
    return this.#low.length;
  }

  /**
   * Opens a tree with the XOR of the ids of its first edges. Both halves zero means that there is no edge: the
   * caller completes it with `report(root, 0, 0)`. Throws when `limit` trees are alive.
   */
  open(low: number, high: number): Root {
    if (this.#firstFree === END_OF_LIST) this.#makeRoom();
    const slot = this.#firstFree;
    this.#firstFree = this.#high[slot] ?? END_OF_LIST;
    if (this.#firstFree === END_OF_LIST) this.#lastFree = END_OF_LIST;
    this.#low[slot] = low;
    this.#high[slot] = high;
    this.#pending++;
    const generation = ((this.#generation[slot] ?? 0) + 1) >>> 0;
    this.#generation[slot] = generation;
    return generation * SLOT_SPAN + slot;
  }

  /** XORs one ack into the tree. `complete` frees it; `stale` means that it ended before, and changes nothing. */
  report(root: Root, low: number, high: number): Report {
    if (!this.isAlive(root)) return 'stale';
    const slot = slotOf(root);
    const newLow = (this.#low[slot] ?? 0) ^ low;
    const newHigh = (this.#high[slot] ?? 0) ^ high;
    if ((newLow | newHigh) === 0) {
      this.#free(slot);
      return 'complete';
    }
    this.#low[slot] = newLow;
    this.#high[slot] = newHigh;
    return 'pending';
  }

  /** Ends a tree as failed; whatever is reported later is stale. False when it had ended before. */
  fail(root: Root): boolean {
    if (!this.isAlive(root)) return false;
    this.#free(slotOf(root));
    return true;
  }

  isAlive(root: Root): boolean {
    const generation = Math.floor(root / SLOT_SPAN);
    return (generation & 1) === 1 && this.#generation[root - generation * SLOT_SPAN] === generation;
  }

  #free(slot: number): void {
    this.#generation[slot] = (this.#generation[slot] ?? 0) + 1;
    this.#append(slot);
    this.#pending--;
  }

  #append(slot: number): void {
    this.#high[slot] = END_OF_LIST;
    if (this.#lastFree === END_OF_LIST) this.#firstFree = slot;
    else this.#high[this.#lastFree] = slot;
    this.#lastFree = slot;
  }

  #makeRoom(): void {
    if (this.capacity >= this.#limit) {
      throw new RangeError(
        `acker: ${this.#pending} trees are alive, which is the limit; emit again when one has ended`,
      );
    }
    this.#grow(Math.min(this.capacity * 2, this.#limit));
  }

  #grow(capacity: number): void {
    const before = this.capacity;
    this.#low = resized(this.#low, new Int32Array(capacity));
    this.#high = resized(this.#high, new Int32Array(capacity));
    this.#generation = resized(this.#generation, new Uint32Array(capacity));
    for (let slot = before; slot < capacity; slot++) this.#append(slot);
  }
}

/** The slot of a root: dense, below the acker's capacity, for tables kept beside it. */
export function slotOf(root: Root): number {
  return root - Math.floor(root / SLOT_SPAN) * SLOT_SPAN;
}

function resized<T extends Int32Array | Uint32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
