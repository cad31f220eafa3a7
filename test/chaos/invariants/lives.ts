/** I5, I6, I13, I16: what orders went through, by their history, the gateway's requests and the wire. */
import { isChargePath } from '../../../src/simulator/fault-script.ts';
import type { LoggedRequest } from '../../../src/simulator/request-log.ts';
import type { Evidence, EventRow, LogLine } from '../evidence.ts';
import { examine, grouped, isTerminal, type Finding } from '../finding.ts';
import type { BlowEntry } from '../nemesis.ts';

/** Written from the payments design, not from the code: which status may follow which. */
const MAY_FOLLOW: Readonly<Record<string, readonly string[]>> = {
  none: ['authorizing', 'denied'],
  received: ['received', 'authorizing', 'ready-to-ship', 'denied', 'authorization-unknown', 'review'],
  authorizing: ['received', 'authorizing', 'ready-to-ship', 'denied', 'authorization-unknown', 'review'],
  'authorization-unknown': ['authorization-unknown', 'ready-to-ship', 'denied', 'review'],
  review: ['review', 'ready-to-ship', 'denied'],
  'ready-to-ship': ['ready-to-ship'],
  denied: ['denied'],
};

/** Milliseconds that two clocks readings of one machine may differ by rounding. */
const ROUNDING_MS = 5;
const MOST_DELIVERIES = 80;
const MOST_DELIVERIES_A_SECOND = 12;
const MESSAGE_TIMEOUT_MS = 6_000;
/** A tick, and a machine that has other things to do; besides, a frozen worker looks at its clock when it goes on. */
const TIMEOUT_SLACK_MS = 1_000 + 4_000;

export function lifeFindings(evidence: Evidence): Finding[] {
  const { blows, events, logs, orders, requests, wire } = evidence;
  const changes = grouped(
    events.filter(({ version }) => version !== null),
    ({ order_id }) => order_id,
  );
  const claims = grouped(
    events.filter(({ fact }) => fact === 'claim'),
    ({ order_id }) => order_id,
  );
  const charges = requests.filter(({ method, path }) => method === 'POST' && isChargePath(path));
  const chargesByOrder = grouped(charges, ({ orderId }) => orderId);
  const deliveries = grouped(
    wire.filter(({ what, messageId }) => what === 'delivered' && messageId !== undefined),
    ({ messageId }) => messageId,
  );
  const timeouts = logs.filter(({ msg, reason }) => msg === 'tuple tree failed' && reason === 'timeout');

  return [
    examine('I5', 'statuses move along the table, without a gap', orders, (order) =>
      brokenChain(changes.get(order.order_id) ?? [], order),
    ),
    examine('I6', 'no charge without a committed claim of its own', chargesByOrder, ([orderId, sent]) =>
      unclaimed(orderId, sent, claims.get(orderId) ?? []),
    ),
    examine(
      'I6',
      'no claim on what was decided',
      events.filter(({ fact }) => fact === 'claim'),
      (event) =>
        isTerminal(event.status_before)
          ? `order ${event.order_id} was claimed when ${event.status_before}`
          : undefined,
    ),
    examine('I13', 'no message is delivered in a hot loop', deliveries, ([messageId, all]) => {
      const most = mostInASecond(all.map(({ atMs }) => atMs));
      return all.length > MOST_DELIVERIES || most > MOST_DELIVERIES_A_SECOND
        ? `message ${messageId} was delivered ${all.length} times, ${most} times within a second`
        : undefined;
    }),
    examine('I16', 'trees time out neither early nor late', timeouts, (line) => {
      const { ageMs = -1 } = line;
      const latestMs = MESSAGE_TIMEOUT_MS + TIMEOUT_SLACK_MS + frozenMs(line, blows);
      return ageMs >= MESSAGE_TIMEOUT_MS && ageMs <= latestMs
        ? undefined
        : `a tree timed out after ${ageMs} ms`;
    }),
  ];
}

/** How long the worker was frozen while the tree of this line was pending. */
function frozenMs({ ageMs = 0, time = 0, worker }: LogLine, blows: readonly BlowEntry[]): number {
  const freezes = blows.filter((blow) => blow.forMs !== undefined && blow.worker === worker);
  const overlaps = freezes.filter(({ atMs, tookMs }) => atMs <= time && atMs + tookMs >= time - ageMs);
  return overlaps.reduce((sum, { tookMs }) => sum + tookMs, 0);
}

function brokenChain(
  changes: readonly EventRow[],
  order: { readonly order_id: string; readonly status: string; readonly version: number },
): string | undefined {
  const ordered = changes.toSorted(
    (one, other) => Number(one.version) - Number(other.version) || one.event_id - other.event_id,
  );
  let status: string | null = null;
  let version = 0;
  for (const change of ordered) {
    const where = `order ${order.order_id}, version ${String(change.version)}`;
    const after = change.status_after ?? '';
    // Facts that change nothing are noted beside the version that they found.
    const changesNothing = change.version === version && after === status;
    if (!changesNothing && change.version !== version + 1) return `${where}: follows version ${version}`;
    if (change.status_before !== status)
      return `${where}: begins as ${String(change.status_before)}, not ${String(status)}`;
    if (MAY_FOLLOW[status ?? 'none']?.includes(after) !== true)
      return `${where}: ${String(status)} -> ${after}`;
    status = after;
    version = change.version;
  }
  if (status !== order.status || version !== order.version)
    return `order ${order.order_id} is ${order.status}, its history ends as ${String(status)}`;
  return undefined;
}

/** The nth request needs an nth claim before it; a resend under the same claim is allowed after an error of the gateway. */
function unclaimed(
  orderId: string,
  sent: readonly LoggedRequest[],
  claims: readonly EventRow[],
): string | undefined {
  const ordered = sent.toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at));
  let resends = 0;
  for (const [index, { at, status }] of ordered.entries()) {
    const before = claims.filter(
      ({ happened_at }) => Date.parse(happened_at) <= Date.parse(at) + ROUNDING_MS,
    );
    if (index + 1 > before.length + resends)
      return `order ${orderId}: request ${index + 1} at ${at} after ${before.length} claims and ${resends} errors`;
    if (status === null || status >= 500) resends += 1;
  }
  return undefined;
}

function mostInASecond(timesMs: readonly number[]): number {
  const sorted = timesMs.toSorted((one, other) => one - other);
  let first = 0;
  let most = 0;
  for (const [index, time] of sorted.entries()) {
    while (time - (sorted[first] ?? time) >= 1_000) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}
