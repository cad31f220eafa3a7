/** The status as people read it: the oldest unprocessed order first. */
import type { QueueView, StatusView, WorkerView } from '../ops/status-view.ts';

export function statusScreen(status: StatusView): string {
  const { alerts, missing, queues, workers } = status;
  const sections = [
    [
      row('at', status.at),
      ...missing.map((what) => row('MISSING', what)),
      ...alerts.map((what) => row('ALERT', what)),
    ],
    figures(status),
    books(status),
    (queues ?? []).map(queueRow),
    (workers ?? []).flatMap(workerRows),
  ];
  return sections
    .filter((rows) => rows.length > 0)
    .map((rows) => rows.join(''))
    .join('\n');
}

/** For a pipe: one line. */
export function statusLine(status: StatusView): string {
  const { books: sides, inFlight, missing, oldest, ordersPerSecond, parked, review, unknown } = status;
  const ready = status.queues?.find(({ role }) => role === 'orders')?.ready;
  const parts = [
    `oldest ${oldest === null ? '-' : `${oldest.orderId} ${age(oldest.ageMs)}`}`,
    `ready ${number(ready)}`,
    `in flight ${number(inFlight)}`,
    `${number(ordersPerSecond)}/s`,
    `parked ${number(parked)}`,
    `unknown ${number(unknown)}`,
    `review ${number(review)}`,
    sides === null
      ? 'books ?'
      : sides.balanced
        ? 'books balance'
        : `BOOKS DO NOT BALANCE: ${sides.because ?? ''}`,
    ...(status.intake?.paused === true ? ['PAUSED'] : []),
    ...missing.map((what) => `MISSING ${what}`),
  ];
  return `${status.at}  ${parts.join('  ')}\n`;
}

function figures(status: StatusView): string[] {
  const { authorizationRate: rate, oldest } = status;
  const oldestText = oldest === null ? '-' : `${oldest.orderId}, ${oldest.status}, ${age(oldest.ageMs)}`;
  return [
    row('oldest order', oldestText),
    row('in flight', number(status.inFlight)),
    row('orders/s', number(status.ordersPerSecond)),
    row('authorized', `${percent(rate?.firstAttempt)} at once, ${percent(rate?.eventual)} in the end`),
    row('unannounced', number(status.unannounced)),
    row('unknown', number(status.unknown)),
    row('review', number(status.review)),
    row('parked', number(status.parked)),
    row('overdue retries', number(status.overdueRetries)),
    row('intake', status.intake === null ? '?' : status.intake.paused ? 'PAUSED' : 'open'),
  ];
}

function books({ books: sides }: StatusView): string[] {
  if (sides === null) return [];
  const { approved, denied, inFlight, notified, parked, ready, received, since, toBeNotified, unknown } =
    sides;
  return [
    row('books since', `${since}: ${sides.balanced ? 'balanced' : `NOT BALANCED: ${sides.because ?? ''}`}`),
    row(
      '  received',
      `${received} = ${ready} ready + ${denied} denied + ${parked} parked + ${unknown} unknown + ${inFlight} in flight`,
    ),
    row('  approved', `${approved} = ${notified} notified + ${toBeNotified} to be notified`),
  ];
}

function queueRow({ consumers, problem, queue, ready, role }: QueueView): string {
  const depth = problem ?? `${number(ready)} ready, ${number(consumers)} consumer(s)`;
  return row(`queue ${role}`, `${depth} (${queue})`);
}

function workerRows({ host, isAlive, pid, report, seenAt, version, worker }: WorkerView): string[] {
  const name = `worker ${worker}`;
  if (!isAlive) return [row(name, `DIED, last seen ${seenAt} (${host}, process ${pid})`)];
  const { gateways, holds, inFlight, oldest, ordersPerSecond, state } = report;
  const held = holds.length === 0 ? '' : `, intake held by ${holds.join(', ')}`;
  const valves = gateways.map(({ name: gateway, valve }) => `${gateway} ${valve}`).join(', ');
  const first = `${state}${held}, ${inFlight} in flight, ${ordersPerSecond}/s, ${valves} (${host}, ${pid}, ${version})`;
  if (oldest === null) return [row(name, first)];
  const where = `${oldest.component} (${oldest.phase})`;
  return [
    row(name, first),
    row(
      '  oldest',
      `${oldest.orderId} for ${age(oldest.ageMs)} in ${where}, ${age(oldest.remainingMs)} left`,
    ),
  ];
}

function row(name: string, text: string): string {
  return `${name.padEnd(18)}${text}\n`;
}

function number(value: number | null | undefined): string {
  return value === null || value === undefined ? '?' : String(value);
}

function percent(share: number | null | undefined): string {
  return share === null || share === undefined ? '-' : `${(share * 100).toFixed(1)} %`;
}

function age(ms: number): string {
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 600_000) return `${Math.round(ms / 1_000)} s`;
  if (ms < 36_000_000) return `${Math.round(ms / 60_000)} min`;
  return `${Math.round(ms / 3_600_000)} h`;
}
