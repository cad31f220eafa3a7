/**
 * Some orders never reach a worker by the orders queue: they lie on a queue of upstream's whose messages expire, and the
 * broker dead-letters them to the parking lot. Only an operator's replay has them authorized. Every other one of them is
 * published to the orders queue, too, so that workers and operators have the same order in hand.
 */
import type { DemoOrder } from '../../src/demo/orders.ts';

export const EXPIRING_QUEUE = 'orders.expiring';
/** What the broker calls it, and `parked list` after it. */
export const EXPIRED_REASON = 'expired';

const ONE_IN = 8;

export type Way = 'orders' | 'expiring' | 'both';

export function wayOf({ kind, orderId }: DemoOrder): Way {
  const number = Number(orderId);
  if (kind !== 'good' || number % ONE_IN !== 0) return 'orders';
  return number % (2 * ONE_IN) === 0 ? 'both' : 'expiring';
}

/** Quorum, and no message is lost between the two queues when a node dies. */
export function expiringQueueArguments(
  deadLetterExchange: string,
  parkedQueue: string,
): Readonly<Record<string, unknown>> {
  return {
    'x-queue-type': 'quorum',
    'x-message-ttl': 50,
    'x-dead-letter-exchange': deadLetterExchange,
    'x-dead-letter-routing-key': parkedQueue,
    'x-dead-letter-strategy': 'at-least-once',
    'x-overflow': 'reject-publish',
  };
}
