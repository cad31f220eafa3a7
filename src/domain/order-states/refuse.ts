/** A message carries card data that no gateway could use. */
import type { OrderTerms } from '../order.ts';
import {
  changed,
  conflict,
  parkForReview,
  unchanged,
  type Decision,
  type DecisionContext,
} from './decision.ts';
import type { StoredOrder } from './stored-order.ts';
import { admitted, denied, withAttempt } from './transitions.ts';

export function admitAndDeny(terms: OrderTerms, reason: string, context: DecisionContext): Decision {
  const order = admitted(terms);
  return changed(order, denied(order, reason, context), { step: 'announce' });
}

export function refuse(
  order: StoredOrder,
  fact: { terms: OrderTerms; reason: string },
  context: DecisionContext,
): Decision {
  if (order.fingerprint !== fact.terms.fingerprint) return conflict(order);
  switch (order.status) {
    case 'ready-to-ship':
    case 'denied':
      return unchanged(order, { step: 'announce' });
    case 'received':
      if (order.attempt?.maybeSent === true && order.attempt.state !== 'declined')
        return unchanged(order, parkForReview('the card data was usable before and is not now'));
      // An attempt that was never sent ends with the order: left open, it would block the next generation's.
      return changed(order, denied(withAttempt(order, { state: 'declined' }), fact.reason, context), {
        step: 'announce',
      });
    case 'authorizing':
    case 'authorization-unknown':
      return unchanged(order, parkForReview('the card data was usable before and is not now'));
    case 'review':
      return unchanged(order, parkForReview(order.statusReason ?? 'review'));
  }
}
