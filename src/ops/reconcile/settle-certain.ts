/**
 * What is certain is settled as if the gateway had just said it: by the same fact that the resolver brings, under the
 * same rules. So doing it twice, or beside a worker, does it once.
 */
import type { OperatorCommand } from '../../domain/audit.ts';
import type { StoredOrder } from '../../domain/order-states.ts';
import type { Approved, InquiryOutcome } from '../../domain/outcome.ts';
import type { GatewayHold } from '../../ports/gateway-holds.ts';
import type { GatewayInquiry } from '../../ports/gateway-inquiry.ts';
import type { OrderBook } from '../../ports/order-book.ts';
import { inWords } from '../gateway-check.ts';
import type { Difference } from './differences.ts';

export interface SettleParts {
  readonly book: OrderBook;
  readonly gateway: GatewayInquiry;
}

/** What became of it, in words; `isSettled`: the difference is gone, or on its way. */
export interface Settled {
  readonly isSettled: boolean;
  readonly words: string;
}

export async function settleCertain(
  { book, gateway }: SettleParts,
  { hold, orderId, remedy }: Difference,
  command: OperatorCommand,
): Promise<Settled> {
  if (hold === undefined || remedy === undefined) return { isSettled: false, words: 'a person decides' };
  const { order } = await book.apply(orderId, { kind: 'resolve' });
  if (order === undefined) return { isSettled: false, words: 'the order is not stored any more' };
  // The list is some moments old: the hold may be gone by now.
  const said = await stillHeld(gateway, order, hold);
  if (said.kind !== 'approved' || said.reference !== hold.reference) {
    return { isSettled: false, words: `the gateway now says: ${inWords(said)}` };
  }
  const generation = generationOf(hold, order);
  const inquiry = order.attempt?.inquiries ?? 0;
  const applied = await book.apply(
    orderId,
    { kind: 'inquired', generation, inquiry, outcome: said, atOnce: true },
    command,
  );
  return became(applied.order, hold);
}

/** A gateway that cannot be asked leaves the ledger's word. */
async function stillHeld(
  gateway: GatewayInquiry,
  terms: StoredOrder,
  { reference, idempotencyKey }: GatewayHold,
): Promise<InquiryOutcome> {
  const key = idempotencyKey ?? `order-${terms.orderId}-${terms.generation}`;
  const said = await gateway.lookup({ terms, idempotencyKey: key, reference });
  const inLedger: Approved = { kind: 'approved', reference };
  return said.kind === 'undecided' && said.cause === 'cannot_be_asked' ? inLedger : said;
}

/** `order-<id>-<generation>`, as we sent it; without a key, the order's own. */
function generationOf({ idempotencyKey }: GatewayHold, { orderId, generation }: StoredOrder): number {
  const prefix = `order-${orderId}-`;
  const text = idempotencyKey?.startsWith(prefix) === true ? idempotencyKey.slice(prefix.length) : '';
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : generation;
}

function became(order: StoredOrder | undefined, { reference }: GatewayHold): Settled {
  if (order?.status === 'ready-to-ship' && order.gatewayReference === reference) {
    return { isSettled: true, words: 'recorded as approved; to be announced' };
  }
  if (order?.status === 'denied' && order.attempt?.voiding?.reference === reference) {
    return { isSettled: true, words: 'to be given back by the resolver' };
  }
  return {
    isSettled: false,
    words: `not to be tried again: ${order?.status ?? 'not stored'}, a person decides`,
  };
}
