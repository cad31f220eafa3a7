/**
 * A generation is the life of one consuming channel, and a delivery belongs to exactly one.
 *
 * Delivery tags are numbered per channel. An ack for a dead channel's tag, sent on its successor, would remove
 * another, unprocessed order without any error; a second ack of one tag closes the channel and returns everything
 * in flight. Therefore `settle` is the only place that acks or nacks: at most once a delivery, only on its own
 * channel, only while that is open. Everything else changes nothing and is counted.
 */
import type { Channel, ConsumeMessage } from 'amqplib';

export type Verdict = 'ack' | 'give-back';

/** Counted over all generations. */
export class SettlementCounts {
  acked = 0;
  givenBack = 0;
  /** Came after the generation had ended; the broker delivers the message again. */
  stale = 0;
  /** The delivery was settled before. */
  repeated = 0;
}

export class Generation {
  /** The how manieth channel of this consumer it is. */
  readonly epoch: number;
  readonly #channel: Pick<Channel, 'ack' | 'nack'>;
  readonly #counts: SettlementCounts;
  /** By identity, not by tag: a delivery of another generation is never among them. */
  readonly #unsettled = new Set<ConsumeMessage>();
  #isOpen = true;

  constructor(epoch: number, channel: Pick<Channel, 'ack' | 'nack'>, counts: SettlementCounts) {
    this.epoch = epoch;
    this.#channel = channel;
    this.#counts = counts;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  receive(message: ConsumeMessage): void {
    this.#unsettled.add(message);
  }

  /** Whether the verdict was sent. `give-back` puts the message back into its queue. */
  settle(message: ConsumeMessage, verdict: Verdict): boolean {
    if (!this.#isOpen) {
      this.#counts.stale += 1;
      return false;
    }
    if (!this.#unsettled.delete(message)) {
      this.#counts.repeated += 1;
      return false;
    }
    try {
      if (verdict === 'ack') this.#channel.ack(message);
      else this.#channel.nack(message, false, true);
    } catch {
      // The channel is closing and amqplib says so by throwing: whatever was not sent is delivered again.
      this.end();
      this.#counts.stale += 1;
      return false;
    }
    if (verdict === 'ack') this.#counts.acked += 1;
    else this.#counts.givenBack += 1;
    return true;
  }

  /** The channel is gone, or about to be: the broker takes back what is unsettled. */
  end(): void {
    this.#isOpen = false;
    this.#unsettled.clear();
  }
}
