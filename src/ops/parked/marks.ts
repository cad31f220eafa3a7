import type { BatchState, ReplayBatch, ReplayBatches, Settlement } from '../../ports/replay-batches.ts';
import { pause, type Clock } from '../../topology/clock.ts';

type Mark = Omit<Settlement, 'parkId'>;

/** Published and not confirmed, at the most. */
const WINDOW = 128;
/** Marks of one commit. */
const MOST_AT_ONCE = 200;
const MARK_AFTER_MS = 100;
/** The last so many published ones are looked at. */
const LAST = 100;

/**
 * What became of the members of a batch, written down in groups, each after the broker's confirm. Knows when to end: when
 * the batch was cancelled, when too many come back, or when a service cannot be used.
 */
export class Marks {
  /** undefined: nothing speaks against going on. */
  end: 'cancelled' | 'stopped' | undefined;
  readonly #batch: ReplayBatch;
  readonly #parts: {
    readonly batches: ReplayBatches;
    readonly clock: Clock;
    readonly onProgress: (settled: number) => void;
  };
  #unmarked: Settlement[] = [];
  readonly #unconfirmed = new Set<Promise<void>>();
  readonly #whenMarked = new Map<string, (isClosed: boolean) => void>();
  #settled = 0;
  #trouble: Error | undefined;
  #isUnwritable = false;
  #writing: Promise<void> = Promise.resolve();
  #isWaiting = false;

  constructor(
    batch: ReplayBatch,
    parts: {
      readonly batches: ReplayBatches;
      readonly clock: Clock;
      readonly onProgress: (settled: number) => void;
    },
  ) {
    this.#batch = batch;
    this.#parts = parts;
  }

  /** Resolves when fewer than a window are unconfirmed. Rejects with the first trouble there was. */
  async room(): Promise<void> {
    while (this.#unconfirmed.size >= WINDOW && this.#trouble === undefined) {
      await Promise.race(this.#unconfirmed);
    }
    this.#throwTrouble();
  }

  afterConfirm(parkId: string, confirm: Promise<void>, mark: Mark): void {
    const confirmed = confirm.then(
      () => {
        this.#put(parkId, mark);
      },
      (error: unknown) => {
        this.#trouble ??= asError(error);
      },
    );
    const tracked = confirmed.finally(() => {
      this.#unconfirmed.delete(tracked);
    });
    this.#unconfirmed.add(tracked);
  }

  /** Of a member that is not published. Rejects with the first trouble there was. */
  async add(parkId: string, mark: Mark): Promise<void> {
    this.#put(parkId, mark);
    if (this.#unmarked.length >= MOST_AT_ONCE) await this.#write();
    this.#throwTrouble();
  }

  /** Resolves once it is written, with whether its row is closed by that; never rejects. */
  whenMarked(parkId: string): Promise<boolean> {
    return new Promise((resolve) => {
      this.#whenMarked.set(parkId, resolve);
    });
  }

  /** Everything that is on its way is confirmed and written. Rejects with the first trouble there was. */
  async flush(): Promise<void> {
    while (this.#unconfirmed.size > 0) await Promise.all(this.#unconfirmed);
    await this.#write();
    this.#throwTrouble();
  }

  #put(parkId: string, mark: Mark): void {
    this.#unmarked.push({ parkId, ...mark });
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    void pause(this.#parts.clock, MARK_AFTER_MS).then(() => {
      this.#isWaiting = false;
      return this.#write();
    });
  }

  /** One at a time; never rejects: its trouble is told by the others. */
  #write(): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      try {
        // What was confirmed is marked, whatever became of the others.
        while (this.#unmarked.length > 0 && !this.#isUnwritable) await this.#writeSome();
      } catch (error) {
        this.#isUnwritable = true;
        this.#trouble ??= asError(error);
      }
    });
    return this.#writing;
  }

  async #writeSome(): Promise<void> {
    const { batches, onProgress } = this.#parts;
    const { batchId } = this.#batch;
    const some = this.#unmarked.splice(0, MOST_AT_ONCE);
    const state = await batches.settle(batchId, some);
    this.#settled += some.length;
    onProgress(this.#settled);
    for (const { as, parkId } of some) {
      this.#whenMarked.get(parkId)?.(as !== 'left');
      this.#whenMarked.delete(parkId);
    }
    await this.#considerEnd(state);
  }

  async #considerEnd(state: BatchState): Promise<void> {
    const { batches } = this.#parts;
    const { batchId, stopAfterFailures } = this.#batch;
    if (state === 'cancelled') this.end = 'cancelled';
    if (this.end !== undefined) return;
    const parkedAgain = await batches.countParkedAgain(batchId, LAST);
    if (parkedAgain < stopAfterFailures) return;
    await batches.stop(batchId, `${parkedAgain} of the last ${LAST} replayed orders were parked again`);
    this.end = 'stopped';
  }

  #throwTrouble(): void {
    if (this.#trouble !== undefined) throw this.#trouble;
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error('something that is no Error was thrown');
}
