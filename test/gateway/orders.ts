import { Secret } from '../../src/domain/card.ts';
import type { Order, PaymentMeans } from '../../src/domain/order.ts';

/** A published Stripe test card. */
export const VISA = '4242424242424242';
export const CVV = '739';

export function cardMeans(number = VISA, cvv = CVV): PaymentMeans {
  return {
    kind: 'card',
    card: { number: new Secret(number), cvv: new Secret(cvv), expiryMonth: 1, expiryYear: 2034 },
  };
}

export interface OrderSketch {
  readonly orderId?: string;
  readonly amountMinor?: bigint;
  readonly currency?: string;
  readonly means?: PaymentMeans;
}

export function anOrder(sketch: OrderSketch = {}): Order {
  const { orderId = '1234', amountMinor = 4223n, currency = 'USD', means = cardMeans() } = sketch;
  return {
    terms: { orderId, customerId: '5678', fingerprint: `fingerprint-${orderId}`, amountMinor, currency },
    means,
  };
}
