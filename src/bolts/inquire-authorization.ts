import { notificationOf } from '../domain/notification.ts';
import { isTerminal, type Decision, type NextStep } from '../domain/order-states.ts';
import type { OrderTerms } from '../domain/order.ts';
import type { GatewayInquiry } from '../ports/gateway-inquiry.ts';
import type { Log } from '../ports/log.ts';
import type { OrderBook } from '../ports/order-book.ts';
import type { BasicBolt } from '../topology/bolt.ts';
import type { Tuple } from '../topology/tuple.ts';
import type { AnnouncedValues } from './order-values.ts';

export type InquireStreams = { readonly processed: AnnouncedValues };

type Inquire = Extract<NextStep, { readonly step: 'inquire' }>;
type Void = Extract<NextStep, { readonly step: 'void' }>;
type Emit = (stream: 'processed', values: AnnouncedValues) => void;

/**
 * The resolver: brings an order to an end whose message may be parked or gone. It asks the gateway what became of an
 * authorization without a verdict, gives back a hold that must not stand, and sends what is decided on to its
 * announcement. It never charges. Everything it does may be done twice, by two workers or after a crash.
 */
export class InquireAuthorization implements BasicBolt<{ readonly orderId: string }, InquireStreams> {
  readonly kind = 'basic';
  readonly #book: OrderBook;
  readonly #gateway: GatewayInquiry;
  readonly #log: Log;

  constructor(parts: { readonly book: OrderBook; readonly gateway: GatewayInquiry; readonly log: Log }) {
    this.#book = parts.book;
    this.#gateway = parts.gateway;
    this.#log = parts.log;
  }

  async execute({ values }: Tuple<{ readonly orderId: string }>, emit: Emit): Promise<void> {
    const looked = await this.#book.apply(values.orderId, { kind: 'resolve' });
    const { order, next } = await this.#actOn(looked);
    if (next.step === 'announce' && order !== undefined && isTerminal(order)) {
      emit('processed', { notification: notificationOf(order) });
    }
    if (next.step === 'park') {
      // Parked by record: its message, where there still is one, follows when it is replayed.
      this.#log.warn(
        { orderId: values.orderId, detail: next.detail },
        'order given to review by the resolver',
      );
    }
  }

  #actOn(looked: Decision): Promise<Decision> | Decision {
    const { order, next } = looked;
    if (order === undefined) return looked;
    if (next.step === 'inquire') return this.#inquire(order, next);
    if (next.step === 'void') return this.#void(order, next);
    return looked;
  }

  async #inquire(terms: OrderTerms, step: Inquire): Promise<Decision> {
    const { orderId } = terms;
    const { idempotencyKey, reference, generation, inquiry } = step;
    const outcome = await this.#gateway.lookup({ terms, idempotencyKey, reference });
    this.#log.info(
      { orderId, inquiry, outcome: outcome.kind },
      'the gateway was asked about an authorization',
    );
    return this.#book.apply(orderId, { kind: 'inquired', generation, inquiry, outcome });
  }

  async #void({ orderId }: OrderTerms, step: Void): Promise<Decision> {
    const { idempotencyKey, reference, generation } = step;
    const outcome = await this.#gateway.void({ reference, idempotencyKey });
    this.#log.info({ orderId, reference, outcome: outcome.kind }, 'a hold was to be voided');
    return this.#book.apply(orderId, { kind: 'voided', generation, reference, outcome });
  }
}
