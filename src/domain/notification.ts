import type { StoredOrder, TerminalStatus } from './order-states.ts';

/** The announcement of a decided order. Everything in it comes from the stored order: every resend is identical. */
export interface OrderNotification {
  /** `order-<id>-<status>-<generation>`. */
  readonly eventId: string;
  readonly routingKey: `order.${TerminalStatus}`;
  readonly generation: number;
  readonly occurredAtMs: number;
  readonly body: NotificationBody;
}

/** The JSON body; the order of the fields is part of it. */
export interface NotificationBody {
  readonly orderId: string;
  readonly customerId: string;
  readonly status: TerminalStatus;
  readonly reason: string | null;
  /** Minor units as a string of digits. */
  readonly amountMinor: string;
  readonly currency: string;
  readonly authorizationId: string | null;
  /** ISO 8601, when the order was decided. */
  readonly occurredAt: string;
  /** ISO 8601, until when the approved hold can be captured; null where the gateway does not say, and for denials. */
  readonly authorizationExpiresAt: string | null;
}

/** The notification of `order`, which must be decided. */
export function notificationOf(order: StoredOrder & { readonly status: TerminalStatus }): OrderNotification {
  const { orderId, status, generation } = order;
  if (order.decidedAtMs === undefined) {
    throw new Error(`order ${orderId} is ${status} without a decision time: the database row is damaged`);
  }
  return {
    eventId: `order-${orderId}-${status}-${generation}`,
    routingKey: `order.${status}`,
    generation,
    occurredAtMs: order.decidedAtMs,
    body: {
      orderId,
      customerId: order.customerId,
      status,
      reason: order.statusReason ?? null,
      amountMinor: order.amountMinor.toString(),
      currency: order.currency,
      authorizationId: order.gatewayReference ?? null,
      occurredAt: new Date(order.decidedAtMs).toISOString(),
      authorizationExpiresAt: isoTime(order.authorizationExpiresAtMs),
    },
  };
}

function isoTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
