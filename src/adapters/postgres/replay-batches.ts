/**
 * Replay batches. Each change is one statement or one transaction, its entries in the audit trail included.
 *
 * Who works on a batch holds an advisory lock on its number, on a connection of its own: a command that is killed gives
 * it back at once, and whoever comes next goes on with exactly the members that are not marked.
 */
import type pg from 'pg';

import { operatorCommand, type OperatorCommand } from '../../domain/audit.ts';
import type { Log } from '../../ports/log.ts';
import type {
  BatchState,
  Hold,
  MemberState,
  NewBatch,
  OpenedBatch,
  ReplayBatch,
  ReplayBatches,
  Settlement,
} from '../../ports/replay-batches.ts';
import { audited } from './audit-trail.ts';
import { connectClient, Database, endClient, run } from './connection.ts';
import { asMs } from './rows.ts';

const WALL_MS = 60_000;
const CONNECT_WALL_MS = 5_000;
/** First half of the advisory locks' key, "rply" in ASCII; the other half is the batch's number, which begins at 1. */
const LOCK_CLASS = 0x72706c79;
const UNSEALED_QUEUE = 0;

/** Connects when first asked. */
export function openReplayBatches(options: {
  readonly databaseUrl: string;
  readonly log: Log;
}): ReplayBatches & { close(): Promise<void> } {
  const connection = { applicationName: 'cardauth replay', wallMs: WALL_MS, connectWallMs: CONNECT_WALL_MS };
  const database = new Database({ ...options, ...connection, connections: 2, settings: 'set jit = off' });
  const hold = (number: number) => takeHold({ ...connection, databaseUrl: options.databaseUrl }, number);
  return {
    open: (batch, parkIds, command) => open(database, batch, parkIds, command),
    show: (batchId) => show(database, batchId),
    hold: ({ number }) => hold(number),
    holdUnsealedQueue: () => hold(UNSEALED_QUEUE),
    async waiting(batchId, after, limit) {
      const rows = await database.query<{ number: number; park_id: string }>(WAITING, [
        batchId,
        after,
        limit,
      ]);
      return rows.map(({ number, park_id: parkId }) => ({ number, parkId }));
    },
    settle: (batchId, settlements) => settle(database, batchId, settlements),
    async countParkedAgain(batchId, count) {
      const rows = await database.query<{ parked_again: number }>(PARKED_AGAIN, [batchId, count]);
      return rows[0]?.parked_again ?? 0;
    },
    async finish(batchId) {
      await database.query(FINISH, [batchId]);
    },
    async stop(batchId, because) {
      await database.query(STOP, [batchId, because]);
    },
    async resume(batchId) {
      await database.query(RESUME, [batchId]);
    },
    cancel: (batchId, command) => cancel(database, batchId, command),
    async release(batchId) {
      return (await database.query(RELEASE, [batchId])).length;
    },
    close: () => database.close(),
  };
}

// --- opening -----------------------------------------------------------------------------------------------------

const TAKE = {
  name: 'open replay batch',
  text: `
    with taken as (
      update cardauth.parked_orders p set state = 'replaying', batch_id = $1
      from unnest($2::uuid[]) with ordinality as wanted (park_id, place)
      where p.park_id = wanted.park_id and p.state = 'parked'
      returning p.park_id, p.order_id, wanted.place
    ), batch as (
      insert into cardauth.replay_batches
        (batch_id, command_id, actor, reason, queue, messages_per_second, stop_after_failures, max_age_ms)
      select $1, $3, $4, $5, $6, $7, $8, $9 where exists (select from taken)
    )
    insert into cardauth.replay_members (batch_id, number, park_id, order_id)
    select $1, row_number() over (order by place), park_id, order_id from taken
    returning number`,
};

