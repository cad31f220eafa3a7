import type { Notifier } from '../ports/notifier.ts';
import type { OrderBook } from '../ports/order-book.ts';
import type { BasicBolt } from '../topology/bolt.ts';
import type { Tuple } from '../topology/tuple.ts';
import type { AnnouncedValues } from './order-values.ts';

/**
 * Announces a decided order, then marks it as notified. Dying in between announces it again, with the same event id:
 * the announcement is repeated rather than missed.
 */
export class ProcessedOrderNotification implements BasicBolt<AnnouncedValues> {
  readonly kind = 'basic';
  readonly #notifier: Notifier;
  readonly #book: OrderBook;

  constructor(parts: { notifier: Notifier; book: OrderBook }) {
    this.#notifier = parts.notifier;
    this.#book = parts.book;
  }

  async execute(tuple: Tuple<AnnouncedValues>): Promise<void> {
    const { notification } = tuple.values;
    const { orderId, status } = notification.body;
    await this.#notifier.notify(notification);
    await this.#book.apply(orderId, { kind: 'notified', generation: notification.generation, status });
  }
}
