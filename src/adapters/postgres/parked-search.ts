/** Pages of parked orders for people, each with its order; one statement a page. */
import { createHash } from 'node:crypto';
import type { Log } from '../../ports/log.ts';
import type { ReplayProperties } from '../../ports/parked-orders.ts';
import type {
  FoundParked,
  ParkedFilter,
  ParkedPage,
  ParkedSearch,
  RecordedMessage,
} from '../../ports/parked-search.ts';
import { Database, type Statement } from './connection.ts';
import { asMs, ATTEMPT_COLUMNS, ORDER_COLUMNS, storedAttempt, storedOrder, wholeMs } from './rows.ts';
import type { AttemptRow, OrderRow } from './rows.ts';
import { livingWorkers } from './worker-session.ts';

/** The longest that an operator waits for a page that no index helps with. */
const WALL_MS = 60_000;
const CONNECT_WALL_MS = 5_000;

export interface PostgresParkedSearch extends ParkedSearch {
  close(): Promise<void>;
}

/** Connects when first asked. */
export function openParkedSearch(options: {
  readonly databaseUrl: string;
  readonly log: Log;
}): PostgresParkedSearch {
  const database = new Database({
    ...options,
    applicationName: 'cardauth parked',
    wallMs: WALL_MS,
    connectWallMs: CONNECT_WALL_MS,
    connections: 1,
    settings: 'set default_transaction_read_only = on; set jit = off',
  });
  return {
    find: (filter) => find(database, filter),
    async messages(parkIds) {
      const rows = await database.query<MessageRow>(MESSAGES, [parkIds]);
      return rows.map(recordedMessage);
    },
    close: () => database.close(),
  };
}

async function find(database: Database, filter: ParkedFilter): Promise<ParkedPage> {
  const { statement, values } = searchStatement(filter);
  const rows = await database.query<FoundRow>(statement, values);
  const [first] = rows;
  // Nothing found carries no time: any will do, there is nothing that it could be compared with.
  if (first === undefined) return { rows: [], end: undefined, readAtMs: 0, livingWorkers: new Set() };
  const found = rows.slice(0, filter.limit).map(foundParked);
  const last = rows.length > filter.limit ? rows[filter.limit - 1] : undefined;
  const owners = found.flatMap(({ order }) =>
    order?.attempt?.leaseUntilMs === undefined ? [] : [order.attempt.owner],
  );
  return {
    rows: found,
    end: last && { parkedAtUs: last.parked_at_us, parkedId: last.parked_id },
    readAtMs: first.read_at_ms,
    livingWorkers: await livingWorkers(database, new Set(owners)),
  };
}

// --- the statement -----------------------------------------------------------------------------------------------

const CONTENT_COLUMNS = `p.content_type, p.properties,
      case when p.body_form = 'redacted' then p.body end as redacted_body`;
const NO_CONTENT = 'null as content_type, null::jsonb as properties, null::bytea as redacted_body';

