/** The invariants (reliability design, section 1) that are judged at the end, when everything is quiet. */
import type { Hold } from './gateway.ts';
import { orderIdOf } from './monitor.ts';
import { operatorInvariants } from './operator-invariants.ts';
import type { Broken, RunParts } from './run-parts.ts';
import type { OrderRow } from './tables.ts';
import type { Published } from './upstream.ts';

export function endInvariants(run: RunParts): Broken[] {
  const { tables } = run.database;
  const orders = [...tables.orders.values()];
  return [
    ...orders.flatMap((order) => [...moneyOf(order, run), ...announcementOf(order, run)]),
    ...holdsWithoutOrder(run),
    ...run.published.flatMap((message) => placeOf(message, run)),
    ...leftovers(run),
    ...tooManyDeliveries(run),
    ...operatorInvariants(run),
  ];
}

/** I1, I2, I3. */
function moneyOf(order: OrderRow, run: RunParts): Broken[] {
  const { order_id: orderId, status, gateway_reference: reference } = order;
  const broken: Broken[] = [];
  const holds = run.gateway.holdsOf(orderId);
  const live = holds.filter(({ voidedAtMs }) => voidedAtMs === undefined);
  if (holds.some((hold, at) => at > 0 && !mayFollow(hold, holds[at - 1], order, run)))
    broken.push({ invariant: 'I1', what: `order ${orderId} was charged ${holds.length} times` });
  if (
    status === 'ready-to-ship' &&
    !(live.length === 1 && live[0] !== undefined && fits(live[0], order, reference))
  ) {
    broken.push({ invariant: 'I2', what: `order ${orderId} is ready to ship on ${wordsOf(live)}` });
  }
  if (status === 'denied' && live.length > 0) {
    broken.push({
      invariant: 'I3',
      what: `order ${orderId} is denied, and the gateway has ${wordsOf(live)}`,
    });
  }
  if (status !== 'ready-to-ship' && status !== 'review' && status !== 'denied' && live.length > 0) {
    broken.push({
      invariant: 'I3',
      what: `order ${orderId} is left as ${status}, and the gateway has ${wordsOf(live)}`,
    });
  }
  if (status === 'review' && live.some(({ isPartial }) => isPartial)) {
    broken.push({ invariant: 'I2', what: `the partial approval of order ${orderId} was not given back` });
  }
  return broken;
}

/** Once more only after the hold before was given back, and an operator has reopened the order. */
function mayFollow(hold: Hold, before: Hold | undefined, order: OrderRow, run: RunParts): boolean {
  const isGivenBack = before?.voidedAtMs !== undefined && before.voidedAtMs <= hold.atMs;
  const reopened = run.database.tables.audit.of(`order:${order.order_id}`);
  return isGivenBack && reopened.some(({ action }) => action === 'orders reopen');
}

function fits(hold: Hold, order: OrderRow, reference: string | null): boolean {
  return (
    hold.reference === reference &&
    hold.amountMinor === BigInt(order.amount_minor) &&
    hold.currency === order.currency &&
    !hold.isPartial
  );
}

function wordsOf(holds: readonly Hold[]): string {
  return holds.length === 0
    ? 'nothing'
    : holds
        .map(({ amountMinor, currency, reference }) => `${amountMinor} ${currency} (${reference})`)
        .join(', ');
}

/** I3, I8. */
function holdsWithoutOrder(run: RunParts): Broken[] {
  return run.gateway.ledger
    .filter(({ orderId }) => !run.database.tables.orders.has(orderId))
    .map(({ orderId }) => ({ invariant: 'I3', what: `order ${orderId} was charged, and nobody knows it` }));
}

/** I11. */
function announcementOf({ order_id: orderId, status, generation }: OrderRow, run: RunParts): Broken[] {
  if (status !== 'ready-to-ship' && status !== 'denied') return [];
  const events = [...run.monitor.eventsOf(orderId)];
  const expected = `order-${orderId}-${status}-${generation}`;
  // Those of earlier generations were judged when they came.
  if (events.includes(expected)) return [];
  const had = events.length === 0 ? 'nothing' : events.join(', ');
  return [{ invariant: 'I11', what: `order ${orderId} is ${status}, and downstream has had ${had}` }];
}

/** I9: each message that upstream published has led to a decision, or is in the parking lot. */
function placeOf({ messageId, order, amountMinor }: Published, run: RunParts): Broken[] {
  if (isParked(messageId, run)) return [];
  const stored = run.database.tables.orders.get(order.orderId);
  const isItsOwn = stored !== undefined && amountMinor === BigInt(stored.amount_minor);
  if (isItsOwn && (stored.notified_at_ms !== null || run.monitor.wasAnnounced(order.orderId))) return [];
  const is = stored === undefined ? 'unknown' : `${stored.status}${isItsOwn ? '' : ', with other content'}`;
  return [{ invariant: 'I9', what: `${messageId} is in no queue, and its order is ${is}` }];
}

function isParked(messageId: string, run: RunParts): boolean {
  if (run.database.parked.rows.length > 0) return run.database.parked.isParked(messageId);
  return run.broker.parked.some(({ properties }) => properties.messageId === messageId);
}

/** I12. */
function leftovers(run: RunParts): Broken[] {
  const broken: Broken[] = [];
  const { ready, unacked } = run.broker.depth;
  if (ready + unacked > 0)
    broken.push({ invariant: 'I12', what: `${ready} messages ready, ${unacked} unacked` });
  if (run.broker.connections.size > 0)
    broken.push({
      invariant: 'I12',
      what: `${run.broker.connections.size} connections to the broker left open`,
    });
  if (run.database.sessions.size > 0)
    broken.push({ invariant: 'I12', what: `${run.database.sessions.size} worker sessions left` });
  return broken;
}

/** I13: what a fault makes come again is bounded by the faults. */
function tooManyDeliveries(run: RunParts): Broken[] {
  const starts = run.workers.reduce((sum, worker) => sum + worker.starts, 0);
  const most = 12 + 2 * run.faults.struck.length + 2 * starts + 8 * run.operators.starts;
  return [...run.monitor.deliveries]
    .filter(([, deliveries]) => deliveries > most)
    .map(([messageId, deliveries]) => ({
      invariant: 'I13',
      what: `${messageId} (order ${orderIdOf(messageId)}) was delivered ${deliveries} times, with ${run.faults.struck.length} faults and ${starts} starts`,
    }));
}
