import type { OrderNotification } from '../domain/notification.ts';
import type { Log } from '../ports/log.ts';
import type { Notifier } from '../ports/notifier.ts';
import type { OrderBook } from '../ports/order-book.ts';
import type { BasicBolt } from '../topology/bolt.ts';
import type { Clock } from '../topology/clock.ts';
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
  readonly #clock: Pick<Clock, 'wallMs'>;
  readonly #log: Log;

  constructor(parts: { notifier: Notifier; book: OrderBook; clock: Pick<Clock, 'wallMs'>; log: Log }) {
    this.#notifier = parts.notifier;
    this.#book = parts.book;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  async execute(tuple: Tuple<AnnouncedValues>): Promise<void> {
    const { notification } = tuple.values;
    const { orderId, status } = notification.body;
    this.#warnWhenLate(notification);
    await this.#notifier.notify(notification);
    await this.#book.apply(orderId, { kind: 'notified', generation: notification.generation, status });
  }

  /** Before every try: an order that waits for downstream is tried again and again, and warned of each time. */
  #warnWhenLate({ body: { orderId, authorizationExpiresAt } }: OrderNotification): void {
    if (authorizationExpiresAt === null) return;
    const leftMs = Date.parse(authorizationExpiresAt) - this.#clock.wallMs();
    if (leftMs > CLOSE_TO_EXPIRY_MS) return;
    const message =
      leftMs > 0
        ? 'announced late: the hold expires soon and must be captured at once'
        : 'announced too late: the hold has expired';
    this.#log.warn({ orderId, authorizationExpiresAt, leftMs }, message);
  }
}

/** Downstream needs about so long to capture: a working day. */
const CLOSE_TO_EXPIRY_MS = 24 * 3_600_000;
