import { Pool } from 'undici';
import type { OrderMessage } from './order-message.ts';

/** As many as cardauth may have. */
const CONNECTIONS = 512;

export interface ChargingClient {
  /** One authorization under the order's own key; resolves to the gateway's reference. Throws on all but an approval. */
  charge(order: OrderMessage): Promise<string>;
}

/** The same HTTP client that cardauth uses, with nothing around it. */
export function chargingClient(gatewayUrl: string): ChargingClient {
  const pool = new Pool(gatewayUrl, { connections: CONNECTIONS });
  return {
    async charge(order) {
      const { statusCode, body } = await pool.request({
        method: 'POST',
        path: '/v1/payment_intents',
        headers: {
          authorization: 'Bearer sk_test_bench',
          'content-type': 'application/x-www-form-urlencoded',
          'idempotency-key': idempotencyKeyOf(order),
        },
        body: formOf(order),
      });
      const answer = (await body.json()) as { readonly id: string; readonly status: string };
      if (statusCode !== 200 || answer.status !== 'requires_capture')
        throw new Error(`order ${order.id} was not approved: ${statusCode} ${answer.status}`);
      return answer.id;
    },
  };
}

function idempotencyKeyOf({ id }: OrderMessage): string {
  return `order-${id}-1`;
}

/** Field by field what cardauth sends. */
function formOf(order: OrderMessage): string {
  const { creditCardNumber, creditCardExpiration, creditCardCode } = order;
  return (
    `amount=${Math.round(order.chargeAmount * 100)}&currency=usd&capture_method=manual&confirm=true` +
    '&off_session=true&allowed_payment_method_types[0]=card&payment_method_data[type]=card' +
    `&payment_method_data[card][number]=${creditCardNumber}` +
    `&payment_method_data[card][exp_month]=${Number(creditCardExpiration.slice(0, 2))}` +
    `&payment_method_data[card][exp_year]=${creditCardExpiration.slice(2)}` +
    `&payment_method_data[card][cvc]=${creditCardCode}&metadata[order_id]=${order.id}` +
    `&metadata[idempotency_key]=${idempotencyKeyOf(order)}&expand[0]=latest_charge`
  );
}
