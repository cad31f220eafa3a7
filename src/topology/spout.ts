import type { Streams } from './tuple.ts';

/**
 * A source of tuples. The runner pushes nothing on a timer: it calls `nextTuples` when the spout said that
 * tuples are there (`SpoutCollector.wake`), when a tree ended and a slot became free, and after `activate`.
 *
 * Contract: exactly one of `ack` and `fail` is called for every reliable emit that was accepted, once the tuple
 * tree is decided. Both are synchronous hand-overs: they must not throw and must not wait.
 */
export interface Spout<Out extends Streams = Streams> {
  /** Connects and keeps the collector. Resolves when the spout is able to work, or works on it by itself. */
  open(context: SpoutContext, collector: SpoutCollector<Out>): Promise<void> | void;
  /** Emits up to `room` tuples, now, from what has already arrived. */
  nextTuples(room: number): void;
  /** The tree of `messageId` is complete. */
  ack(messageId: string): void;
  /** The tree of `messageId` failed; replaying it, or giving it back, is the spout's decision. */
  fail(messageId: string, failure: TreeFailure): void;
  /** The topology takes in work (again). */
  activate(): void;
  /** The topology takes in nothing new until `activate`; what is in flight completes. */
  deactivate(): void;
  /** Stops delivery for good; resolves when nothing new can arrive. Acks and fails still come afterwards. */
  quiesce(): Promise<void>;
  /** Gives back what is left, flushes what was settled, and closes. */
  close(): Promise<void>;
  /** Why nothing is emitted at the moment, and how many tuples wait inside the spout for their replay. */
  idleReason(): { readonly reason: string; readonly waitingReplays: number };
}

export interface SpoutContext {
  readonly component: string;
  readonly task: number;
}

export interface SpoutCollector<Out extends Streams = Streams> {
  /**
   * Emits reliably: the tree is tracked under `messageId`, which must not have a live tree (`duplicate`).
   * `at-cap` means that there is no room, because maxSpoutPending trees are alive or the topology is paused:
   * keep the tuple, `nextTuples` will be called. `stopped` means that it never will be: give the tuple back.
   */
  emit<S extends keyof Out & string>(
    stream: S,
    messageId: string,
    values: Out[S],
    options?: EmitOptions,
  ): 'emitted' | 'at-cap' | 'duplicate' | 'stopped';
  /** Emits a tuple that nobody tracks; false when it was dropped: a mailbox full, paused, ended. */
  emitUnreliable<S extends keyof Out & string>(stream: S, values: Out[S]): boolean;
  /** Whether a tree of this message id is alive in this process. */
  isPending(messageId: string): boolean;
  /** How many more trees may be started now. */
  room(): number;
  /** Says that `nextTuples` would emit something; safe to call from anywhere, any number of times. */
  wake(): void;
}

export interface EmitOptions {
  /** Monotonic milliseconds at which the source received it; complete latency counts from here. */
  readonly receivedAtMs?: number;
}

/** How a tuple tree ended without being complete. */
export interface TreeFailure {
  readonly reason: 'explicit' | 'timeout' | 'shutdown';
  /** Class of the error that failed it, for the replay policy: `unknown` when the error named none. */
  readonly errorClass: string;
  readonly error: unknown;
  /** The bolt's own wish for when to come back, in milliseconds; the replay policy may wait longer. */
  readonly retryAfterMs: number | undefined;
  /** Where the time went: the last component, task and phase seen, and the tree's age in milliseconds. */
  readonly where: {
    readonly component: string;
    readonly task: number;
    readonly phase: string;
    readonly ageMs: number;
  };
}
