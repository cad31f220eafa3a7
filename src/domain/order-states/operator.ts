/**
 * What operators may say of an order. They decide where nobody else can, never against what is known: an approval
 * stays one, and nothing is tried again whose earlier request may have charged the card.
 */
import { leaseLeftMs } from './claim.ts';
import { changed, refused, unchanged, type Decision, type DecisionContext } from './decision.ts';
import type { OrderFact } from './facts.ts';
import { keyIsTooOld } from './schedule.ts';
import { voidNow } from './settle.ts';
import { isTerminal, type Attempt, type StoredOrder } from './stored-order.ts';
import { approved, denied, neverSent, withAttempt } from './transitions.ts';

type SettledFact = Extract<OrderFact, { kind: 'settled' }>;

// --- settled -----------------------------------------------------------------------------------------------------

export function settleByOperator(
  order: StoredOrder | undefined,
  fact: SettledFact,
  context: DecisionContext,
): Decision {
  if (order === undefined) return refused(order, 'it is not stored');
  if (order.status !== 'authorization-unknown' && order.status !== 'review') {
    return refused(order, `it is ${order.status}: only an order without a verdict can be settled`);
  }
  if (fact.generation !== order.generation) return refused(order, otherGeneration(order, fact.generation));
  const attempt = order.attempt ?? neverSent(order, context);
  const leftMs = leaseLeftMs(attempt, context);
  if (leftMs > 0) return unchanged(order, { step: 'wait', retryAfterMs: leftMs });
  const settled = { ...order, attempt };
  return fact.as.kind === 'approved'
    ? settleAsApproved(order, settled, fact.as, context)
    : settleAsDeclined(order, settled, context);
}

type Settled = StoredOrder & { readonly attempt: Attempt };

function settleAsApproved(
  before: StoredOrder,
  order: Settled,
  as: Extract<SettledFact['as'], { kind: 'approved' }>,
  context: DecisionContext,
): Decision {
  const { attempt, statusReason } = order;
  if (attempt.voiding !== undefined) {
    return refused(
      before,
      `its hold ${attempt.voiding.reference} was to be given back, and may never be shipped on`,
    );
  }
  if (attempt.state === 'declined') {
    return refused(before, 'its attempt was declined, which is final: settle it as declined, then reopen it');
  }
  if (statusReason !== undefined && OTHER_MONEY.includes(statusReason)) {
    return refused(before, `the gateway holds other money than the order is about (${statusReason})`);
  }
  const known = ownReference(order);
  if (known !== undefined && known !== as.reference) {
    return refused(before, `the gateway's authorization on record is ${known}, not ${as.reference}`);
  }
  return changed(before, announcedSoon(approved(order, as, context), context), { step: 'announce' });
}

/** A hold on record is given back, unless it is known not to be this order's, or not to be the only one. */
function settleAsDeclined(before: StoredOrder, order: Settled, context: DecisionContext): Decision {
  const declined = withAttempt(order, { state: 'declined', leaseUntilMs: undefined });
  const after = announcedSoon(denied(declined, 'settled_by_operator', context), context);
  const held = ownReference(order);
  const isToBeVoided = held !== undefined && order.attempt.voiding === undefined;
  return changed(before, isToBeVoided ? withAttempt(after, voidNow(held, context)) : after, {
    step: 'announce',
  });
}

/** Reviews because the gateway holds something else than was asked for. */
const OTHER_MONEY: readonly string[] = ['amount_mismatch', 'currency_mismatch', 'partial_approval'];

/** Reviews whose recorded reference is another order's, or one of several. */
const NOT_ITS_ONLY_ONE: readonly (string | undefined)[] = ['order_mismatch', 'several_approvals'];

function ownReference({ gatewayReference, statusReason }: StoredOrder): string | undefined {
  return NOT_ITS_ONLY_ONE.includes(statusReason) ? undefined : gatewayReference;
}

/** Its message may be parked or gone: the resolver announces it. */
function announcedSoon(order: StoredOrder, { nowMs }: DecisionContext): StoredOrder {
  return withAttempt(order, { resolveDueMs: nowMs });
}

// --- reopened ----------------------------------------------------------------------------------------------------

/** The next generation is claimed when a message with the order's card comes again. */
export function reopen(
  order: StoredOrder | undefined,
  fact: Extract<OrderFact, { kind: 'reopened' }>,
  context: DecisionContext,
): Decision {
  if (order === undefined) return refused(order, 'it is not stored');
  if (fact.generation !== order.generation) return refused(order, otherGeneration(order, fact.generation));
  const obstacle = whyNotReopened(order, context);
  if (obstacle !== undefined) return refused(order, obstacle);
  const next: StoredOrder = {
    ...order,
    status: 'received',
    statusReason: 'reopened',
    generation: order.generation + 1,
    attempt: undefined,
    gatewayReference: undefined,
    decidedAtMs: undefined,
    notifiedAtMs: undefined,
    retryAtMs: undefined,
  };
  return changed(order, next, { step: 'nothing' });
}

/** undefined when it is proven that nothing is held for the order, and that nothing can be any more. */
function whyNotReopened(order: StoredOrder, context: DecisionContext): string | undefined {
  const { status, statusReason, attempt } = order;
  if (status !== 'denied' && status !== 'review') return `it is ${status}: only a denied order is reopened`;
  if (attempt === undefined) {
    return status === 'denied' ? undefined : 'an earlier generation may hold money: settle it first';
  }
  const { voiding } = attempt;
  if (voiding !== undefined) {
    const isGivenBack = voiding.state === 'confirmed';
    return isGivenBack ? undefined : `whether its hold ${voiding.reference} was given back is not confirmed`;
  }
  if (status === 'review') {
    const isRefused = statusReason?.startsWith('rejected') === true && !attempt.maybeSent;
    return isRefused ? undefined : 'nobody knows whether it was charged: settle it first';
  }
  // An operator's word is no proof: a request under the old key must not be possible any more.
  const isDeclinedByGateway = attempt.declineClass !== undefined;
  if (isDeclinedByGateway || attempt.keyUsedSinceMs === undefined || isLongGone(attempt, context)) {
    return undefined;
  }
  return 'it was settled by an operator, and a request under its old key could still be sent: wait until an hour after its key window';
}

/** The last request that the key's window allowed has arrived by then, too, or never will. */
const IN_FLIGHT_MARGIN_MS = 3_600_000;

function isLongGone(attempt: Attempt, context: DecisionContext): boolean {
  return keyIsTooOld(attempt, { ...context, nowMs: context.nowMs - IN_FLIGHT_MARGIN_MS });
}

function otherGeneration({ generation }: StoredOrder, meant: number): string {
  return `it is in generation ${generation}, not ${meant}: look at it again`;
}

// --- resend ------------------------------------------------------------------------------------------------------

export function resend(order: StoredOrder | undefined): Decision {
  if (order === undefined) return refused(order, 'it is not stored');
  if (!isTerminal(order)) return refused(order, `it is ${order.status}: there is no decision to announce`);
  return unchanged(order, { step: 'announce' });
}
