/**
 * Parks orders in `<prefix>.parked`, a queue without TTL or limit, from where they are recorded for operators.
 *
 * Headers say why: `cardauth-park-reason`, and with the same beginning `-class`, `-attempts`, `-first-seen`,
 * `-parked-at`, `-error`, `-origin-queue`, `-origin-exchange`, `-origin-routing-key`, `-worker-version`, `-order-id`
 * when it is known, and `-id`, under which it is recorded. The body is the same order when the worker could read it (`CopyBody`); one that it
 * could not read may hold card data anywhere and is redacted.
 */
import { randomUUID } from 'node:crypto';

import type { CopyBody } from '../../ports/copy-body.ts';
import type { ParkedOrder, ParkingLot } from '../../ports/parking-lot.ts';
import type { Clock } from '../../topology/clock.ts';
import { parkedQueueOf } from './declare.ts';
import type { Publication } from './publication.ts';
import type { Publisher } from './publisher.ts';
import { parkHeadersOf } from './park-headers.ts';
import { redactedBody, scrubbedHeaders } from './redaction.ts';
import { definedOnly, isUnpublishable, withHeaders } from './retry-copies.ts';

export interface BrokerParkingLotOptions {
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly prefix: string;
  readonly workerVersion: string;
  readonly copyBody: CopyBody;
  readonly clock: Clock;
  /** Ids of parked copies; random UUIDs unless given. */
  readonly newId?: () => string;
}

export class BrokerParkingLot implements ParkingLot {
  readonly #options: BrokerParkingLotOptions;
  /**
   * By the body as it was delivered: a message that is parked once more, because nobody knows whether it arrived, keeps
   * its id and is recorded once.
   */
  readonly #ids = new WeakMap<Uint8Array, string>();

  constructor(options: BrokerParkingLotOptions) {
    this.#options = options;
  }

  async park(parked: ParkedOrder): Promise<void> {
    const { publisher } = this.#options;
    const publication = await this.#publicationOf(parked);
    try {
      await publisher.publish(publication);
    } catch (error) {
      if (!isUnpublishable(error)) throw error;
      await publisher.publish(withHeaders(publication, this.#ownHeaders(parked)));
    }
  }

  async #publicationOf(parked: ParkedOrder): Promise<Publication> {
    const { message, readable } = parked;
    // A review comes of what the gateway said, and what is in it is not sent to the gateway again.
    const isDecided = message.isDecided || parked.class === 'review';
    return {
      exchange: '',
      routingKey: parkedQueueOf(this.#options.prefix),
      body: readable ? await this.#options.copyBody(message.body, { isDecided }) : redactedBody(message.body),
      properties: {
        ...definedOnly({
          messageId: message.messageId,
          contentType: message.contentType,
          correlationId: message.correlationId,
        }),
        headers: { ...scrubbedHeaders(message.headers), ...this.#ownHeaders(parked) },
      },
    };
  }

  #ownHeaders({ message, orderId, reason, class: parkClass, error }: ParkedOrder): Record<string, unknown> {
    return parkHeadersOf({
      parkId: this.#idOf(message.body),
      reason,
      class: parkClass,
      error,
      orderId,
      attempts: message.attempt,
      firstSeenMs: message.firstSeenMs,
      parkedAtMs: this.#options.clock.wallMs(),
      origin: message.origin,
      workerVersion: this.#options.workerVersion,
    });
  }

  #idOf(body: Uint8Array): string {
    const { newId = randomUUID } = this.#options;
    const id = this.#ids.get(body) ?? newId();
    this.#ids.set(body, id);
    return id;
  }
}
