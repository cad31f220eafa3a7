import type { OrderTerms } from '../domain/order.ts';
import type { InquiryOutcome, VoidOutcome } from '../domain/outcome.ts';

/**
 * What can be asked of a gateway without charging anything. Both calls answer for everything that can happen to them,
 * end within the gateway's wall, and reject only on a bug. They may be repeated at any time.
 *
 * These calls go past the circuit breaker: they are few, and while it is open the resolver is held with the intake.
 */
export interface GatewayInquiry {
  /**
   * What became of the authorization of this order under this key. By reference where it is known, otherwise by
   * order; whatever holds money for the order counts, under any key, a decline only under this one. A dialect without
   * such a question answers `undecided`, `cannot_be_asked`.
   */
  lookup(request: LookupRequest): Promise<InquiryOutcome>;
  /** Gives a hold back, and with it the authorization. */
  void(request: VoidRequest): Promise<VoidOutcome>;
}

export interface LookupRequest {
  readonly terms: Pick<OrderTerms, 'orderId' | 'amountMinor' | 'currency'>;
  readonly idempotencyKey: string;
  /** The gateway's own id of the authorization, where it is known. */
  readonly reference: string | undefined;
}

export interface VoidRequest {
  readonly reference: string;
  /** `order-<id>-<generation>-void`: the same for every try. */
  readonly idempotencyKey: string;
}
