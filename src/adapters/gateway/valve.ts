import type { Log } from '../../ports/log.ts';
import type { Clock, Timer } from '../../topology/clock.ts';

/** Why nothing may be sent to the gateway. */
export interface Stop {
  readonly cause: 'configuration' | 'breaker_open' | 'rate_limited';
  /** What the gateway did, and what a person should do about it. */
  readonly because: string;
  /** For how long the gateway asked to be left alone. */
  readonly pauseMs?: number;
}

/** What an answer says against further requests. */
export interface Objection {
  readonly stop: Stop;
  /** Whether it stops the flow by itself; a probe's always does. */
  readonly isEnough: boolean;
}

/** One request's way through. */
export interface Passage {
  readonly era: number;
  readonly isProbe: boolean;
}

export interface ValveOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Opening ends when so many orders may be at work at once. */
  readonly fullFlow: number;
}

type State =
  | { readonly name: 'flowing' }
  | { readonly name: 'opening'; readonly most: number }
  /** `untilMs` is monotonic. */
  | (Shut & { readonly name: 'stopped'; readonly untilMs: number })
  | (Shut & { readonly name: 'probing'; readonly isProbeOut: boolean });

interface Shut {
  readonly stop: Stop;
  readonly sinceWallMs: number;
  /** How many orders may be at work once a probe was answered; two in any case. */
  readonly firstMost: number;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 8_000;

/**
 * Whether requests may go to the gateway, and how many orders may be at work for it:
 *
 *     flowing --stop--> stopped --pause over--> probing --answered--> opening --n answers--> flowing
 *                          ^                       |                     |
 *                          `------- stop ----------+---------------------'
 *
 * - Stopped: nothing is sent. The pause is what the gateway asked for, and no shorter than 1 s, then 2, 4, 8, 8... s
 *   from one probe without avail to the next: what is mended is found out within the longest of them.
 * - Probing: one order is let in, and one request goes out. Only its own answer counts: that of a request from
 *   before the stop proves nothing.
 * - Opening: a gateway that was away, or asked for a slower pace, does not get everything at once. One order more is
 *   let in for every answer: twice as many with every round trip. It begins with two orders; after a wish for a
 *   slower pace, with half as many as had a request under way then.
 */
export class Valve {
  readonly #options: ValveOptions;
  readonly #listeners = new Set<() => void>();
  #state: State = { name: 'flowing' };
  /** Counts stops, so that the answer to a request from before one is known as such. */
  #era = 0;
  /** Probes without avail since the stop. */
  #vainProbes = 0;
  #underWay = 0;
  #timer: Timer | undefined;

  constructor(options: ValveOptions) {
    this.#options = options;
  }

  /** undefined: no request may be made now, see `stop`. Every passage must be ended by `leave`. */
  enter(): Passage | undefined {
    const state = this.#state;
    if (state.name === 'stopped') return undefined;
    const isProbe = state.name === 'probing';
    if (isProbe) {
      if (state.isProbeOut) return undefined;
      this.#change({ ...state, isProbeOut: true });
    }
    this.#underWay += 1;
    return { era: this.#era, isProbe };
  }

  /** `objection`: what its answer says against further requests, if anything. */
  leave({ era, isProbe }: Passage, objection: Objection | undefined): void {
    if (era !== this.#era) this.#hearLate(objection?.stop);
    else if (objection === undefined) this.#open();
    else if (isProbe || objection.isEnough) this.#stop(objection.stop);
    this.#underWay -= 1;
  }

  /** Why nothing may be sent; undefined when it may. */
  get stop(): Stop | undefined {
    return 'stop' in this.#state ? this.#state.stop : undefined;
  }

  /** What stands against it, since when, and what happens next: one line. */
  unavailableBecause(): string | undefined {
    const state = this.#state;
    if (!('stop' in state)) return undefined;
    return `${state.stop.because}; stopped since ${isoTime(state.sinceWallMs)}, ${this.#nextTry(state)}`;
  }

  mostInWork(): number {
    switch (this.#state.name) {
      case 'flowing':
        return Infinity;
      case 'opening':
        return this.#state.most;
      case 'probing':
        return 1;
      case 'stopped':
        return 0;
    }
  }

  /** Never called from within `enter` or `leave`: what a listener throws must not be taken for a request's error. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends its timer and tells nobody anything more; the state stays what it is. */
  close(): void {
    this.#timer?.cancel();
    this.#listeners.clear();
  }

  #stop(stop: Stop): void {
    const { clock, log } = this.#options;
    const growingMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#vainProbes, LONGEST_PAUSE_MS);
    const pauseMs = Math.max(stop.pauseMs ?? 0, growingMs);
    const before =
      'stop' in this.#state ? this.#state : { sinceWallMs: clock.wallMs(), firstMost: this.#underWay };
    const firstMost = stop.cause === 'rate_limited' ? Math.floor(before.firstMost / 2) : 0;
    this.#vainProbes += 1;
    this.#era += 1;
    log.warn({ cause: stop.cause, why: stop.because, delayMs: pauseMs }, 'no order goes to the gateway');
    this.#shut({ stop, sinceWallMs: before.sinceWallMs, firstMost }, clock.nowMs() + pauseMs);
  }

  /** The answer to a request from before the stop may say more about what is wrong, or ask for a longer pause. */
  #hearLate(stop: Stop | undefined): void {
    const state = this.#state;
    if (stop === undefined || state.name !== 'stopped') return;
    const untilMs = Math.max(state.untilMs, this.#options.clock.nowMs() + (stop.pauseMs ?? 0));
    const weightier = WEIGHT[stop.cause] > WEIGHT[state.stop.cause] ? stop : state.stop;
    if (untilMs !== state.untilMs || weightier !== state.stop)
      this.#shut({ ...state, stop: weightier }, untilMs);
  }

  #shut({ stop, sinceWallMs, firstMost }: Shut, untilMs: number): void {
    const { clock } = this.#options;
    const shut = { stop, sinceWallMs, firstMost };
    this.#timer?.cancel();
    this.#timer = clock.setTimer(untilMs - clock.nowMs(), () => {
      this.#change({ ...shut, name: 'probing', isProbeOut: false });
    });
    this.#change({ ...shut, name: 'stopped', untilMs });
  }

  /** Called for each good answer. */
  #open(): void {
    const { log, fullFlow } = this.#options;
    const state = this.#state;
    if (state.name === 'flowing') return;
    this.#vainProbes = 0;
    if (state.name === 'probing') log.info({}, 'the gateway answers again: orders go to it step by step');
    const most = Math.max(this.mostInWork() + 1, 'stop' in state ? state.firstMost : 0);
    this.#change(most < fullFlow ? { name: 'opening', most } : { name: 'flowing' });
  }

  #nextTry(state: Extract<State, { stop: Stop }>): string {
    if (state.name === 'probing') return `${state.isProbeOut ? 'an' : 'the next'} order tries it now`;
    const { clock } = this.#options;
    return `an order tries it at ${isoTime(clock.wallMs() + state.untilMs - clock.nowMs())}`;
  }

  #change(state: State): void {
    this.#state = state;
    for (const listener of this.#listeners) {
      queueMicrotask(() => {
        if (this.#listeners.has(listener)) listener();
      });
    }
  }
}

/** Of two reasons, the one that a person has to do something about is said. */
const WEIGHT: Readonly<Record<Stop['cause'], number>> = {
  configuration: 3,
  breaker_open: 2,
  rate_limited: 1,
};

function isoTime(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19)}Z`;
}
