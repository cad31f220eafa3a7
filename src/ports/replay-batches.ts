/**
 * Replays as they are kept: a batch, its frozen members, and what became of each. A member belongs to one batch, which
 * holds its row in the state `replaying`; whatever a command that was killed has not marked is still the batch's.
 */
import type { OperatorCommand } from '../domain/audit.ts';

/** Everything rejects with a RetriableError of class `database` when the system of record cannot be used. */
export interface ReplayBatches {
  /**
   * Takes those of `parkIds` that are still parked, in this order, into a new batch, and keeps the command in the audit
   * trail. A command that comes again finds its batch; undefined: there was nothing left to take.
   */
  open(
    batch: NewBatch,
    parkIds: readonly string[],
    command: OperatorCommand,
  ): Promise<OpenedBatch | undefined>;
  show(batchId: string): Promise<ReplayBatch | undefined>;
  /** The right to work on a batch, as long as this process lives; undefined: another one has it. */
  hold(batch: ReplayBatch): Promise<Hold | undefined>;
  /** The right to take messages off the queue of unsealed ones: one at a time. */
  holdUnsealedQueue(): Promise<Hold | undefined>;
  /** Up to `limit` members that nothing is said of yet, in their order, after number `after`. */
  waiting(batchId: string, after: number, limit: number): Promise<readonly WaitingMember[]>;
  /**
   * Says what became of members, closes or frees their rows, and keeps each in the audit trail, in one commit. Saying it
   * again changes nothing. Resolves to the batch's state: it may have been cancelled meanwhile.
   */
  settle(batchId: string, settlements: readonly Settlement[]): Promise<BatchState>;
  /** How many of the last `count` published orders were parked again since. */
  countParkedAgain(batchId: string, count: number): Promise<number>;
  /** `done` once nothing waits; it ends the batch for good. A cancelled one stays cancelled. */
  finish(batchId: string): Promise<void>;
  /** Whoever takes it up again begins with `resume`. */
  stop(batchId: string, because: string): Promise<void>;
  resume(batchId: string): Promise<void>;
  /** No member is published from now on. Its members are freed by `release`. */
  cancel(batchId: string, command: OperatorCommand): Promise<'cancelled' | 'ended' | 'repeated'>;
  /** Gives back what a cancelled batch has left, and says how many that were; to be called under its hold. */
  release(batchId: string): Promise<number>;
}

export interface NewBatch {
  /** UUID. */
  readonly batchId: string;
  readonly queue: string;
  readonly messagesPerSecond: number;
  readonly stopAfterFailures: number;
  readonly maxAgeMs: number;
}

export type BatchState = 'open' | 'stopped' | 'cancelled' | 'done';

export interface ReplayBatch extends NewBatch {
  readonly number: number;
  readonly createdAtMs: number;
  readonly actor: string;
  readonly reason: string;
  readonly state: BatchState;
  readonly stoppedBecause: string | undefined;
  readonly counts: Readonly<Record<MemberState, number>>;
}

export type MemberState = 'waiting' | 'published' | 'closed' | 'left' | 'cancelled';

export interface OpenedBatch {
  readonly batch: ReplayBatch;
  readonly isRepeated: boolean;
}

export interface WaitingMember {
  readonly number: number;
  readonly parkId: string;
}

export interface Settlement {
  readonly parkId: string;
  readonly as: 'published' | 'closed' | 'left';
  /** What the publishing led to, or why nothing was published. Never card data. */
  readonly detail: string;
}

export interface Hold {
  release(): Promise<void>;
}
