/** Where our records and the gateway's disagree about an order, in words, and what is certain enough to be settled. */
import type { StoredOrder } from '../../domain/order-states.ts';
import type { OrderId } from '../../domain/order.ts';
import type { GatewayHold } from '../../ports/gateway-holds.ts';

export type DifferenceKind =
  /** The gateway holds money that the order's record does not know as its approval. */
  | 'unrecorded_approval'
  | 'unknown_to_gateway'
  | 'amount_differs'
  | 'currency_differs'
  | 'two_approvals'
  /** The order is denied, and the gateway holds money for it. */
  | 'held_though_denied'
  /** Our record says that the hold was given back. */
  | 'void_missing';

export interface Difference {
  readonly kind: DifferenceKind;
  readonly orderId: OrderId;
  readonly reference: string | undefined;
  readonly explanation: string;
  /** What the order's own rules make of the gateway's word; undefined: a person decides. */
  readonly remedy: 'approve' | 'void' | 'stop' | undefined;
  readonly hold: GatewayHold | undefined;
}

/**
 * What is wrong between all that the gateway has for an order and the order. Undefined order: it is not stored. An order
 * that a worker has in hand is never judged: it may be recorded in the next moment.
 */
export function differencesOf(
  orderId: OrderId,
  holds: readonly GatewayHold[],
  order: StoredOrder | undefined,
  nowMs: number,
): readonly Difference[] {
  const held = holds.filter(({ state }) => state === 'held');
  const [hold, second] = held;
  if (hold === undefined || isInHand(order, nowMs)) return [];
  if (second !== undefined) {
    const references = held.map(({ reference }) => reference).join(', ');
    return [
      difference(
        'two_approvals',
        orderId,
        hold,
        `the gateway holds money ${held.length} times: ${references}`,
      ),
    ];
  }
  if (order === undefined) {
    return [difference('unrecorded_approval', orderId, hold, 'the order is not stored here')];
  }
  return judged(order, hold);
}

function isInHand(order: StoredOrder | undefined, nowMs: number): boolean {
  const leaseUntilMs = order?.attempt?.leaseUntilMs;
  return leaseUntilMs !== undefined && leaseUntilMs > nowMs;
}

function judged(order: StoredOrder, hold: GatewayHold): readonly Difference[] {
  const { orderId, status, gatewayReference } = order;
  const voiding = order.attempt?.voiding;
  // What is being given back, or could not be, is known to us and on its way or with a person.
  if (voiding?.reference === hold.reference) {
    if (voiding.state !== 'confirmed') return [];
    return [
      difference(
        'void_missing',
        orderId,
        hold,
        'it was given back by our record, and the gateway still holds it',
      ),
    ];
  }
  const mismatch = mismatchOf(order, hold);
  if (mismatch !== undefined) return [mismatch];
  if (status === 'ready-to-ship') {
    if (gatewayReference === hold.reference) return [];
    const explanation = `approved as ${gatewayReference ?? 'unknown'} here`;
    return [difference('two_approvals', orderId, hold, explanation)];
  }
  if (status === 'denied') {
    const remedy = order.attempt !== undefined && voiding === undefined ? 'void' : undefined;
    const explanation = `denied here (${order.statusReason ?? 'without a reason'})`;
    return [difference('held_though_denied', orderId, hold, explanation, remedy)];
  }
  const explanation = `${status}${order.statusReason === undefined ? '' : ` (${order.statusReason})`} here`;
  return [difference('unrecorded_approval', orderId, hold, explanation, remedyOf(order))];
}

function mismatchOf(order: StoredOrder, hold: GatewayHold): Difference | undefined {
  const { orderId, amountMinor, currency } = order;
  const [theirs, ours] = [
    `${hold.amountMinor ?? 'no whole amount'} ${hold.currency}`,
    `${amountMinor} ${currency}`,
  ];
  const explanation = `the gateway holds ${theirs}, the order is about ${ours} (minor units)`;
  if (hold.currency !== currency) return difference('currency_differs', orderId, hold, explanation);
  return hold.amountMinor === amountMinor
    ? undefined
    : difference('amount_differs', orderId, hold, explanation);
}

/** Reviews that the gateway's word ends. */
const ENDED_BY_APPROVAL: readonly (string | undefined)[] = [
  'key_window_passed',
  'key_reused',
  'not_resolved',
];

function remedyOf({ status, statusReason, attempt }: StoredOrder): Difference['remedy'] {
  switch (status) {
    case 'authorizing':
    case 'authorization-unknown':
      return 'approve';
    case 'review':
      return ENDED_BY_APPROVAL.includes(statusReason) ? 'approve' : undefined;
    case 'received':
      // It would be tried again: with money held under an earlier key it must not be.
      return attempt === undefined || attempt.state === 'declined' ? 'stop' : 'approve';
    case 'ready-to-ship':
    case 'denied':
      return undefined;
  }
}

/** An approval of ours that the gateway's list does not have, or has without money, before it was announced. */
export function missingApproval(order: StoredOrder): Difference {
  const { orderId, gatewayReference: reference } = order;
  const explanation = 'approved here, and the gateway has no such authorization';
  return { kind: 'unknown_to_gateway', orderId, reference, explanation, remedy: undefined, hold: undefined };
}

function difference(
  kind: DifferenceKind,
  orderId: OrderId,
  hold: GatewayHold,
  explanation: string,
  remedy?: Difference['remedy'],
): Difference {
  return { kind, orderId, reference: hold.reference, explanation, remedy, hold };
}
