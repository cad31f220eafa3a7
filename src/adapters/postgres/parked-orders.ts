/**
 * Parked orders in PostgreSQL: recording them, one statement and one commit a message, and reading them.
 *
 * What the operators' commands may rely on (0004-parked-orders.sql has the columns):
 *
 * - State: parked -> replaying -> replayed, or discarded; `replaying` needs a `batch_id`, and only a closed row
 *   (`replayed`, `discarded`) has `closed_at`. A closed row stays closed: an order that is parked again is another row.
 *   Taking a row is `update ... set state = 'replaying', batch_id = $1 where state = 'parked'`.
 * - `replay_from = 'row'`: `body` is a compact JWE; the card key opens it to the message's body, byte for byte.
 * - `replay_from = 'unsealed-queue'`: the message is on `<prefix>.parked.unsealed`, its header `cardauth-park-id` is the
 *   row's `park_id`. It may be there twice, after a crash, or not yet, for a moment: take all of an id, publish one.
 *   Whoever walks that queue gives the others back by closing the channel. Messages that are put back into
 *   `<prefix>.parked` once there is a card key are recorded again: sealed, in their own rows.
 * - `replay_from` null: nothing to replay; `not_replayable_because` says why.
 * - Pages by `(parked_at, parked_id)`, groups by `(state, cause)`. A row may be committed after one with a later number:
 *   whoever watches for new rows remembers ids, not the last number.
 */
import type { Log } from '../../ports/log.ts';
import type {
  ParkedOrderRecord,
  ParkedOrderRecords,
  ParkedOrders,
  ParkedOrderSummary,
} from '../../ports/parked-orders.ts';
import { Database, POINT_ACCESS_SETTINGS } from './connection.ts';
import { storable, storableJson } from './storable-text.ts';
import { asMs } from './rows.ts';

const RECORDING_WALL_MS = 5_000;
const READING_WALL_MS = 60_000;
const CONNECT_WALL_MS = 5_000;
const PAGE_LENGTH = 1_000;

export interface Closable {
  close(): Promise<void>;
}

/** Connects when first asked. */
export function openParkedOrderRecords(options: {
  readonly databaseUrl: string;
  readonly log: Log;
}): ParkedOrderRecords & Closable {
  const database = new Database({
    ...options,
    applicationName: 'cardauth parked orders',
    wallMs: RECORDING_WALL_MS,
    connections: 2,
    settings: POINT_ACCESS_SETTINGS,
  });
  return {
    async record(record) {
      const rows = await database.query<{ is_new: boolean }>(RECORD, valuesOf(record));
      return rows[0]?.is_new ?? false;
    },
    close: () => database.close(),
  };
}

/** Connects when first asked. What it returns rejects with a RetriableError when the database cannot be used. */
export function openParkedOrders(options: {
  readonly databaseUrl: string;
  readonly log: Log;
}): ParkedOrders & Closable {
  const database = new Database({
    ...options,
    applicationName: 'cardauth parked orders',
    wallMs: READING_WALL_MS,
    connectWallMs: CONNECT_WALL_MS,
    connections: 1,
    settings: 'set default_transaction_read_only = on',
  });
  return {
    list: () => list(database),
    close: () => database.close(),
  };
}

// --- recording ---------------------------------------------------------------------------------------------------

const COLUMNS = [
  ...['park_id', 'order_id', 'customer_id', 'reason', 'class', 'error', 'cause', 'attempts', 'message_id'],
  ...[
    'origin_queue',
    'origin_exchange',
    'origin_routing_key',
    'worker_version',
    'content_type',
    'properties',
  ],
  ...['card_last4', 'body', 'body_form', 'body_bytes', 'replay_from', 'not_replayable_because'],
] as const;

const PLACES = COLUMNS.map((_, index) => `$${index + 1}`).join(', ');
const [FIRST_SEEN, PARKED_AT] = [`$${COLUMNS.length + 1}`, `$${COLUMNS.length + 2}`];

const RECORD = {
  name: 'record parked order',
  text: `
    insert into cardauth.parked_orders as p (${COLUMNS.join(', ')}, first_seen_at, parked_at)
    values (${PLACES}, to_timestamp(${FIRST_SEEN}::float8 / 1000), to_timestamp(${PARKED_AT}::float8 / 1000))
    on conflict (park_id) do update set
      body = excluded.body, body_form = excluded.body_form, replay_from = excluded.replay_from,
      card_last4 = coalesce(excluded.card_last4, p.card_last4)
    where p.replay_from = 'unsealed-queue' and excluded.replay_from = 'row' and p.closed_at is null
    returning xmax = 0 as is_new`,
};

function valuesOf(record: ParkedOrderRecord): unknown[] {
  const { body, origin } = record;
  const values: Readonly<Record<(typeof COLUMNS)[number], unknown>> = {
    park_id: record.parkId,
    order_id: storable(record.orderId),
    customer_id: storable(record.customerId),
    reason: record.reason,
    class: record.class,
    error: storable(record.error),
    cause: storable(record.cause),
    attempts: record.attempts,
    message_id: storable(record.messageId),
    origin_queue: storable(origin.queue),
    origin_exchange: storable(origin.exchange),
    origin_routing_key: storable(origin.routingKey),
    worker_version: storable(record.workerVersion),
    content_type: storable(record.contentType),
    properties: storableJson(record.properties),
    card_last4: record.cardLast4 ?? null,
    body: Buffer.from(body.bytes),
    body_form: body.form,
    body_bytes: body.length,
    replay_from: 'from' in body.replay ? body.replay.from : null,
    not_replayable_because: 'from' in body.replay ? null : storable(body.replay.notBecause),
  };
  return [...COLUMNS.map((column) => values[column]), record.firstSeenMs, record.parkedAtMs];
}

// --- reading -----------------------------------------------------------------------------------------------------

type SummaryRow = {
  readonly parked_id: string;
  readonly park_id: string;
  readonly order_id: string | null;
  readonly message_id: string | null;
  readonly reason: string;
  readonly class: ParkedOrderSummary['class'];
  readonly cause: string;
  readonly state: ParkedOrderSummary['state'];
  readonly parked_at_ms: number;
};

const PAGE = {
  name: 'page of parked orders',
  text: `
    select parked_id, park_id, order_id, message_id, reason, class, cause, state, ${asMs('parked_at')}
    from cardauth.parked_orders
    where parked_id > $1::bigint
    order by parked_id
    limit ${PAGE_LENGTH}`,
};

async function* list(database: Database): AsyncGenerator<ParkedOrderSummary> {
  for (let after = '0'; ;) {
    const rows = await database.query<SummaryRow>(PAGE, [after]);
    for (const row of rows) yield summaryOf(row);
    if (rows.length < PAGE_LENGTH) return;
    after = rows.at(-1)?.parked_id ?? after;
  }
}

function summaryOf(row: SummaryRow): ParkedOrderSummary {
  return {
    parkId: row.park_id,
    orderId: row.order_id ?? undefined,
    messageId: row.message_id ?? undefined,
    reason: row.reason,
    class: row.class,
    cause: row.cause,
    state: row.state,
    parkedAtMs: Math.round(row.parked_at_ms),
  };
}