/** One more than the page's length is read: it tells whether there is another page. */
function searchStatement(filter: ParkedFilter): {
  readonly statement: Statement;
  readonly values: readonly unknown[];
} {
  const values: unknown[] = [];
  const value = (one: unknown): string => `$${values.push(one)}`;
  const conditions = conditionsOf(filter, value);
  const text = `
    select p.parked_id::text, p.park_id, p.order_id as parked_order_id, p.customer_id as parked_customer_id,
      p.card_last4 as parked_last4, p.message_id, p.reason, p.class, p.cause, p.error, p.attempts as replays,
      p.state as parked_state, p.origin_queue, p.worker_version, p.replay_from, p.not_replayable_because, p.batch_id,
      p.body_bytes, ${asMs('p.first_seen_at')}, ${asMs('p.parked_at')}, ${asMs('p.closed_at')},
      (extract(epoch from p.parked_at) * 1000000)::bigint::text as parked_at_us,
      (extract(epoch from now()) * 1000)::float8 as read_at_ms,
      ${filter.withContent === true ? CONTENT_COLUMNS : NO_CONTENT},
      o.order_id, ${ORDER_COLUMNS},
      case when coalesce(o.generation, 1) = 1 then '[]' else (
        select coalesce(json_agg(row), '[]') from (
          select a.generation, ${ATTEMPT_COLUMNS} from cardauth.attempts a
          where a.order_id = o.order_id and a.generation < o.generation order by a.generation
        ) row
      ) end as earlier_rows
    from (
      select * from cardauth.parked_orders p
      ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`}
      order by p.parked_at, p.parked_id limit ${value(filter.limit + 1)}::int
    ) p
    left join cardauth.orders o on o.order_id = p.order_id
    left join cardauth.attempts a on a.order_id = o.order_id and a.generation = o.generation
    order by p.parked_at, p.parked_id`;
  return { statement: { name: `search parked ${digestOf(text)}`, text }, values };
}

/** A name for each of the texts that the conditions make. */
function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

function conditionsOf(filter: ParkedFilter, value: (one: unknown) => string): string[] {
  const conditions: string[] = [];
  const equal: readonly (readonly [column: string, wanted: string | undefined])[] = [
    ['reason', filter.reason],
    ['class', filter.class],
    ['cause', filter.cause],
    ['order_id', filter.orderId],
    ['origin_queue', filter.queue],
  ];
  for (const [column, wanted] of equal) {
    if (wanted !== undefined) conditions.push(`p.${column} = ${value(wanted)}`);
  }
  if (filter.states.length > 0) conditions.push(`p.state = any (${value(filter.states)}::text[])`);
  if (filter.parkIds !== undefined) conditions.push(`p.park_id = any (${value(filter.parkIds)}::uuid[])`);
  if (filter.batchId !== undefined) conditions.push(`p.batch_id = ${value(filter.batchId)}::uuid`);
  if (filter.parkedBeforeMs !== undefined)
    conditions.push(`p.parked_at < ${time(value(filter.parkedBeforeMs), 'millisecond')}`);
  if (filter.parkedSinceMs !== undefined)
    conditions.push(`p.parked_at >= ${time(value(filter.parkedSinceMs), 'millisecond')}`);
  if (filter.after !== undefined) {
    const { parkedAtUs, parkedId } = filter.after;
    const place = `(${time(value(parkedAtUs), 'microsecond')}, ${value(parkedId)}::bigint)`;
    conditions.push(`(p.parked_at, p.parked_id) > ${place}`);
  }
  return conditions;
}

function time(place: string, unit: 'millisecond' | 'microsecond'): string {
  const type = unit === 'microsecond' ? 'bigint' : 'float8';
  return `timestamptz 'epoch' + ${place}::${type} * interval '1 ${unit}'`;
}

// --- rows --------------------------------------------------------------------------------------------------------

type FoundRow = (OrderRow | { readonly version: null }) & {
  readonly parked_id: string;
  readonly park_id: string;
  readonly parked_order_id: string | null;
  readonly parked_customer_id: string | null;
  readonly parked_last4: string | null;
  readonly message_id: string | null;
  readonly reason: string;
  readonly class: FoundParked['class'];
  readonly cause: string;
  readonly error: string;
  readonly replays: number;
  readonly parked_state: FoundParked['state'];
  readonly origin_queue: string;
  readonly worker_version: string | null;
  readonly replay_from: FoundParked['replayFrom'] | null;
  readonly not_replayable_because: string | null;
  readonly batch_id: string | null;
  readonly body_bytes: number;
  readonly first_seen_at_ms: number;
  readonly parked_at_ms: number;
  readonly closed_at_ms: number | null;
  readonly parked_at_us: string;
  readonly read_at_ms: number;
  readonly content_type: string | null;
  readonly properties: ReplayProperties | null;
  readonly redacted_body: Buffer | null;
  readonly earlier_rows: readonly (AttemptRow & { readonly generation: number })[];
};

function foundParked(row: FoundRow): FoundParked {
  return {
    parkId: row.park_id,
    orderId: row.parked_order_id ?? undefined,
    customerId: row.parked_customer_id ?? undefined,
    cardLast4: row.parked_last4 ?? undefined,
    messageId: row.message_id ?? undefined,
    reason: row.reason,
    class: row.class,
    cause: row.cause,
    error: row.error,
    attempts: row.replays,
    state: row.parked_state,
    firstSeenMs: Math.round(row.first_seen_at_ms),
    parkedAtMs: Math.round(row.parked_at_ms),
    closedAtMs: wholeMs(row.closed_at_ms),
    originQueue: row.origin_queue,
    workerVersion: row.worker_version ?? undefined,
    replayFrom: row.replay_from ?? undefined,
    notReplayableBecause: row.not_replayable_because ?? undefined,
    batchId: row.batch_id ?? undefined,
    bodyBytes: row.body_bytes,
    content: contentOf(row),
    order: row.version === null ? undefined : storedOrder(row),
    earlierAttempts: row.earlier_rows.map((one) => ({ ...storedAttempt(one), generation: one.generation })),
  };
}

function contentOf({ content_type, properties, redacted_body }: FoundRow): FoundParked['content'] {
  if (properties === null) return undefined;
  return {
    contentType: content_type ?? undefined,
    properties: { ...properties, headers: headersOf(properties) },
    redactedBody: redacted_body?.toString('utf8'),
  };
}

/** Rows of the first version have `{}`. */
function headersOf(properties: Partial<ReplayProperties>): ReplayProperties['headers'] {
  return properties.headers ?? {};
}

const MESSAGES = {
  name: 'messages of parked orders',
  text: `
    select park_id, message_id, content_type, properties, convert_from(body, 'UTF8') as sealed_body
    from cardauth.parked_orders where park_id = any ($1::uuid[]) and replay_from = 'row'`,
};

interface MessageRow {
  readonly park_id: string;
  readonly message_id: string | null;
  readonly content_type: string | null;
  readonly properties: ReplayProperties;
  readonly sealed_body: string;
}

function recordedMessage(row: MessageRow): RecordedMessage {
  return {
    parkId: row.park_id,
    messageId: row.message_id ?? undefined,
    contentType: row.content_type ?? undefined,
    properties: { ...row.properties, headers: headersOf(row.properties) },
    sealedBody: row.sealed_body,
  };
}
