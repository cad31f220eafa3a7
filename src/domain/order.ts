import type { Card } from './card.ts';

/** Canonical text of an order's id: 1-128 visible ASCII characters; the idempotency identity. */
export type OrderId = string;

/** An amount in the minor units of an ISO 4217 currency: 4223n USD is 42.23 dollars. */
export interface Money {
  readonly amountMinor: bigint;
  readonly currency: string;
}

/** What an order is about, without the means to pay: what is stored, compared and announced. */
export interface OrderTerms extends Money {
  readonly orderId: OrderId;
  readonly customerId: string;
  /** Keyed fingerprint of card, amount, currency and customer, without the CVV. Two copies of an order agree in it. */
  readonly fingerprint: string;
  /** For people: brand and last four digits, where they are known. */
  readonly cardBrand?: string | undefined;
  readonly cardLast4?: string | undefined;
}

export type PaymentMeans =
  { readonly kind: 'card'; readonly card: Card } | { readonly kind: 'token'; readonly paymentMethod: string };

/** An order that may be sent to the gateway. */
export interface Order {
  readonly terms: OrderTerms;
  readonly means: PaymentMeans;
}

/**
 * The order as it is sent after a verdict, under a later generation's key: without the CVV, which no copy of it may
 * carry any more. So the request is the same whether its message came back as a copy or as upstream sent it.
 */
export function withoutCvv(order: Order): Order {
  if (order.means.kind === 'token') return order;
  const { number, expiryMonth, expiryYear } = order.means.card;
  return { ...order, means: { kind: 'card', card: { number, expiryMonth, expiryYear } } };
}

/**
 * What becomes of a message from the orders queue (payments design, section 1):
 * `ok`: authorize it; `deny`: the order is known and its card data is hopeless; `park`: upstream's bug or an
 * ambiguity, never charged and never denied; `sealed`: its card has to be opened first.
 */
export type Admission = OpenAdmission | { readonly kind: 'sealed'; readonly order: SealedOrder };

export type OpenAdmission =
  | { readonly kind: 'ok'; readonly order: Order }
  | {
      readonly kind: 'deny';
      readonly terms: OrderTerms;
      readonly reason: 'invalid_card_data';
      readonly detail: string;
    }
  | {
      readonly kind: 'park';
      readonly orderId: OrderId | undefined;
      readonly reason: ParkReason;
      readonly detail: string;
    }
  /** A copy of ours of an order that has had a verdict, without the CVV: to be announced, or to be tried again later. */
  | { readonly kind: 'spent'; readonly terms: OrderTerms; readonly means: PaymentMeans };

/** An order whose card is still sealed: what it is about is known once the card is opened. */
export interface SealedOrder extends Money {
  readonly orderId: OrderId;
  readonly customerId: string;
  /** Compact JWE. */
  readonly card: string;
}

/** The order a message is about, where it says so usably. */
export function orderIdOf(admission: Admission): OrderId | undefined {
  switch (admission.kind) {
    case 'ok':
      return admission.order.terms.orderId;
    case 'sealed':
      return admission.order.orderId;
    case 'deny':
    case 'spent':
      return admission.terms.orderId;
    case 'park':
      return admission.orderId;
  }
}

/** Why an order was given to a person. */
export type ParkReason = InputParkReason | DecisionParkReason;

/** Upstream's message cannot be taken as an order. */
export type InputParkReason =
  | 'unparseable'
  | 'too_large'
  | 'id_format'
  | 'customer_format'
  | 'amount_zero'
  | 'amount_negative'
  | 'amount_range'
  | 'amount_format'
  | 'amount_type'
  | 'amount_precision'
  | 'currency_unknown'
  | 'card_format'
  | 'card_unreadable';

/** The order cannot go on by itself. */
export type DecisionParkReason =
  'order_conflict' | 'review' | 'key_window_passed' | 'replays_exhausted' | 'worker_error';
