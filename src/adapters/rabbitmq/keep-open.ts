/**
 * Keeps one thing open: a connection, or a channel on it.
 *
 *     opening -> open -> (ended) -> backing off -> opening ...
 *             `-> (failed) -------^
 *
 * - The wait between two attempts is uniform in [0, ceiling] (full jitter); the ceiling doubles from 0.1 s to 30 s
 *   and falls back once something stayed open for a minute.
 * - `causedBelow` says that an end or failure is not this thing's own (the channel died because its connection did):
 *   then the next attempt begins at once, since what is below does its own waiting.
 * - A PermanentProblem (permanent until a person acts) goes straight to the longest wait.
 * - After `stopOpening` or `close` nothing new is opened; what an attempt still under way opens is closed at once.
 */
import { nextFraction, type RandomSource } from '../../topology/random.ts';
import type { Clock } from '../../topology/clock.ts';
import { sleep } from './deadline.ts';

export interface Opened {
  /** Resolves, never rejects, when it is no longer usable: with the reason, in one line. */
  readonly ended: Promise<string>;
  /** Resolves when it is closed, or gave up waiting for that; never rejects. */
  close(): Promise<void>;
}

/** Trying again helps only after a person changed something; a rare attempt picks the change up without a restart. */
export class PermanentProblem extends Error {
  override readonly name = 'PermanentProblem';
}

export interface KeepOpenOptions<T extends Opened> {
  /** Rejects when it cannot be opened; must give up soon after `signal` is aborted. */
  readonly open: (signal: AbortSignal) => Promise<T>;
  readonly causedBelow?: () => boolean;
  /** After every opening, end and failed attempt. */
  readonly onChange: (event: OpenEvent) => void;
  readonly clock: Clock;
  readonly random: RandomSource;
}

export type OpenEvent =
  | { readonly kind: 'opened' }
  /** Over, after `stopOpening` or `close`: nothing went wrong. */
  | { readonly kind: 'closed'; readonly because: string }
  | { readonly kind: 'ended' | 'failed'; readonly because: string; readonly nextAttemptInMs: number };

const FIRST_CEILING_MS = 100;
const LONGEST_WAIT_MS = 30_000;
const STABLE_AFTER_MS = 60_000;

export class KeepOpen<T extends Opened> {
  readonly #options: KeepOpenOptions<T>;
  readonly #stopping = new AbortController();
  #current: T | undefined;
  #trouble = 'not connected yet';
  #attempts = 0;
  #loop: Promise<void> | undefined;

  constructor(options: KeepOpenOptions<T>) {
    this.#options = options;
  }

  get current(): T | undefined {
    return this.#current;
  }

  /** Why it is not open; undefined while it is. */
  get trouble(): string | undefined {
    return this.#current === undefined ? this.#trouble : undefined;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  stopOpening(): void {
    this.#stopping.abort();
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#current?.close();
  }

  /** Resolves when, after `stopOpening` or `close`, what was open or being opened has ended. */
  async over(): Promise<void> {
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const waitMs = await this.#openOnce(signal);
      if (waitMs > 0) await sleep(this.#options.clock, waitMs, signal);
    }
  }

  /** One attempt and, if it worked, the life of what it opened; resolves with the wait before the next. */
  async #openOnce(signal: AbortSignal): Promise<number> {
    const { clock, onChange, open } = this.#options;
    try {
      const opened = await open(signal);
      const openedAtMs = clock.nowMs();
      this.#current = opened;
      if (signal.aborted) void opened.close();
      onChange({ kind: 'opened' });
      this.#trouble = await opened.ended;
      this.#current = undefined;
      if (signal.aborted) return this.#sayClosed();
      if (clock.nowMs() - openedAtMs >= STABLE_AFTER_MS) this.#attempts = 0;
      const nextAttemptInMs = this.#nextWaitMs();
      onChange({ kind: 'ended', because: this.#trouble, nextAttemptInMs });
      return nextAttemptInMs;
    } catch (error) {
      this.#current = undefined;
      this.#trouble = error instanceof Error ? error.message : String(error);
      if (signal.aborted) return this.#sayClosed();
      const nextAttemptInMs = error instanceof PermanentProblem ? LONGEST_WAIT_MS : this.#nextWaitMs();
      onChange({ kind: 'failed', because: this.#trouble, nextAttemptInMs });
      return nextAttemptInMs;
    }
  }

  #sayClosed(): number {
    this.#options.onChange({ kind: 'closed', because: this.#trouble });
    return 0;
  }

  #nextWaitMs(): number {
    if (this.#options.causedBelow?.() === true) return 0;
    const ceilingMs = Math.min(LONGEST_WAIT_MS, FIRST_CEILING_MS * 2 ** Math.min(this.#attempts, 30));
    this.#attempts += 1;
    return nextFraction(this.#options.random) * ceilingMs;
  }
}
