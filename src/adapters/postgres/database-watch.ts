import type { Availability } from '../../ports/availability.ts';
import type { Log } from '../../ports/log.ts';
import type { Clock, Timer } from '../../topology/clock.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Knows whether the database can be used. From the first trouble on it probes, with pauses that double from 0.1 s to
 * 5 s, until a probe finds nothing wrong.
 */
export class DatabaseWatch implements Availability {
  readonly name = 'database';
  readonly #probe: () => Promise<string | undefined>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #listeners = new Set<() => void>();
  #reason: string | undefined = 'not connected yet';
  #probing = false;
  /** Trouble was reported since the running probe began: what it finds is no longer news. */
  #troubledMeanwhile = false;
  #stopped = false;
  #pause: Timer | undefined;

  /** `probe` resolves to what is wrong, undefined when nothing is; it never takes for ever and never rejects. */
  constructor(options: {
    readonly probe: () => Promise<string | undefined>;
    readonly clock: Clock;
    readonly log: Log;
  }) {
    this.#probe = options.probe;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  unavailableBecause(): string | undefined {
    return this.#reason;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  start(): void {
    this.#probeNow(FIRST_PAUSE_MS);
  }

  /** Somebody ran into trouble with the database. */
  reportTrouble(reason: string): void {
    this.#change(reason);
    this.#troubledMeanwhile = true;
    this.#probeNow(FIRST_PAUSE_MS);
  }

  stop(): void {
    this.#stopped = true;
    this.#pause?.cancel();
  }

  #probeNow(pauseMs: number): void {
    if (this.#probing || this.#stopped) return;
    this.#probing = true;
    this.#troubledMeanwhile = false;
    void this.#probe().then((reason) => {
      if (this.#stopped) return;
      if (reason === undefined && !this.#troubledMeanwhile) {
        this.#probing = false;
        this.#change(undefined);
        return;
      }
      this.#change(reason ?? this.#reason);
      this.#pause = this.#clock.setTimer(pauseMs, () => {
        this.#probing = false;
        this.#probeNow(Math.min(pauseMs * 2, LONGEST_PAUSE_MS));
      });
    });
  }

  #change(reason: string | undefined): void {
    if (reason === this.#reason) return;
    const before = this.#reason;
    this.#reason = reason;
    if (reason === undefined) this.#log.info({ before }, 'the database can be used');
    else this.#log.warn({ reason }, 'the database cannot be used; trying again until it can');
    for (const listener of this.#listeners) listener();
  }
}
