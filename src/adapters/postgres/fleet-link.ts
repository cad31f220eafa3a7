/**
 * A worker's line to the operators, on a connection of its own: hears whether the intake is paused, and says how the
 * worker is. Nothing waits for it. While the database is away, what was heard last holds; until something was heard
 * for the first time the intake is held, since it may be paused.
 *
 * A pause is told by NOTIFY, and looked up with every beat: a notification may get lost with its connection.
 */
import type pg from 'pg';

import type { Availability } from '../../ports/availability.ts';
import type { IntakeState } from '../../ports/intake-control.ts';
import type { Log } from '../../ports/log.ts';
import type { WorkerIdentity, WorkerReport } from '../../ports/worker-reports.ts';
import type { Clock, Timer } from '../../topology/clock.ts';
import { connectClient, endClient, run, type ConnectionOptions } from './connection.ts';
import { fromDatabase } from './database-error.ts';
import { intakeState, READ_INTAKE, type IntakeRow } from './intake-control.ts';

/** Below the two seconds within which a pause is to be noticed and a report is to be fresh. */
const BEAT_MS = 1_500;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1_500;
const WALL_MS = 5_000;

const NOT_KNOWN = 'it is not known yet whether the intake is paused';

/** Reports are worth nothing after a crash. Only this connection does without waiting for the disk. */
const LISTEN = `set synchronous_commit = off; listen cardauth_intake`;

const REPORT = `
  insert into cardauth.workers (worker, host, pid, version, started_at, state, report)
  values ($1, $2, $3, $4, to_timestamp($5::float8 / 1000), $6, $7::jsonb)
  on conflict (worker) do update
  set seen_at = now(), state = excluded.state, report = excluded.report`;

/** Also of workers that died long ago: nobody else clears up after them. */
const FORGET = `
  delete from cardauth.workers
  where worker = any ($1::int[]) or seen_at < now() - interval '1 day'`;

export interface FleetLinkOptions {
  readonly databaseUrl: string;
  readonly identity: WorkerIdentity;
  /** The number of the worker's session; undefined: there is none at the moment, and nothing is reported. */
  readonly worker: () => number | undefined;
  readonly report: () => WorkerReport;
  readonly clock: Clock;
  readonly log: Log;
  readonly connect?: (options: ConnectionOptions) => Promise<pg.Client>;
}

export class FleetLink implements Availability {
  readonly name = 'operator';
  readonly #options: FleetLinkOptions;
  readonly #listeners = new Set<() => void>();
  /** Numbers under which this process has reported. */
  readonly #numbers = new Set<number>();
  #hasHeard = false;
  #because: string | undefined = NOT_KNOWN;
  #trouble: string | undefined;
  #closed = false;
  #over: Promise<void> | undefined;
  #wake: (() => void) | undefined;
  /** There was a reason to look while nobody waited for one. */
  #isDue = false;

  /** Connects to nothing yet. */
  constructor(options: FleetLinkOptions) {
    this.#options = options;
  }

  unavailableBecause(): string | undefined {
    return this.#because;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Connects, and keeps trying for as long as it takes. */
  start(): void {
    this.#over ??= this.#live();
  }

  /** Takes the worker's reports back, where that is possible at once, and disconnects. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#wake?.();
    await this.#over;
  }

  async #live(): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    while (!this.#closed) {
      try {
        await this.#connected(() => {
          pauseMs = FIRST_PAUSE_MS;
        });
      } catch (error) {
        this.#isDown(fromDatabase(error).message);
        this.#isDue = false;
        await this.#wait(pauseMs);
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      }
    }
  }

  /** Said once for each cause; the database has a watch of its own that says how things go. */
  #isDown(reason: string): void {
    if (!this.#hasHeard) this.#change(`${NOT_KNOWN}: ${reason}`);
    if (reason === this.#trouble) return;
    this.#trouble = reason;
    this.#options.log.warn({ reason }, 'not in touch with the operators: what they said last holds');
  }

  /** One connection, until it breaks or the end is asked for. */
  async #connected(onBeat: () => void): Promise<void> {
    const { connect = connectClient, databaseUrl } = this.#options;
    const client = await connect({ databaseUrl, applicationName: 'cardauth fleet', wallMs: WALL_MS });
    const wakeUp = (): void => {
      this.#isDue = true;
      this.#wake?.();
    };
    client.on('notification', wakeUp);
    client.on('end', wakeUp);
    try {
      await run(client, LISTEN);
      while (!this.#closed) {
        this.#isDue = false;
        await this.#listen(client);
        await this.#tell(client);
        onBeat();
        await this.#wait(BEAT_MS);
      }
      await run(client, FORGET, [[...this.#numbers]]);
    } finally {
      await endClient(client);
    }
  }

  async #listen(client: pg.Client): Promise<void> {
    const [row] = await run<IntakeRow>(client, READ_INTAKE.text);
    this.#heard(intakeState(row));
  }

  #heard(state: IntakeState): void {
    this.#hasHeard = true;
    this.#trouble = undefined;
    const because = state.isPaused ? pausedBecause(state) : undefined;
    // Said here as well as where the intake is held: a worker that starts paused is held from its first moment on.
    if (because !== undefined && because !== this.#because)
      this.#options.log.warn({ why: because }, 'operators hold the intake');
    this.#change(because);
  }

  #change(because: string | undefined): void {
    if (because === this.#because) return;
    this.#because = because;
    for (const listener of this.#listeners) listener();
  }

  async #tell(client: pg.Client): Promise<void> {
    const { identity, report, worker: numberOf } = this.#options;
    const worker = numberOf();
    if (worker === undefined) return;
    const { host, pid, startedAtMs, version } = identity;
    const said = report();
    const isNew = !this.#numbers.has(worker);
    await run(client, REPORT, [worker, host, pid, version, startedAtMs, said.state, JSON.stringify(said)]);
    if (!isNew) return;
    // A session was lost and followed by this one: what stands under the old number is over.
    await run(client, FORGET, [[...this.#numbers]]);
    this.#numbers.clear();
    this.#numbers.add(worker);
  }

  /** Until the time is over or there is a reason to look at once. */
  #wait(delayMs: number): Promise<void> {
    if (this.#closed || this.#isDue) return Promise.resolve();
    return new Promise((resolve) => {
      const timer: Timer = this.#options.clock.setTimer(delayMs, () => this.#wake?.());
      this.#wake = () => {
        timer.cancel();
        this.#wake = undefined;
        resolve();
      };
    });
  }
}

function pausedBecause({ last }: IntakeState): string {
  if (last === undefined) return 'paused';
  return `paused by ${last.actor} since ${new Date(last.atMs).toISOString()}: ${last.reason}`;
}
