/**
 * Parks orders in `<prefix>.parked`, a queue without TTL or limit, from where operators take them.
 *
 * Headers say why: `cardauth-park-reason`, and with the same beginning `-class`, `-attempts`, `-first-seen`,
 * `-parked-at`, `-error`, `-origin-queue`, `-origin-exchange`, `-origin-routing-key`, `-worker-version`, and
 * `-order-id` when it is known. The body is the same order when the worker could read it (`CopyBody`); one that it
 * could not read may hold card data anywhere and is redacted.
 */
import type { CopyBody } from '../../ports/copy-body.ts';
import type { ParkedOrder, ParkingLot } from '../../ports/parking-lot.ts';
import type { Clock } from '../../topology/clock.ts';
import { parkedQueueOf } from './declare.ts';
import type { Publication } from './publication.ts';
import type { Publisher } from './publisher.ts';
import { redactedBody, scrubbedHeaders, scrubbedText } from './redaction.ts';
import { definedOnly, isUnpublishable, withHeaders } from './retry-copies.ts';

export interface BrokerParkingLotOptions {
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly prefix: string;
  readonly workerVersion: string;
  readonly copyBody: CopyBody;
  readonly clock: Clock;
}

const LONGEST_ERROR_BYTES = 2_048;

export class BrokerParkingLot implements ParkingLot {
  readonly #options: BrokerParkingLotOptions;

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
    const { queue, exchange, routingKey } = message.origin;
    return Object.fromEntries(
      Object.entries({
        reason,
        class: parkClass,
        attempts: message.attempt,
        'first-seen': new Date(message.firstSeenMs).toISOString(),
        'parked-at': new Date(this.#options.clock.wallMs()).toISOString(),
        error: scrubbedText(error, LONGEST_ERROR_BYTES),
        'origin-queue': queue,
        'origin-exchange': exchange,
        'origin-routing-key': routingKey,
        'order-id': orderId,
        'worker-version': this.#options.workerVersion,
      }).map(([name, value]) => [`cardauth-park-${name}`, value]),
    );
  }
}
