/**
 * The tables of parked orders and of their replays, with what their statements do (parked-orders.ts, parked-search.ts and
 * replay-batches.ts of the adapter): each method is one statement, or one transaction.
 */
import { storedAttempt, storedOrder } from '../../src/adapters/postgres/rows.ts';
import type { OperatorCommand } from '../../src/domain/audit.ts';
import type { ParkedOrderRecord } from '../../src/ports/parked-orders.ts';
import type {
  FoundParked,
  ParkedFilter,
  ParkedPage,
  RecordedMessage,
} from '../../src/ports/parked-search.ts';
import type {
  BatchState,
  MemberState,
  NewBatch,
  OpenedBatch,
  ReplayBatch,
  Settlement,
} from '../../src/ports/replay-batches.ts';
import type { AuditTable } from './audit-table.ts';
import type { Tables } from './tables.ts';

export interface ParkedRow {
  readonly number: number;
  readonly record: ParkedOrderRecord;
  readonly recordedAtMs: number;
  state: FoundParked['state'];
  batchId: string | undefined;
  closedAtMs: number | undefined;
}

interface Member {
  readonly number: number;
  readonly row: ParkedRow;
  state: MemberState;
  settledAtMs: number;
}

interface Batch extends Omit<ReplayBatch, 'counts' | 'state' | 'stoppedBecause'> {
  readonly commandId: string;
  readonly members: Member[];
  state: BatchState;
  stoppedBecause: string | undefined;
}

export class ParkedTables {
  readonly rows: ParkedRow[] = [];
  readonly batches = new Map<string, Batch>();
  readonly #byId = new Map<string, ParkedRow>();
  readonly #tables: Tables;
  readonly #audit: AuditTable;
  readonly #nowMs: () => number;

  constructor(tables: Tables, audit: AuditTable, nowMs: () => number) {
    this.#tables = tables;
    this.#audit = audit;
    this.#nowMs = nowMs;
  }

  // --- parked orders -----------------------------------------------------------------------------------------------

  record(record: ParkedOrderRecord): boolean {
    if (this.#byId.has(record.parkId)) return false;
    const row: ParkedRow = {
      number: this.rows.length + 1,
      record,
      recordedAtMs: this.#nowMs(),
      state: 'parked',
      batchId: undefined,
      closedAtMs: undefined,
    };
    this.rows.push(row);
    this.#byId.set(record.parkId, row);
    return true;
  }

