/**
 * Why the broker dead-lettered a message, from its header `x-death`: a list, the latest death first, each with `queue`,
 * `reason`, `count`, `time`, `exchange` and `routing-keys`.
 *
 * Versions differ in what they count and, from 3.13 on, in the order of the list after several deaths; those say the
 * latest one in `x-last-death-queue` and `-reason` too. The count is therefore never used, and nothing here relies on
 * any member to be there or to be what it should be.
 */
export interface Death {
  /** `delivery_limit`, `rejected`, `expired`, `maxlen`; `dead_lettered` where it cannot be read. */
  readonly reason: string;
  readonly queue: string;
  readonly exchange: string;
  readonly routingKey: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number | undefined;
}

type Table = Readonly<Record<string, unknown>>;

/** undefined when the broker did not dead-letter it. */
export function deathOf(headers: Table): Death | undefined {
  const deaths = headers['x-death'];
  const entries = Array.isArray(deaths) ? deaths.filter(isTable) : [];
  if (deaths === undefined && headers['x-last-death-reason'] === undefined) return undefined;
  const [queue, reason] = [headers['x-last-death-queue'], headers['x-last-death-reason']];
  const latest = entries.find((entry) => entry['queue'] === queue && entry['reason'] === reason);
  const entry = latest ?? entries[0] ?? {};
  const [routingKey] = Array.isArray(entry['routing-keys']) ? (entry['routing-keys'] as unknown[]) : [];
  return {
    reason: reasonOf(entry['reason'] ?? reason),
    queue: textOf(entry['queue'] ?? queue),
    exchange: textOf(entry['exchange']),
    routingKey: textOf(routingKey),
    atMs: timeOf(entry['time']),
  };
}

/** What the reason means, for people. */
export function meaningOf({ reason }: Death): string {
  return MEANINGS[reason] ?? 'the broker dead-lettered it';
}

const MEANINGS: Readonly<Record<string, string>> = {
  delivery_limit:
    'it was delivered, and never settled, more often than its queue allows: look for workers that crash, and compare the delivery limit with the prefetch',
  rejected: 'a consumer rejected it; workers never do',
  expired: 'its time to live was over before a worker took it',
  maxlen: 'its queue was full',
};

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function reasonOf(value: unknown): string {
  return typeof value === 'string' && /^[a-z_]{1,64}$/.test(value) ? value : 'dead_lettered';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** As amqplib reads a timestamp: whole seconds. */
function timeOf(value: unknown): number | undefined {
  const seconds = isTable(value) ? value['value'] : value;
  return typeof seconds === 'number' && seconds > 0 && seconds < 1e11 ? seconds * 1_000 : undefined;
}
