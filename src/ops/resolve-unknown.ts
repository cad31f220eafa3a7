/**
 * An order without a verdict gets one: from the gateway, which is asked now, or from an operator with evidence. The
 * gateway's own word is recorded as the resolver records it, and an operator's never against it. Nothing is charged,
 * and a worker that has the order right now is never crossed: the order's claim and version say so.
 */
import type { OperatorCommand } from '../domain/audit.ts';
import { decide, type NextStep, type OrderFact, type StoredOrder } from '../domain/order-states.ts';
import type { GatewayInquiry } from '../ports/gateway-inquiry.ts';
import type { OrderBook } from '../ports/order-book.ts';
import { checkApproval, checkNonCharge, inWords, type GatewayCheck } from './gateway-check.ts';
import { obstacleIn, operated, operatedBy, type OperatedOrder } from './operated-order.ts';

export interface ResolveParts {
  readonly book: OrderBook;
  readonly gateway: GatewayInquiry;
  /** Wall clock, milliseconds since the epoch; for the dry run only. */
  readonly nowMs: () => number;
}

/** `isOffline`: the evidence counts where the gateway cannot be asked. */
export type Settlement =
  | { readonly as: 'approved'; readonly reference: string; readonly isOffline: boolean }
  | { readonly as: 'declined'; readonly isOffline: boolean };

/** Asks the gateway; without `command` it only says what would be asked. */
export async function askNow(
  { book, gateway }: ResolveParts,
  orderId: string,
  command: OperatorCommand | undefined,
): Promise<OperatedOrder> {
  const { order, next } = await book.apply(orderId, { kind: 'resolve', atOnce: true });
  const obstacle = obstacleIn(next);
  if (order === undefined || obstacle !== undefined) {
    return operated(
      orderId,
      order,
      obstacle?.result ?? 'refused',
      obstacle?.explanation ?? 'it is not stored',
    );
  }
  if (command === undefined) return operated(orderId, order, 'would', wouldDo(next));
  if (next.step === 'void') {
    const { reference, idempotencyKey, generation } = next;
    const outcome = await gateway.void({ reference, idempotencyKey });
    const given = await book.apply(orderId, { kind: 'voided', generation, reference, outcome }, command);
    return operatedBy(orderId, given, () => `giving ${reference} back: ${outcome.kind}`);
  }
  if (next.step !== 'inquire') return operated(orderId, order, 'refused', 'there is nothing to ask');
  const { idempotencyKey, reference, generation, inquiry } = next;
  const outcome = await gateway.lookup({ terms: order, idempotencyKey, reference });
  const fact: OrderFact = { kind: 'inquired', generation, inquiry, outcome, atOnce: true };
  const answered = await book.apply(orderId, fact, command);
  return operatedBy(orderId, answered, () => `the gateway says: ${inWords(outcome)}`);
}

function wouldDo(next: NextStep): string {
  if (next.step === 'void') return `the gateway would be asked to give ${next.reference} back`;
  if (next.step !== 'inquire') return 'nothing would be asked';
  const of = next.reference === undefined ? `all authorizations of the order` : next.reference;
  return `the gateway would be asked about ${of}`;
}

/** Settles it on evidence; without `command` it only says whether it would, the gateway being asked all the same. */
export async function settle(
  { book, gateway, nowMs }: ResolveParts,
  orderId: string,
  settlement: Settlement,
  command: OperatorCommand | undefined,
): Promise<OperatedOrder> {
  const { order } = await book.apply(orderId, { kind: 'resolve', atOnce: true });
  if (order === undefined) return operated(orderId, order, 'refused', 'it is not stored');
  // What the order's own rules refuse needs no gateway.
  const unchecked = settledFact(order, settlement, { kind: 'silent', because: '' });
  const foreseen = obstacleIn(decide(order, unchecked, dryContext(nowMs())).next);
  if (foreseen !== undefined) return operated(orderId, order, foreseen.result, foreseen.explanation);

  const check =
    settlement.as === 'approved'
      ? await checkApproval(gateway, order, settlement.reference)
      : await checkNonCharge(gateway, order);
  if (check.kind === 'contradicts') return operated(orderId, order, 'refused', check.because);
  if (check.kind === 'silent' && !settlement.isOffline) {
    const how = 'settle it with --offline-evidence if you have seen it elsewhere';
    return operated(orderId, order, 'refused', `the gateway cannot be asked (${check.because}): ${how}`);
  }
  const basis = check.kind === 'agrees' ? 'the gateway does not contradict' : 'on offline evidence';
  if (command === undefined)
    return operated(orderId, order, 'would', `would be settled as ${settlement.as}; ${basis}`);
  const settled = await book.apply(orderId, settledFact(order, settlement, check), command);
  return operatedBy(orderId, settled, (now) => `settled: ${now?.status ?? 'unknown'}; ${basis}`);
}

function settledFact(order: StoredOrder, settlement: Settlement, check: GatewayCheck): OrderFact {
  const expiry =
    check.kind === 'agrees' && check.expiresAtMs !== undefined ? { expiresAtMs: check.expiresAtMs } : {};
  return {
    kind: 'settled',
    generation: order.generation,
    as:
      settlement.as === 'approved'
        ? { kind: 'approved', reference: settlement.reference, ...expiry }
        : { kind: 'declined' },
    isCheckedAtGateway: check.kind === 'agrees',
  };
}

/** Enough to foresee a refusal; what counts is decided by the order book, with its own clock. */
function dryContext(nowMs: number) {
  return { nowMs, worker: 0, isAlive: () => true, leaseMs: 0, keyWindowMs: 0, inquiryWaitsMs: [] };
}
