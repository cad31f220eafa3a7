import { orderIdOf } from '../domain/order.ts';
import type { Log } from '../ports/log.ts';
import type { OrderBook } from '../ports/order-book.ts';
import type { ParkedOrder, ParkingLot } from '../ports/parking-lot.ts';
import type { BasicBolt, ErrorValues } from '../topology/bolt.ts';
import type { Tuple } from '../topology/tuple.ts';
import type { ExhaustedValues, OrderValues, ParkedValues } from './order-values.ts';

/**
 * Gives an order to a person: the copy is in the parking lot before the tree completes and the message leaves the
 * queue. The order's status does not change by it.
 */
export class ParkOrder implements BasicBolt<ParkedValues | ExhaustedValues | ErrorValues> {
  readonly kind = 'basic';
  readonly #lot: ParkingLot;
  readonly #book: OrderBook;
  readonly #log: Log;

  constructor(parts: { lot: ParkingLot; book: OrderBook; log: Log }) {
    this.#lot = parts.lot;
    this.#book = parts.book;
    this.#log = parts.log;
  }

  async execute(tuple: Tuple<ParkedValues | ExhaustedValues | ErrorValues>): Promise<void> {
    const parked = parkedOrderOf(tuple.values);
    await this.#lot.park(parked);
    const { orderId, reason } = parked;
    this.#log.warn({ orderId, reason, class: parked.class, detail: parked.error }, 'order parked');
    if (orderId !== undefined) await this.#book.apply(orderId, { kind: 'parked', reason });
  }
}

function parkedOrderOf(values: ParkedValues | ExhaustedValues | ErrorValues): ParkedOrder {
  if (isParked(values)) return values.parked;
  if (isExhausted(values)) return asParked(values, 'replays_exhausted', values.exhaustedBecause);
  // Error streams carry the values of the bolts upstream, and those all have the order in them.
  return asParked(values.values as OrderValues, 'worker_error', textOf(values.error));
}

function isParked(values: ParkedValues | ExhaustedValues | ErrorValues): values is ParkedValues {
  return 'parked' in values;
}

function isExhausted(values: ExhaustedValues | ErrorValues): values is ExhaustedValues {
  return 'exhaustedBecause' in values;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : 'a bolt gave up on it without an error';
}

function asParked(
  values: OrderValues,
  reason: 'replays_exhausted' | 'worker_error',
  error: string,
): ParkedOrder {
  const { admission } = values;
  // Announced, or to be: it has its verdict.
  const message = 'notification' in values ? { ...values.message, isDecided: true } : values.message;
  const readable = admission.kind !== 'park';
  return { orderId: orderIdOf(admission), reason, class: 'exhausted', error, message, readable };
}
