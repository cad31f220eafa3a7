/** I9-I12 and I14: no message is lost, acked too early, left over or kept quiet about. */
import { demoOrders, type DemoOrder } from '../../../src/demo/orders.ts';
import { isBent, mayDecline } from '../../e2e/storm-faults.ts';
import type { Evidence } from '../evidence.ts';
import { examine, grouped, isTerminal, type Finding } from '../finding.ts';
import { PARKED_QUEUE, WORK_QUEUES } from '../stage.ts';
import type { WireEvent } from '../wire-watch.ts';

const ROUNDING_MS = 5;

export function messageFindings(evidence: Evidence): Finding[] {
  const { events, exits, journal, orders, parked, parkedRows, plan, queues, receipts, wire } = evidence;
  const published = demoOrders(plan.orders);
  const orderIds = new Map(published.map(({ messageId, orderId }) => [messageId, orderId]));
  const stored = new Map(orders.map((order) => [order.order_id, order]));
  const confirmed = journal.filter(({ outcome }) => outcome === 'confirmed');
  // A message that was parked twice, by workers that died before they could ack it, is recorded twice: the first counts.
  const recordedAt = new Map(
    parkedRows
      .map((row) => [row.message_id ?? '', Date.parse(row.recorded_at)] as const)
      .sort(([, one], [, other]) => other - one),
  );
  const parkedMessages = new Set([...parked.map(({ messageId }) => messageId), ...recordedAt.keys()]);
  const parkedOrders = new Set([
    ...parked.map(({ headers }) => headers['cardauth-park-order-id']),
    ...parkedRows.map(({ order_id }) => order_id),
    ...events.filter(({ fact }) => fact === 'parked').map(({ order_id }) => order_id),
  ]);
  const receiptsOf = grouped(receipts, ({ body }) => body.orderId);
  const terminal = orders.filter(({ status }) => isTerminal(status));
  const wireOf = grouped(wire, ({ messageId }) => messageId);
  const acks = wire.filter(({ what, messageId }) => what === 'acked' && messageId !== undefined);
  const lastExits = new Map(exits.map((exit) => [exit.worker, exit]));

  return [
    examine(
      'I9',
      'every confirmed order is decided or with a person',
      confirmed,
      ({ messageId, orderId }) => {
        const status = stored.get(orderId ?? '')?.status;
        const isKept = isTerminal(status) || status === 'review' || parkedMessages.has(messageId);
        if (isKept || (orderId !== undefined && parkedOrders.has(orderId))) return undefined;
        return `message ${messageId} (order ${orderId ?? 'without an id'}) is ${status ?? 'nowhere'}: lost`;
      },
    ),
    examine('I9', 'every order came out as its card and the faults it met allow', published, (order) =>
      unexpected(order, stored.get(order.orderId ?? '')?.status, evidence),
    ),
    examine(
      'I10',
      'acked only once notified and marked, or copied and confirmed',
      acks.filter(({ routingKey }) => routingKey !== PARKED_QUEUE),
      (ack) => {
        const orderId = orderIds.get(ack.messageId ?? '');
        const notifiedAt = stored.get(orderId ?? '')?.notified_at;
        const isMarked = notifiedAt != null && Date.parse(notifiedAt) <= ack.atMs + ROUNDING_MS;
        const isCopied = (wireOf.get(ack.messageId ?? '') ?? []).some((event) => isSafeBefore(event, ack));
        return isMarked || isCopied ? undefined : `message ${String(ack.messageId)} was acked too early`;
      },
    ),
    examine(
      'I10',
      'taken off the parking lot only once recorded',
      acks.filter(({ routingKey }) => routingKey === PARKED_QUEUE),
      ({ messageId = '', atMs }) =>
        (recordedAt.get(messageId) ?? Infinity) <= atMs + ROUNDING_MS
          ? undefined
          : `message ${messageId} left the parking lot unrecorded`,
    ),
    examine(
      'I10',
      'a delivery is settled once, on its own channel',
      wire.filter(({ what }) => what === 'acked' || what === 'given back' || what === 'settled twice'),
      ({ what, worker }) =>
        what === 'settled twice' ? `worker ${worker} settled an unknown tag` : undefined,
    ),
    examine('I11', 'every decided order was announced, always as the same event', terminal, (order) => {
      const { order_id, status, generation, notified_at } = order;
      const heard = receiptsOf.get(order_id) ?? [];
      const eventId = `order-${order_id}-${status}-${generation}`;
      if (heard.length === 0) return `order ${order_id} is ${status} and was never announced`;
      if (notified_at === null) return `order ${order_id} is announced and not marked`;
      const isRight = heard.every(
        (receipt) =>
          receipt.eventId === eventId &&
          receipt.body.status === status &&
          receipt.routingKey === `order.${status}` &&
          receipt.body.amountMinor === String(order.amount_minor) &&
          receipt.body.authorizationId === order.gateway_reference,
      );
      return isRight ? undefined : `order ${order_id} was announced as something else than ${eventId}`;
    }),
    examine('I11', 'nothing is announced that is not decided', receiptsOf, ([orderId]) =>
      isTerminal(stored.get(orderId)?.status) ? undefined : `order ${orderId} was announced undecided`,
    ),
    examine(
      'I12',
      'nothing is left on any queue',
      queues.filter(({ name }) => WORK_QUEUES.includes(name)),
      ({ name, messages }) => (messages === 0 ? undefined : `${messages} messages are left on ${name}`),
    ),
    examine(
      'I12',
      'in the end every worker ended with code 0',
      lastExits.values(),
      ({ worker, code, signal }) =>
        code === 0 ? undefined : `worker ${worker} ended with ${String(code ?? signal)}`,
    ),
    examine(
      'I14',
      'what the broker refused upstream was published again',
      grouped(journal, ({ messageId }) => messageId),
      ([messageId, tries]) =>
        tries.at(-1)?.outcome === 'confirmed' ? undefined : `message ${messageId} was given up`,
    ),
    examine(
      'I14',
      'what the broker refused a worker was published or delivered again',
      wire.filter(({ what }) => what === 'refused'),
      (refusal) =>
        (wireOf.get(refusal.messageId ?? '') ?? []).some(
          ({ what, atMs }) => atMs >= refusal.atMs && (what === 'published' || what === 'delivered'),
        )
          ? undefined
          : `message ${String(refusal.messageId)} was refused and forgotten`,
    ),
  ];
}

/** A copy for a level or the parking lot that the broker has taken over; both keep the message id. */
function isSafeBefore(event: WireEvent, ack: WireEvent): boolean {
  const isCopy = event.routingKey?.startsWith('cardauth.') === true;
  return event.what === 'confirmed' && isCopy && event.atMs <= ack.atMs;
}

function unexpected(
  { expected, kind, orderId }: DemoOrder,
  status: string | undefined,
  { approvals, requests }: Evidence,
): string | undefined {
  if (orderId === undefined) return undefined;
  if (expected === 'parked') {
    const isTouched = status !== undefined || approvals.some((entry) => entry.orderId === orderId);
    return isTouched ? `order ${orderId} is upstream's mistake and was worked on` : undefined;
  }
  if (status === expected) return undefined;
  const faults = requests.filter((request) => request.orderId === orderId).map(({ fault }) => fault);
  const isBentByFault = faults.some(isBent) && (status !== 'denied' || faults.some(mayDecline));
  return isBentByFault && status !== 'received'
    ? undefined
    : `order ${orderId} (${kind}) is ${status ?? 'nowhere'} instead of ${expected}, after ${faults.join(', ')}`;
}
