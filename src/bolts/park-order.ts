import type { Admission, OrderId } from '../domain/order.ts';
import type { Log } from '../ports/log.ts';
import type { OrderBook } from '../ports/order-book.ts';
import type { ParkedOrder, ParkingLot } from '../ports/parking-lot.ts';
import type { BasicBolt } from '../topology/bolt.ts';
import type { Tuple } from '../topology/tuple.ts';
import type { ExhaustedValues, OrderValues, ParkedValues } from './order-values.ts';

/** A tuple that a bolt gave up on without a verdict, as its error stream carries it. */
export type FailedValues = { readonly error: Error; readonly values: OrderValues };

/**
 * Gives an order to a person: the copy is in the parking lot before the tree completes and the message leaves the
 * queue. The order's status does not change by it.
 */
export class ParkOrder implements BasicBolt<ParkedValues | ExhaustedValues | FailedValues> {
  readonly kind = 'basic';
  readonly #lot: ParkingLot;
  readonly #book: OrderBook;
  readonly #log: Log;

  constructor(parts: { lot: ParkingLot; book: OrderBook; log: Log }) {
    this.#lot = parts.lot;
    this.#book = parts.book;
    this.#log = parts.log;
  }

  async execute(tuple: Tuple<ParkedValues | ExhaustedValues | FailedValues>): Promise<void> {
    const parked = parkedOrderOf(tuple.values);
    await this.#lot.park(parked);
    const { orderId, reason } = parked;
    this.#log.warn({ orderId, reason, class: parked.class, detail: parked.error }, 'order parked');
    if (orderId !== undefined) await this.#book.apply(orderId, { kind: 'parked', reason });
  }
}

function parkedOrderOf(values: ParkedValues | ExhaustedValues | FailedValues): ParkedOrder {
  if ('parked' in values) return values.parked;
  if ('exhaustedBecause' in values) return asParked(values, 'replays_exhausted', values.exhaustedBecause);
  return asParked(values.values, 'worker_error', values.error.message);
}

function asParked(
  { admission, message }: OrderValues,
  reason: 'replays_exhausted' | 'worker_error',
  error: string,
): ParkedOrder {
  const readable = admission.kind !== 'park';
  return { orderId: orderIdOf(admission), reason, class: 'exhausted', error, message, readable };
}

function orderIdOf(admission: Admission): OrderId | undefined {
  switch (admission.kind) {
    case 'ok':
      return admission.order.terms.orderId;
    case 'deny':
      return admission.terms.orderId;
    case 'park':
      return admission.orderId;
  }
}
