import type { ReplayBatch } from '../../src/ports/replay-batches.ts';
import type { ReplayBroker } from '../../src/ports/replay-broker.ts';

/** What replays have published, by batch and message id: more than once only where one of them met trouble. */
export class Replays {
  /** Commands that gave up, or were killed. */
  troubles = 0;
  readonly #published = new Map<string, number>();
  readonly #confirmed = new Map<string, number>();

  /** The broker, as a command uses it for this batch. */
  watched(broker: ReplayBroker, { batchId }: ReplayBatch): ReplayBroker {
    return {
      publish: (message) => {
        const of = `${batchId} ${message.messageId ?? ''}`;
        this.#published.set(of, (this.#published.get(of) ?? 0) + 1);
        return broker.publish(message);
      },
      openUnsealedQueue: () => broker.openUnsealedQueue(),
    };
  }

  /** A command has heard that the orders queue has the message. */
  confirmed(messageId: string): void {
    this.#confirmed.set(messageId, this.confirmsOf(messageId) + 1);
  }

  confirmsOf(messageId: string): number {
    return this.#confirmed.get(messageId) ?? 0;
  }

  totalOf(batchId: string): number {
    let total = 0;
    for (const [of, times] of this.#published) if (of.startsWith(batchId)) total += times;
    return total;
  }

  publishedOf(batchId: string, messageId: string): number {
    return this.#published.get(`${batchId} ${messageId}`) ?? 0;
  }
}