async function open(
  database: Database,
  batch: NewBatch,
  parkIds: readonly string[],
  command: OperatorCommand,
): Promise<OpenedBatch | undefined> {
  const { actor, commandId, reason } = operatorCommand(command);
  const before = await batchOfCommand(database, commandId);
  if (before !== undefined) return { batch: before, isRepeated: true };
  const { batchId, queue, messagesPerSecond, stopAfterFailures, maxAgeMs } = batch;
  const terms = [queue, messagesPerSecond, stopAfterFailures, maxAgeMs];
  const subject = `batch:${batchId}`;
  const opened = await audited(database, { ...command, subject }, async (query) => {
    const { length } = await query(TAKE, [batchId, parkIds, commandId, actor, reason, ...terms]);
    return {
      value: length,
      changed: length === 0 ? undefined : { after: { state: 'open', members: length, queue } },
    };
  });
  if (opened.kind === 'done' && opened.value === 0) return undefined;
  const shown = await show(database, batchId);
  return shown && { batch: shown, isRepeated: false };
}

async function batchOfCommand(database: Database, commandId: string): Promise<ReplayBatch | undefined> {
  const [row] = await database.query<{ batch_id: string }>(FIND_COMMAND, [commandId]);
  return row && show(database, row.batch_id);
}

const FIND_COMMAND = {
  name: 'replay batch of command',
  text: 'select batch_id from cardauth.replay_batches where command_id = $1',
};

// --- reading -----------------------------------------------------------------------------------------------------

const SHOW = {
  name: 'show replay batch',
  text: `
    select b.batch_id, b.number, ${asMs('b.created_at')}, b.actor, b.reason, b.queue, b.messages_per_second,
      b.stop_after_failures, b.max_age_ms::float8, b.state, b.stopped_because,
      (
        select coalesce(json_object_agg(m.state, m.members), '{}') from (
          select state, count(*)::int as members from cardauth.replay_members
          where batch_id = b.batch_id group by state
        ) m
      ) as counts
    from cardauth.replay_batches b where b.batch_id = $1`,
};

interface BatchRow {
  readonly batch_id: string;
  readonly number: number;
  readonly created_at_ms: number;
  readonly actor: string;
  readonly reason: string;
  readonly queue: string;
  readonly messages_per_second: number;
  readonly stop_after_failures: number;
  readonly max_age_ms: number;
  readonly state: BatchState;
  readonly stopped_because: string | null;
  readonly counts: Partial<Record<MemberState, number>>;
}

async function show(database: Database, batchId: string): Promise<ReplayBatch | undefined> {
  const [row] = await database.query<BatchRow>(SHOW, [batchId]);
  if (row === undefined) return undefined;
  return {
    batchId: row.batch_id,
    number: row.number,
    createdAtMs: Math.round(row.created_at_ms),
    actor: row.actor,
    reason: row.reason,
    queue: row.queue,
    messagesPerSecond: row.messages_per_second,
    stopAfterFailures: row.stop_after_failures,
    maxAgeMs: row.max_age_ms,
    state: row.state,
    stoppedBecause: row.stopped_because ?? undefined,
    counts: { waiting: 0, published: 0, closed: 0, left: 0, cancelled: 0, ...row.counts },
  };
}

const WAITING = {
  name: 'waiting replay members',
  text: `
    select number, park_id from cardauth.replay_members
    where batch_id = $1 and state = 'waiting' and number > $2
    order by number limit $3`,
};

/** A row that was recorded after the batch began, and is none of its members, of the same order. */
const PARKED_AGAIN = {
  name: 'replayed orders that were parked again',
  text: `
    select count(*)::int as parked_again
    from (
      select m.order_id, b.created_at
      from cardauth.replay_members m join cardauth.replay_batches b using (batch_id)
      where m.batch_id = $1 and m.state = 'published'
      order by m.settled_at desc limit $2
    ) replayed
    where exists (
      select from cardauth.parked_orders p
      where p.order_id = replayed.order_id and p.recorded_at > replayed.created_at
    )`,
};

// --- settling ----------------------------------------------------------------------------------------------------

