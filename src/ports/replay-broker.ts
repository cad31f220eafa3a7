import type { ReplayProperties } from './parked-orders.ts';

/** The broker, as a replay uses it. */
export interface ReplayBroker {
  /**
   * Resolves when the orders queue has the message. Rejects with a RetriableError: `unroutable`, `nacked`, `ambiguous`
   * (it may have arrived; publishing it again is safe), `publisher_unavailable`.
   */
  publish(message: ReplayMessage): Promise<void>;
  /** Rejects with a RetriableError of class `publisher_unavailable` when the broker cannot be used. */
  openUnsealedQueue(): Promise<UnsealedQueue>;
}

/** As it was published once, without what the broker and the worker put there. */
export interface ReplayMessage {
  readonly messageId: string | undefined;
  readonly contentType: string | undefined;
  readonly properties: ReplayProperties;
  readonly body: Uint8Array;
}

/** One walk through the queue of unsealed messages. */
export interface UnsealedQueue {
  /** The next message; undefined when all that were there have been seen. Rejects as opening does. */
  take(): Promise<UnsealedMessage | undefined>;
  /** Gives back what is not settled. */
  close(): Promise<void>;
}

export interface UnsealedMessage {
  /** undefined: somebody else put it there. */
  readonly parkId: string | undefined;
  readonly message: ReplayMessage;
  /** Takes it off the queue for good. */
  settle(): void;
}
