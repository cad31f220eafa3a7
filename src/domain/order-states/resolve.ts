import { unchanged, type Decision, type DecisionContext } from './decision.ts';
import { announceUnlessNotified } from './announcement.ts';
import { isTerminal, type StoredOrder } from './stored-order.ts';

/** What the resolver does about an order that is due: it asks, gives back and announces, and never charges. */
export function resolve(order: StoredOrder | undefined, { nowMs }: DecisionContext): Decision {
  const attempt = order?.attempt;
  if (order === undefined || attempt?.resolveDueMs === undefined || attempt.resolveDueMs > nowMs)
    return unchanged(order, { step: 'nothing' });
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
  if (isClaimed || !isAskedAbout(order)) return unchanged(order, { step: 'nothing' });
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