  /** By state and id; operators of simulations have no other filters. */
  find({ after, limit, parkIds, states }: ParkedFilter, isAlive: (worker: number) => boolean): ParkedPage {
    const wanted = parkIds && new Set(parkIds);
    const from = Number(after?.parkedId ?? 0);
    const fitting = this.rows.filter(
      ({ number, record, state }) =>
        number > from &&
        (states.length === 0 || states.includes(state)) &&
        (wanted === undefined || wanted.has(record.parkId)),
    );
    const rows = fitting.slice(0, limit);
    const last = fitting.length > limit ? rows.at(-1) : undefined;
    const found = rows.map((row) => this.#found(row));
    const owners = found.flatMap(({ order }) => (order?.attempt === undefined ? [] : [order.attempt.owner]));
    return {
      rows: found,
      end: last && { parkedAtUs: '0', parkedId: String(last.number) },
      readAtMs: this.#nowMs(),
      livingWorkers: new Set(owners.filter(isAlive)),
    };
  }

  messages(parkIds: readonly string[]): readonly RecordedMessage[] {
    return parkIds.flatMap((parkId) => {
      const record = this.#byId.get(parkId)?.record;
      if (record === undefined || !('from' in record.body.replay)) return [];
      const { messageId, contentType, properties, body } = record;
      const sealedBody = Buffer.from(body.bytes).toString('utf8');
      return [{ parkId, messageId, contentType, properties, sealedBody }];
    });
  }

  /** Whether it waits for a person, or for the replay that has it. */
  isParked(messageId: string): boolean {
    return this.rows.some(
      ({ record, state }) => record.messageId === messageId && (state === 'parked' || state === 'replaying'),
    );
  }

  #found(row: ParkedRow): FoundParked {
    const { record } = row;
    const { body, origin, orderId } = record;
    const stored = orderId === undefined ? undefined : this.#tables.orders.get(orderId);
    return {
      parkId: record.parkId,
      orderId,
      customerId: record.customerId,
      cardLast4: record.cardLast4,
      messageId: record.messageId,
      reason: record.reason,
      class: record.class,
      cause: record.cause,
      error: record.error,
      attempts: record.attempts,
      state: row.state,
      firstSeenMs: record.firstSeenMs,
      parkedAtMs: record.parkedAtMs,
      closedAtMs: row.closedAtMs,
      originQueue: origin.queue,
      workerVersion: record.workerVersion,
      replayFrom: 'from' in body.replay ? body.replay.from : undefined,
      notReplayableBecause: 'from' in body.replay ? undefined : body.replay.notBecause,
      batchId: row.batchId,
      bodyBytes: body.length,
      content: undefined,
      order: stored && storedOrder(this.#tables.joined(stored)),
      earlierAttempts: (stored === undefined ? [] : this.#tables.earlierAttemptsOf(stored)).map(
        (attempt) => ({
          ...storedAttempt(attempt),
          generation: attempt.generation,
        }),
      ),
    };
  }

  // --- replays -----------------------------------------------------------------------------------------------------

  open(batch: NewBatch, parkIds: readonly string[], command: OperatorCommand): OpenedBatch | undefined {
    for (const known of this.batches.values()) {
      if (known.commandId === command.commandId) return { batch: shown(known), isRepeated: true };
    }
    const wanted = parkIds.flatMap((parkId) => this.#byId.get(parkId) ?? []);
    const taken = wanted.filter(({ state }) => state === 'parked');
    if (taken.length === 0) return undefined;
    const { batchId, queue } = batch;
    const after = { state: 'open', members: taken.length, queue };
    this.#audit.add({ ...command, subject: `batch:${batchId}`, after }, this.#nowMs());
    for (const row of taken) {
      row.state = 'replaying';
      row.batchId = batchId;
    }
    const opened: Batch = {
      ...batch,
      number: this.batches.size + 1,
      createdAtMs: this.#nowMs(),
      actor: command.actor,
      reason: command.reason,
      commandId: command.commandId,
      state: 'open',
      stoppedBecause: undefined,
      members: taken.map((row, at) => ({ number: at + 1, row, state: 'waiting', settledAtMs: 0 })),
    };
    this.batches.set(batchId, opened);
    return { batch: shown(opened), isRepeated: false };
  }

  show(batchId: string): ReplayBatch | undefined {
    const batch = this.batches.get(batchId);
    return batch && shown(batch);
  }

  waiting(batchId: string, after: number, limit: number) {
    const members = this.#members(batchId).filter(
      ({ number, state }) => state === 'waiting' && number > after,
    );
    return members.slice(0, limit).map(({ number, row }) => ({ number, parkId: row.record.parkId }));
  }

  settle(batchId: string, settlements: readonly Settlement[]): BatchState {
    const batch = this.batches.get(batchId);
    if (batch === undefined) return 'cancelled';
    const nowMs = this.#nowMs();
    for (const { as, detail, parkId } of settlements) {
      const member = batch.members.find(
        ({ row, state }) => row.record.parkId === parkId && state === 'waiting',
      );
      if (member === undefined) continue;
      const { row } = member;
      member.state = as;
      member.settledAtMs = nowMs;
      row.state = as === 'left' ? 'parked' : 'replayed';
      row.closedAtMs = as === 'left' ? undefined : nowMs;
      const { actor, commandId, reason } = batch;
      const { orderId = null } = row.record;
      this.#audit.add(
        {
          commandId,
          actor,
          action: 'parked replay',
          reason,
          subject: `parked:${parkId}`,
          before: { state: 'parked', orderId },
          after: { state: row.state, orderId, batchId, was: as, as: detail },
        },
        nowMs,
      );
    }
    return batch.state;
  }

  countParkedAgain(batchId: string, count: number): number {
    const createdAtMs = this.batches.get(batchId)?.createdAtMs ?? 0;
    const published = this.#members(batchId).filter(({ state }) => state === 'published');
    const latest = published.sort((one, other) => other.settledAtMs - one.settledAtMs).slice(0, count);
    const isParkedAgain = ({ row: { record } }: Member): boolean =>
      this.rows.some((row) => row.record.orderId === record.orderId && row.recordedAtMs > createdAtMs);
    return latest.filter(isParkedAgain).length;
  }

  /** From one of the states `from`; anything else is left. */
  setState(batchId: string, from: BatchState, to: BatchState, because?: string): void {
    const batch = this.batches.get(batchId);
    if (batch?.state !== from) return;
    if (to === 'done' && batch.members.some(({ state }) => state === 'waiting')) return;
    batch.state = to;
    batch.stoppedBecause = because;
  }

  cancel(batchId: string, command: OperatorCommand): 'cancelled' | 'ended' | 'repeated' {
    const batch = this.batches.get(batchId);
    if (this.#audit.has(command.commandId, `batch:${batchId}`)) return 'repeated';
    if (batch === undefined || batch.state === 'done' || batch.state === 'cancelled') return 'ended';
    const states = { before: { state: batch.state }, after: { state: 'cancelled' } };
    this.#audit.add({ ...command, subject: `batch:${batchId}`, ...states }, this.#nowMs());
    batch.state = 'cancelled';
    return 'cancelled';
  }

  release(batchId: string): number {
    if (this.batches.get(batchId)?.state !== 'cancelled') return 0;
    const released = this.#members(batchId).filter(({ state }) => state === 'waiting');
    for (const member of released) {
      member.state = 'cancelled';
      member.row.state = 'parked';
    }
    return released.length;
  }

  #members(batchId: string): readonly Member[] {
    return this.batches.get(batchId)?.members ?? [];
  }
}

function shown({ members, ...batch }: Batch): ReplayBatch {
  const counts = { waiting: 0, published: 0, closed: 0, left: 0, cancelled: 0 };
  for (const { state } of members) counts[state] += 1;
  return { ...batch, counts };
}
