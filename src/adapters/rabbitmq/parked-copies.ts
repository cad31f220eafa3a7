/**
 * Moves a parked message on, as it is, with the headers that say why it is parked:
 *
 * - to the queue of unsealed messages (`keep`), where it waits for its replay;
 * - to the end of its own queue (`send`), where it can be kept waiting no longer. Giving it back instead would count as
 *   a delivery each time, and from 4.0 on a broker drops what was delivered 20 times, unless told otherwise.
 *
 * The caller settles the original only after the promise resolved.
 */
import type { ParkedMessage, UnsealedMessages } from '../../ports/parked-orders.ts';
import type { Clock } from '../../topology/clock.ts';
import { sleep } from './deadline.ts';
import { parkedQueueOf, unsealedQueueOf } from './declare.ts';
import type { Delivery } from './delivery.ts';
import { parkHeadersOf } from './park-headers.ts';
import { readParkedMessage } from './parked-messages.ts';
import type { Publication } from './publication.ts';
import type { Publisher } from './publisher.ts';
import { definedOnly } from './retry-copies.ts';

export interface ParkedCopiesOptions {
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly prefix: string;
  readonly clock: Clock;
}

const LONGEST_WAIT_MS = 10_000;

export class ParkedCopies implements UnsealedMessages {
  readonly #options: ParkedCopiesOptions;

  constructor(options: ParkedCopiesOptions) {
    this.#options = options;
  }

  async keep(message: ParkedMessage): Promise<void> {
    const { prefix, publisher } = this.#options;
    await publisher.publish(publicationOf(message, unsealedQueueOf(prefix)));
  }

  /** Waits first: the end of the queue may be its head as well. */
  async send(delivery: Delivery, waitMs: number): Promise<void> {
    const { clock, prefix, publisher } = this.#options;
    await sleep(clock, Math.min(waitMs, LONGEST_WAIT_MS));
    await publisher.publish(
      publicationOf(readParkedMessage(delivery.raw, clock.wallMs()), parkedQueueOf(prefix)),
    );
  }
}

function publicationOf(message: ParkedMessage, queue: string): Publication {
  const { headers, ...properties } = message.properties;
  const { messageId, contentType } = message;
  return {
    exchange: '',
    routingKey: queue,
    body: message.body,
    properties: {
      ...properties,
      ...definedOnly({ messageId, contentType }),
      headers: { ...headers, ...parkHeadersOf(message) },
    },
  };
}
