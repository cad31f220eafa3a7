import type { OrderNotification } from '../../domain/notification.ts';
import type { Notifier } from '../../ports/notifier.ts';
import type { Publisher } from './publisher.ts';

/**
 * Announces decided orders on a topic exchange, as CloudEvents in binary mode (the AMQP protocol binding, with
 * `cloudEvents:` headers). An ambiguous publish rejects like any other: the tuple is replayed, and the resend has
 * the same event id and the same bytes.
 */
export class BrokerNotifier implements Notifier {
  readonly #publisher: Pick<Publisher, 'publish'>;
  readonly #exchange: string;

  constructor(options: { readonly publisher: Pick<Publisher, 'publish'>; readonly exchange: string }) {
    this.#publisher = options.publisher;
    this.#exchange = options.exchange;
  }

  notify(notification: OrderNotification): Promise<void> {
    const { body, eventId, routingKey } = notification;
    return this.#publisher.publish({
      exchange: this.#exchange,
      routingKey,
      body: Buffer.from(JSON.stringify(body)),
      properties: {
        messageId: eventId,
        type: EVENT_TYPE,
        correlationId: body.orderId,
        contentType: 'application/json',
        headers: {
          'cloudEvents:specversion': '1.0',
          'cloudEvents:id': eventId,
          'cloudEvents:type': EVENT_TYPE,
          'cloudEvents:source': '/cardauth',
          'cloudEvents:time': body.occurredAt,
        },
      },
    });
  }
}

const EVENT_TYPE = 'order.processed.v1';
