/**
 * The retry ledger in PostgreSQL: which copies wait on a delay queue. Written behind, in batches, and never in the way
 * of a retry: the database may be the very thing that is away.
 *
 * - A copy may come back before the note that it was sent is written, also to another worker. Both notes are written in
 *   either order: whoever comes first makes the row, the other one completes it.
 * - The buffer has a limit; what does not fit, is dropped and counted. A dropped note of a return leaves a row that
 *   looks overdue: it is closed when the order's next copy is sent, or by the order itself, once it is announced or
 *   parked.
 * - Rows are deleted an hour after they came back, or a week after they were due if nobody knows their order.
 */
import type { Log } from '../../ports/log.ts';
import type { OverdueCopy, OverdueRetries, RetryLedger, SentCopy } from '../../ports/retry-ledger.ts';
import type { Clock, Timer } from '../../topology/clock.ts';
import { Database, POINT_ACCESS_SETTINGS, type Queryable } from './connection.ts';
import { asMs } from './rows.ts';
import { storable } from './storable-text.ts';

export interface RetryLedgerOptions {
  readonly databaseUrl: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Notes kept while they cannot be written; 10,000 unless given. */
  readonly mostWaiting?: number;
  /** How long notes gather; 1000 unless given. */
  readonly gatherMs?: number;
}

const WALL_MS = 5_000;
const MOST_WAITING = 10_000;
const GATHER_MS = 1_000;
/** After a failure: there is no hurry, and others need the database more. */
const RETRY_MS = 10_000;
const MOST_PER_STATEMENT = 500;
const LOOK_EVERY_MS = 60_000;
const OLDEST_NAMED = 3;

type Note = { readonly sent: SentCopy; readonly sentAtMs: number } | 'returned';

export class PostgresRetryLedger implements RetryLedger, OverdueRetries {
  readonly #options: RetryLedgerOptions;
  readonly #database: Database;
  /** By copy id, the oldest first. */
  readonly #waiting = new Map<string, Note>();
  #dropped = 0;
  #timer: Timer | undefined;
  #lookTimer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();
  #looking: Promise<void> = Promise.resolve();
  #isWriting = false;
  #isClosed = false;
  #closed: Promise<void> | undefined;

  /** Connects when there is something to write. */
  constructor(options: RetryLedgerOptions) {
    this.#options = options;
    this.#database = new Database({
      databaseUrl: options.databaseUrl,
      applicationName: 'cardauth retry ledger',
      wallMs: WALL_MS,
      connections: 1,
      settings: POINT_ACCESS_SETTINGS,
      log: options.log,
    });
  }

  /** Notes dropped since the start: the buffer was full. */
  get dropped(): number {
    return this.#dropped;
  }

  /** From now on overdue copies are looked for, and said in the log at most once a minute. */
  start(): void {
    this.#lookLater();
  }

  sent(sent: SentCopy): void {
    this.#note(sent.copyId, { sent, sentAtMs: this.#options.clock.wallMs() });
  }

  returned(copyId: string): void {
    // Nobody needs to know of a copy that is back before anybody was told.
    const note = this.#waiting.get(copyId);
    if (note !== undefined && note !== 'returned') this.#waiting.delete(copyId);
    else this.#note(copyId, 'returned');
  }

  overdue(limit: number): ReturnType<OverdueRetries['overdue']> {
    return overdueRetries(this.#database, limit);
  }

  /** Writes what can be written at once, and disconnects. A second call waits for the first one. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#lookTimer?.cancel();
    await this.#writing;
    if (this.#waiting.size > 0) await this.#write();
    await this.#looking;
    await this.#database.close();
  }

  #note(copyId: string, note: Note): void {
    const { mostWaiting = MOST_WAITING } = this.#options;
    if (this.#waiting.size >= mostWaiting && !this.#waiting.has(copyId)) this.#dropOldest();
    this.#waiting.set(copyId, note);
    this.#writeAfter(this.#options.gatherMs ?? GATHER_MS);
  }

  #dropOldest(): void {
    const [oldest] = this.#waiting.keys();
    if (oldest !== undefined) this.#waiting.delete(oldest);
    this.#dropped += 1;
    if (this.#dropped !== 1 && this.#dropped % MOST_WAITING !== 0) return;
    this.#options.log.warn(
      { dropped: this.#dropped },
      'the retry ledger cannot be written: notes are dropped',
    );
  }

  #writeAfter(delayMs: number): void {
    if (this.#isClosed || this.#isWriting || this.#timer !== undefined) return;
    this.#timer = this.#options.clock.setTimer(delayMs, () => {
      this.#timer = undefined;
      this.#writing = this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    let isWritten = true;
    while (isWritten && this.#waiting.size > 0 && !this.#isClosed) isWritten = await this.#write();
    this.#isWriting = false;
    if (!isWritten) this.#writeAfter(RETRY_MS);
  }

  /** False when it could not be written; then it waits on, unless something newer is known by now. */
  async #write(): Promise<boolean> {
    const batch = [...this.#waiting].slice(0, MOST_PER_STATEMENT);
    for (const [copyId] of batch) this.#waiting.delete(copyId);
    try {
      await this.#database.query(NOTE, [JSON.stringify(batch.map(noteRow))]);
      return true;
    } catch (err) {
      this.#options.log.debug({ err, count: batch.length }, 'the retry ledger could not be written');
      for (const [copyId, note] of batch) if (!this.#waiting.has(copyId)) this.#putBack(copyId, note);
      return false;
    }
  }

  #putBack(copyId: string, note: Note): void {
    const { mostWaiting = MOST_WAITING } = this.#options;
    if (this.#waiting.size >= mostWaiting) this.#dropOldest();
    this.#waiting.set(copyId, note);
  }

  // --- overdue -----------------------------------------------------------------------------------------------------

  #lookLater(): void {
    if (this.#isClosed) return;
    this.#lookTimer = this.#options.clock.setTimer(LOOK_EVERY_MS, () => {
      this.#looking = this.#look();
    });
  }

  async #look(): Promise<void> {
    try {
      await this.#database.query(FORGET, []);
      const { count, oldest } = await this.overdue(OLDEST_NAMED);
      if (count > 0) this.#say(count, oldest);
    } catch (err) {
      this.#options.log.debug({ err }, 'overdue retry copies could not be looked for');
    } finally {
      this.#lookLater();
    }
  }

  #say(count: number, oldest: readonly OverdueCopy[]): void {
    const nowMs = this.#options.clock.wallMs();
    const ageMs = nowMs - (oldest[0]?.dueAtMs ?? nowMs);
    const names = oldest.map(({ copyId, orderId }) => orderId ?? copyId);
    this.#options.log.warn(
      { count, ageMs, reasons: names },
      'retry copies are overdue: they wait on the orders queue behind others, or are stuck on a delay queue',
    );
  }
}

