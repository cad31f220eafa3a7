/**
 * How a parked message says why it is parked: headers `cardauth-park-...`, written by whoever parks it and by whoever
 * moves it on, so that it can be read again wherever it lies.
 */
import type { ParkedMessage } from '../../ports/parked-orders.ts';
import { scrubbedText } from './redaction.ts';

export const PARK_ID_HEADER = 'cardauth-park-id';
export const PARK_REASON_HEADER = 'cardauth-park-reason';
export const LONGEST_ERROR_BYTES = 2_048;

export type ParkFacts = Pick<
  ParkedMessage,
  | 'parkId'
  | 'reason'
  | 'class'
  | 'error'
  | 'orderId'
  | 'attempts'
  | 'firstSeenMs'
  | 'parkedAtMs'
  | 'origin'
  | 'workerVersion'
>;

export function parkHeadersOf(facts: ParkFacts): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries({
      id: facts.parkId,
      reason: facts.reason,
      class: facts.class,
      attempts: facts.attempts,
      'first-seen': new Date(facts.firstSeenMs).toISOString(),
      'parked-at': new Date(facts.parkedAtMs).toISOString(),
      error: scrubbedText(facts.error, LONGEST_ERROR_BYTES),
      'origin-queue': facts.origin.queue,
      'origin-exchange': facts.origin.exchange,
      'origin-routing-key': facts.origin.routingKey,
      'order-id': facts.orderId,
      'worker-version': facts.workerVersion,
    }).map(([name, value]) => [`cardauth-park-${name}`, value]),
  );
}
