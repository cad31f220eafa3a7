import { refused, unchanged, type Decision, type DecisionContext } from './decision.ts';
import { announceUnlessNotified } from './announcement.ts';
import { isTerminal, type Attempt, type StoredOrder } from './stored-order.ts';

/** What the resolver does about an order that is due: it asks, gives back and announces, and never charges. */
export function resolve(order: StoredOrder | undefined, { nowMs }: DecisionContext): Decision {
  const attempt = order?.attempt;
  if (order === undefined || attempt?.resolveDueMs === undefined || attempt.resolveDueMs > nowMs)
    return unchanged(order, { step: 'nothing' });
  return lookAfter(order, attempt, isAskedAbout(order), nowMs);
}

/** The same for an operator: before its time, and where the schedule has ended, too. */
export function resolveAtOnce(order: StoredOrder | undefined, { nowMs }: DecisionContext): Decision {
  if (order?.attempt === undefined) return refused(order, 'it was never sent to the gateway');
  if (isTerminal(order) && order.attempt.voiding?.state !== 'due') {
    return refused(order, `it is ${order.status}: there is nothing to ask`);
  }
  const { leaseUntilMs } = order.attempt;
  if (leaseUntilMs !== undefined && leaseUntilMs > nowMs) {
    return unchanged(order, { step: 'wait', retryAfterMs: leaseUntilMs - nowMs });
  }
  const { next } = lookAfter(order, order.attempt, isAskedAboutAtOnce(order), nowMs);
  if (next.step !== 'nothing') return unchanged(order, next);
  return refused(
    order,
    `${inWords(order)}: the gateway's word alone cannot end that, settle it with evidence`,
  );
}

function inWords({ status, statusReason }: StoredOrder): string {
  return statusReason === undefined ? `it is ${status}` : `it is in ${status} because of ${statusReason}`;
}

function lookAfter(order: StoredOrder, attempt: Attempt, isAsked: boolean, nowMs: number): Decision {
  const { generation } = order;
  const { idempotencyKey, inquiries: inquiry, voiding } = attempt;
  if (voiding?.state === 'due') {
    const { reference } = voiding;
    return unchanged(order, {
      step: 'void',
      idempotencyKey: voidKeyOf(idempotencyKey),
      generation,
      reference,
    });
  }
  if (isTerminal(order)) return unchanged(order, announceUnlessNotified(order));
  const isClaimed = attempt.leaseUntilMs !== undefined && attempt.leaseUntilMs > nowMs;
  if (isClaimed || !isAsked) return unchanged(order, { step: 'nothing' });
  const { gatewayReference: reference } = order;
  return unchanged(order, { step: 'inquire', idempotencyKey, generation, inquiry, reference });
}

function voidKeyOf(idempotencyKey: string): string {
  return `${idempotencyKey}-void`;
}

/** Reasons for a review that the gateway's own word can end. */
const ANSWERABLE: readonly (string | undefined)[] = ['key_window_passed', 'key_reused'];

export function isAskedAbout({ status, statusReason }: StoredOrder): boolean {
  return (
    status === 'authorizing' ||
    status === 'authorization-unknown' ||
    (status === 'review' && ANSWERABLE.includes(statusReason))
  );
}

/** An operator may ask again after the schedule has ended. */
export function isAskedAboutAtOnce(order: StoredOrder): boolean {
  return isAskedAbout(order) || (order.status === 'review' && order.statusReason === 'not_resolved');
}
