import type { AuthorizationOutcome } from '../domain/outcome.ts';
import type { Order } from '../domain/order.ts';

/**
 * A payment gateway that honours idempotency keys.
 *
 * `authorize` sends one request (one same-key resend after a 500 is the dialect's to make) and answers with an
 * outcome for everything that can happen to it: it rejects only on a bug. The request is byte-identical for the
 * same order and key. It ends within `wallMs` whatever the gateway does.
 */
export interface Gateway {
  authorize(request: AuthorizationRequest): Promise<AuthorizationOutcome>;
}

export interface AuthorizationRequest {
  readonly order: Order;
  /** `order-<id>-<generation>`, stored before the first send and never regenerated on a fault. */
  readonly idempotencyKey: string;
}
