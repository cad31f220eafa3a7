/**
 * The message timeout: absolute deadlines on the monotonic clock, in a timing wheel.
 *
 * An entry added with a deadline expires within [deadline, deadline + timeout/30], never earlier: the wheel beats
 * every timeout/60, and an entry expires at the first beat at or after its deadline. Adding, removing and
 * extending cost O(1) and 16 bytes a slot; slots are the acker's.
 *
 * Stalls: a beat that comes late by more than half a beat says that the event loop (or the whole process) stood
 * still for that long. The wheel's own time stands still with it, so all remaining deadlines move by the stall.
 * And every beat lets the results that have already arrived be processed (`Clock.defer`) before it expires
 * anything. So a stall here does not become a mass timeout. `stalledMs` says how much there was.
 *
 * The wheel beats only while it holds something; `stop` leaves no timer behind.
 */
import type { Clock, Timer } from './clock.ts';

const BEATS_PER_TIMEOUT = 60;
const BUCKETS = 64;
const NONE = -1;

export class DeadlineWheel {
  readonly #clock: Clock;
  readonly #beatMs: number;
  readonly #expire: (slot: number) => void;
  readonly #heads = new Int32Array(BUCKETS).fill(NONE);
  #deadlines = new Float64Array(0);
  #next = new Int32Array(0);
  /** The previous slot, or -2 - bucket for the first one of a bucket, or NONE for a slot that is not here. */
  #previous = new Int32Array(0);
  #size = 0;
  #sweptBeat = 0;
  #stalledMs = 0;
  #nextBeatMs = 0;
  #timer: Timer | undefined;

  /** `expire` is called once for each slot whose deadline passed; the slot has left the wheel by then. */
  constructor(options: { clock: Clock; timeoutMs: number; expire: (slot: number) => void }) {
    this.#clock = options.clock;
    this.#beatMs = options.timeoutMs / BEATS_PER_TIMEOUT;
    this.#expire = options.expire;
  }

  get size(): number {
    return this.#size;
  }

  /** Milliseconds that the event loop has stood still, as far as the wheel saw. */
  get stalledMs(): number {
    return this.#stalledMs;
  }

  /** The wheel's time: the monotonic clock less the stalls. Deadlines are in it. */
  nowMs(): number {
    return this.#clock.nowMs() - this.#stalledMs;
  }

  add(slot: number, deadlineMs: number): void {
    if (slot >= this.#next.length) this.#grow(slot + 1);
    if (this.#timer === undefined) this.#start();
    this.#deadlines[slot] = deadlineMs;
    this.#link(slot);
    this.#size++;
  }

  /** Takes a slot out; nothing happens when it is not in. */
  remove(slot: number): void {
    if (!this.has(slot)) return;
    this.#unlink(slot);
    this.#size--;
  }

  has(slot: number): boolean {
    return (this.#previous[slot] ?? NONE) !== NONE;
  }

  /** Moves a deadline to a later time; never to an earlier one. The entry changes buckets when the old one is due. */
  extend(slot: number, deadlineMs: number): void {
    if (deadlineMs > this.deadlineMs(slot)) this.#deadlines[slot] = deadlineMs;
  }

  /** The deadline of a slot that is in the wheel. */
  deadlineMs(slot: number): number {
    return this.#deadlines[slot] ?? Number.POSITIVE_INFINITY;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #start(): void {
    this.#sweptBeat = this.#beatOf(this.nowMs());
    this.#armBeat();
  }

  #armBeat(): void {
    this.#nextBeatMs = this.#clock.nowMs() + this.#beatMs;
    this.#timer = this.#clock.setTimer(this.#beatMs, () => {
      this.#beat();
    });
  }

  #beat(): void {
    const latenessMs = this.#clock.nowMs() - this.#nextBeatMs;
    if (latenessMs > this.#beatMs / 2) this.#stalledMs += latenessMs;
    this.#timer = this.#clock.defer(() => {
      this.#sweep();
    });
  }

  #sweep(): void {
    const nowMs = this.nowMs();
    const beat = this.#beatOf(nowMs);
    const first = Math.max(this.#sweptBeat, beat - BUCKETS + 1);
    this.#sweptBeat = beat;
    // Armed before anything expires: an expiry may add to the wheel.
    if (this.#size > 0) this.#armBeat();
    else this.#timer = undefined;
    for (let due = first; due <= beat; due++) this.#sweepBucket(due % BUCKETS, nowMs);
  }

  #sweepBucket(bucket: number, nowMs: number): void {
    // Taken off as a whole first, so that what is put back here is not seen again in this sweep.
    let slot = this.#heads[bucket] ?? NONE;
    const due: number[] = [];
    while (slot !== NONE) {
      due.push(slot);
      slot = this.#next[slot] ?? NONE;
    }
    for (const candidate of due) {
      if (!this.has(candidate)) continue;
      if (this.deadlineMs(candidate) > nowMs) {
        this.#unlink(candidate);
        this.#link(candidate);
      } else {
        this.remove(candidate);
        this.#expire(candidate);
      }
    }
  }

  #beatOf(timeMs: number): number {
    return Math.floor(timeMs / this.#beatMs);
  }

  #link(slot: number): void {
    const furthest = this.#sweptBeat + BUCKETS - 1;
    const beat = Math.min(Math.max(this.#beatOf(this.deadlineMs(slot)), this.#sweptBeat), furthest);
    const bucket = beat % BUCKETS;
    const head = this.#heads[bucket] ?? NONE;
    this.#next[slot] = head;
    this.#previous[slot] = -2 - bucket;
    if (head !== NONE) this.#previous[head] = slot;
    this.#heads[bucket] = slot;
  }

  #unlink(slot: number): void {
    const next = this.#next[slot] ?? NONE;
    const previous = this.#previous[slot] ?? NONE;
    if (previous >= 0) this.#next[previous] = next;
    else this.#heads[-2 - previous] = next;
    if (next !== NONE) this.#previous[next] = previous;
    this.#previous[slot] = NONE;
  }

  #grow(capacity: number): void {
    const size = Math.max(64, 2 ** Math.ceil(Math.log2(capacity)));
    const before = this.#next.length;
    this.#deadlines = resized(this.#deadlines, new Float64Array(size));
    this.#next = resized(this.#next, new Int32Array(size));
    this.#previous = resized(this.#previous, new Int32Array(size));
    this.#previous.fill(NONE, before);
  }
}

function resized<T extends Int32Array | Float64Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