const SETTLE = {
  name: 'settle replay members',
  text: `
    with settled as (
      update cardauth.replay_members m set state = s.state, detail = s.detail, settled_at = now()
      from unnest($2::uuid[], $3::text[], $4::text[]) as s (park_id, state, detail)
      where m.batch_id = $1 and m.park_id = s.park_id and m.state = 'waiting'
      returning m.park_id, m.state, m.detail
    ), rows as (
      update cardauth.parked_orders p set
        state = case when s.state = 'left' then 'parked' else 'replayed' end,
        closed_at = case when s.state = 'left' then null else now() end
      from settled s
      where p.park_id = s.park_id and p.state = 'replaying' and p.batch_id = $1
      returning p.park_id, p.order_id, p.state, s.state as settled_as, s.detail
    )
    insert into cardauth.audit_log (command_id, actor, action, reason, subject, before, after)
    select b.command_id, b.actor, 'parked replay', b.reason, 'parked:' || r.park_id,
      jsonb_build_object('state', 'parked', 'orderId', r.order_id),
      jsonb_build_object('state', r.state, 'orderId', r.order_id, 'batchId', $1::uuid, 'was', r.settled_as, 'as', r.detail)
    from rows r cross join cardauth.replay_batches b
    where b.batch_id = $1
    on conflict (command_id, subject) do nothing`,
};

const STATE = {
  name: 'state of replay batch',
  text: 'select state from cardauth.replay_batches where batch_id = $1',
};

async function settle(
  database: Database,
  batchId: string,
  settlements: readonly Settlement[],
): Promise<BatchState> {
  if (settlements.length > 0) {
    const columns = [
      settlements.map(({ parkId }) => parkId),
      settlements.map(({ as }) => as),
      settlements.map(({ detail }) => detail.slice(0, 500)),
    ];
    await database.query(SETTLE, [batchId, ...columns]);
  }
  return (await database.query<{ state: BatchState }>(STATE, [batchId]))[0]?.state ?? 'cancelled';
}

const FINISH = {
  name: 'finish replay batch',
  text: `
    update cardauth.replay_batches b set state = 'done', finished_at = now()
    where batch_id = $1 and state = 'open'
      and not exists (select from cardauth.replay_members m where m.batch_id = $1 and m.state = 'waiting')`,
};

const STOP = {
  name: 'stop replay batch',
  text: `
    update cardauth.replay_batches set state = 'stopped', stopped_because = $2
    where batch_id = $1 and state = 'open'`,
};

const RESUME = {
  name: 'resume replay batch',
  text: `
    update cardauth.replay_batches set state = 'open', stopped_because = null
    where batch_id = $1 and state = 'stopped'`,
};

// --- cancelling --------------------------------------------------------------------------------------------------

const CANCEL = {
  name: 'cancel replay batch',
  text: `
    update cardauth.replay_batches b set state = 'cancelled', stopped_because = null, finished_at = now()
    from (select state from cardauth.replay_batches where batch_id = $1 for update) old
    where b.batch_id = $1 and b.finished_at is null
    returning old.state as before`,
};

async function cancel(
  database: Database,
  batchId: string,
  command: OperatorCommand,
): Promise<'cancelled' | 'ended' | 'repeated'> {
  const done = await audited(database, { ...command, subject: `batch:${batchId}` }, async (query) => {
    const [row] = await query<{ before: BatchState }>(CANCEL, [batchId]);
    const changed = row && { before: { state: row.before }, after: { state: 'cancelled' } };
    return { value: row === undefined ? ('ended' as const) : ('cancelled' as const), changed };
  });
  return done.kind === 'done' ? done.value : 'repeated';
}

const RELEASE = {
  name: 'release replay members',
  text: `
    with released as (
      update cardauth.replay_members m set state = 'cancelled', settled_at = now()
      from cardauth.replay_batches b
      where m.batch_id = $1 and m.state = 'waiting' and b.batch_id = $1 and b.state = 'cancelled'
      returning m.park_id
    )
    update cardauth.parked_orders p set state = 'parked'
    from released r where p.park_id = r.park_id and p.state = 'replaying' and p.batch_id = $1
    returning p.park_id`,
};

// --- holds -------------------------------------------------------------------------------------------------------

async function takeHold(
  connection: Parameters<typeof connectClient>[0],
  number: number,
): Promise<Hold | undefined> {
  const client = await connectClient(connection);
  let isTaken = false;
  try {
    isTaken = await tryLock(client, number);
  } finally {
    if (!isTaken) await endClient(client);
  }
  return isTaken ? { release: () => endClient(client) } : undefined;
}

async function tryLock(client: pg.Client, number: number): Promise<boolean> {
  const text = 'select pg_try_advisory_lock($1::int, $2::int) as is_taken';
  const [row] = await run<{ is_taken: boolean }>(client, text, [LOCK_CLASS, number]);
  return row?.is_taken === true;
}