export async function overdueRetries(
  database: Queryable,
  limit: number,
): ReturnType<OverdueRetries['overdue']> {
  const rows = await database.query<OverdueRow>(OVERDUE, [limit]);
  return { count: Number(rows[0]?.count ?? 0), oldest: rows.map(overdueCopy) };
}

// --- statements --------------------------------------------------------------------------------------------------

interface NoteRow {
  readonly copy_id: string;
  readonly order_id: string | null;
  readonly message_id: string | null;
  readonly level_ms: number | null;
  readonly reason_class: string | null;
  /** Milliseconds since the epoch; null for a return. */
  readonly sent_ms: number | null;
}

function noteRow([copyId, note]: readonly [string, Note]): NoteRow {
  if (note === 'returned') {
    return {
      copy_id: copyId,
      order_id: null,
      message_id: null,
      level_ms: null,
      reason_class: null,
      sent_ms: null,
    };
  }
  const { levelMs, messageId, orderId, reasonClass } = note.sent;
  return {
    copy_id: copyId,
    order_id: storable(orderId),
    message_id: storable(messageId),
    level_ms: levelMs,
    reason_class: reasonClass,
    sent_ms: note.sentAtMs,
  };
}

/** In the order of their ids: two workers that write the same rows never wait for one another in a circle. */
const NOTE = {
  name: 'note retry copies',
  text: `
    insert into cardauth.retry_ledger as l
      (copy_id, order_id, message_id, level_ms, reason_class, sent_at, due_at, returned_at)
    select copy_id, order_id, message_id, level_ms, reason_class,
      to_timestamp(sent_ms / 1000), to_timestamp((sent_ms + level_ms) / 1000),
      case when sent_ms is null then now() end
    from json_to_recordset($1::json) as note (
      copy_id uuid, order_id text, message_id text, level_ms bigint, reason_class text, sent_ms float8)
    order by copy_id
    on conflict (copy_id) do update set
      order_id = coalesce(l.order_id, excluded.order_id), message_id = coalesce(l.message_id, excluded.message_id),
      level_ms = coalesce(l.level_ms, excluded.level_ms),
      reason_class = coalesce(l.reason_class, excluded.reason_class),
      sent_at = coalesce(l.sent_at, excluded.sent_at), due_at = coalesce(l.due_at, excluded.due_at),
      returned_at = coalesce(l.returned_at, excluded.returned_at)`,
};

/** The order says by itself that its copy is no longer waited for. */
const IS_DONE = `(
  exists (select from cardauth.orders o where o.order_id = l.order_id and o.notified_at is not null)
  or exists (select from cardauth.parked_orders p where p.order_id = l.order_id and p.parked_at >= l.sent_at))`;

type OverdueRow = {
  readonly count: string;
  readonly copy_id: string;
  readonly order_id: string | null;
  readonly message_id: string | null;
  readonly level_ms: string;
  readonly reason_class: string;
  readonly sent_at_ms: number;
  readonly due_at_ms: number;
};

const OVERDUE = {
  name: 'overdue retry copies',
  text: `
    select count(*) over () as count, copy_id, order_id, message_id, level_ms, reason_class,
      ${asMs('sent_at')}, ${asMs('due_at')}
    from cardauth.retry_ledger l
    where returned_at is null
      and due_at < now() - interval '60 seconds'
      and due_at < now() - level_ms * interval '1 millisecond'
      and not ${IS_DONE}
    order by due_at
    limit $1::int`,
};

function overdueCopy(row: OverdueRow): OverdueCopy {
  return {
    copyId: row.copy_id,
    orderId: row.order_id ?? undefined,
    messageId: row.message_id ?? undefined,
    levelMs: Number(row.level_ms),
    reasonClass: row.reason_class,
    sentAtMs: Math.round(row.sent_at_ms),
    dueAtMs: Math.round(row.due_at_ms),
  };
}

/** A return is kept for an hour, in case the note that the copy was sent comes later. */
const FORGET = {
  name: 'forget retry copies',
  text: `
    delete from cardauth.retry_ledger where copy_id in (
      (select copy_id from cardauth.retry_ledger where returned_at < now() - interval '1 hour' limit 5000)
      union all
      (select copy_id from cardauth.retry_ledger l
       where returned_at is null and due_at < now() - interval '1 hour' and ${IS_DONE} limit 5000)
      union all
      (select copy_id from cardauth.retry_ledger
       where returned_at is null and due_at < now() - interval '7 days' and order_id is null limit 5000))`,
};
