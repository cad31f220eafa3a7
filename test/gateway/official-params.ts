import type Stripe from 'stripe';
import type { Order } from '../../src/domain/order.ts';

/**
 * The order as a user of the official client would write it. Raw card data is the one thing that the official types leave out, and its
 * client sends.
 */
export function officialParams(
  { terms, means }: Order,
  idempotencyKey: string,
): Stripe.PaymentIntentCreateParams {
  const card = means.kind === 'card' ? means.card : undefined;
  const params: Stripe.PaymentIntentCreateParams & { payment_method_data?: { card?: object } } = {
    amount: Number(terms.amountMinor),
    currency: terms.currency.toLowerCase(),
    capture_method: 'manual',
    confirm: true,
    off_session: true,
    allowed_payment_method_types: ['card'],
    ...(means.kind === 'token' ? { payment_method: means.paymentMethod } : {}),
    ...(card === undefined
      ? {}
      : {
          payment_method_data: {
            type: 'card',
            card: {
              number: card.number.reveal(),
              exp_month: card.expiryMonth,
              exp_year: card.expiryYear,
              ...(card.cvv === undefined ? {} : { cvc: card.cvv.reveal() }),
            },
          },
        }),
    metadata: { order_id: terms.orderId, idempotency_key: idempotencyKey },
    expand: ['latest_charge'],
  };
  return params;
}
