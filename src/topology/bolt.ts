import type { Streams, Tuple, Values } from './tuple.ts';

/**
 * The stream that every bolt has besides its own: what a NonRetriableError ended. Without a consumer the tuple
 * fails instead of being acked, so that nothing is dropped silently.
 */
export const ERROR_STREAM = 'error';

/** What the error stream carries: the error, and the values of the tuple that it ended. */
export type ErrorValues = Readonly<Record<'error', unknown> & Record<'values', Values>>;

export interface TaskContext {
  readonly component: string;
  readonly task: number;
}

/** A tick: a bolt that declares `tickEveryMs` gets one at most this often, and never two queued a task. */
export interface Tick {
  /** Monotonic milliseconds at which it was due. */
  readonly dueMs: number;
  /** How many were left out since the tick before, because that one was still waiting or the process stalled. */
  readonly missed: number;
}

/**
 * A bolt whose tuples are anchored and acked for it. What it emits is buffered and delivered together with the
 * ack when `execute` resolves, and discarded when it rejects. A rejection is classified (errors.ts): retriable
 * and unknown errors fail the tuple; a NonRetriableError acks it and sends `{ error, values }` to the bolt's
 * error stream, so that nothing is dropped silently.
 */
export interface BasicBolt<In extends Values = Values, Out extends Streams = Streams> {
  readonly kind: 'basic';
  prepare?(context: TaskContext): Promise<void> | void;
  execute(
    tuple: Tuple<In>,
    emit: <S extends keyof Out & string>(stream: S, values: Out[S]) => void,
  ): Promise<void> | void;
  /** What it emits belongs to no tuple tree. */
  tick?(
    tick: Tick,
    emit: <S extends keyof Out & string>(stream: S, values: Out[S]) => void,
  ): Promise<void> | void;
  cleanup?(): Promise<void> | void;
}

/**
 * A bolt that anchors, acks and fails by itself. A tuple that is neither settled nor held (`collector.hold`)
 * when `execute` settles is failed as a bug.
 */
export interface RichBolt<In extends Values = Values, Out extends Streams = Streams> {
  readonly kind: 'rich';
  prepare(context: TaskContext, collector: BoltCollector<Out>): Promise<void> | void;
  execute(tuple: Tuple<In>): Promise<void> | void;
  tick?(tick: Tick): Promise<void> | void;
  cleanup?(): Promise<void> | void;
}

export interface BoltCollector<Out extends Streams = Streams> {
  /** Emits anchored to every tuple in `anchors` (an empty list: unanchored); waits for room in the mailboxes. */
  emit<S extends keyof Out & string>(stream: S, anchors: readonly Tuple[], values: Out[S]): Promise<void>;
  /** Settles the tuple; false when it was settled before (nothing changes then). */
  ack(tuple: Tuple): boolean;
  fail(tuple: Tuple, error?: unknown): boolean;
  /** Keeps the tuple beyond `execute`; it must be acked or failed later. */
  hold(tuple: Tuple): void;
  /** A heartbeat: moves the deadline of the tuple's trees, up to their maximum lifetime; false if one is gone. */
  extend(tuple: Tuple): boolean;
}
