import type { OrderNotification } from '../domain/notification.ts';
import type { Admission } from '../domain/order.ts';
import type { OrderMessage } from '../ports/message.ts';
import type { ParkedOrder } from '../ports/parking-lot.ts';

/** What the spout emits for a message of the orders queue. */
export type OrderValues = {
  readonly admission: Admission;
  readonly message: OrderMessage;
};

/** What the spout emits for a message whose replays are used up. */
export type ExhaustedValues = OrderValues & { readonly exhaustedBecause: string };

/** An order that is decided and to be announced. */
export type AnnouncedValues = { readonly notification: OrderNotification };

/** The same, from a message, which goes along in case a person must look. */
export type ProcessedValues = OrderValues & AnnouncedValues;

/** An order for the parking lot. */
export type ParkedValues = { readonly parked: ParkedOrder };
