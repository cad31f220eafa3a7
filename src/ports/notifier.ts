import type { OrderNotification } from '../domain/notification.ts';

/** Tells the downstream system of a decided order. */
export interface Notifier {
  /**
   * Resolves when downstream's side has taken it over (published, routed and confirmed). Rejects with a retriable
   * error otherwise; whether it arrived is then unknown, and it is sent again with the same event id.
   */
  notify(notification: OrderNotification): Promise<void>;
}
