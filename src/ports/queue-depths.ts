/** How full the broker's queues are, as far as AMQP tells: unacked messages are counted by the workers that hold them. */
export interface QueueDepths {
  /** Rejects with a RetriableError when the broker cannot be used. */
  look(): Promise<readonly QueueDepth[]>;
}

export interface QueueDepth {
  /** `orders`, `parked`, or the delay queue by its wait, e.g. `retry 5000 ms`. */
  readonly role: string;
  readonly queue: string;
  /** Ready messages and consumers; undefined with the reason why they are not known. */
  readonly ready: number | undefined;
  readonly consumers: number | undefined;
  readonly problem: string | undefined;
}
