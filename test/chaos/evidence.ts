import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApprovalEntry, LedgerEntry } from '../../src/simulator/ledger.ts';
import type { LoggedRequest } from '../../src/simulator/request-log.ts';
import type { DumpedRow, ParkedCopy } from './collect.ts';
import { entriesOf } from './files.ts';
import type { BlowEntry } from './nemesis.ts';
import type { Orphans } from './orphans.ts';
import type { OperatorCommand } from './operator-cli.ts';
import type { Plan } from './plan.ts';
import type { Probe } from './probes.ts';
import type { JournalEntry } from './publisher-process.ts';
import type { Receipt } from './receiver-process.ts';
import type { WorkerExit } from './supervised-worker.ts';
import type { WireEvent } from './wire-watch.ts';

/** Times are milliseconds since the epoch, of one machine's clock. */
export interface OrderRow {
  readonly order_id: string;
  readonly status: string;
  readonly amount_minor: number;
  readonly currency: string;
  readonly gateway_reference: string | null;
  readonly generation: number;
  readonly version: number;
  readonly notified_at: string | null;
}

export interface AttemptRow {
  readonly order_id: string;
  readonly generation: number;
  readonly idempotency_key: string;
}

export interface EventRow {
  readonly event_id: number;
  readonly order_id: string;
  readonly happened_at: string;
  readonly fact: string;
  readonly version: number | null;
  readonly status_before: string | null;
  readonly status_after: string | null;
}

/** Of the table parked_orders. */
export interface ParkedRow {
  readonly order_id: string | null;
  readonly message_id: string | null;
  readonly recorded_at: string;
}

export interface AuditRow {
  readonly audit_id: number;
  readonly happened_at: string;
  readonly command_id: string;
  readonly actor: string;
  readonly action: string;
  readonly reason: string;
  readonly subject: string;
  readonly before: object | null;
  readonly after: object | null;
}

export interface ReplayBatchRow {
  readonly batch_id: string;
  readonly command_id: string;
  readonly state: string;
}

/** One parked order in one replay. */
export interface ReplayMember {
  readonly batch_id: string;
  readonly park_id: string;
  readonly order_id: string | null;
  readonly state: string;
  readonly settled_at: string | null;
}

/** What a run left behind; nothing in it is a worker's word but `logs` and what it wrote into the database. */
export interface Evidence {
  readonly folder: string;
  readonly plan: Plan;
  /** What must be found nowhere, by name. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly approvals: readonly ApprovalEntry[];
  readonly voids: readonly LedgerEntry[];
  readonly requests: readonly LoggedRequest[];
  readonly journal: readonly JournalEntry[];
  readonly receipts: readonly Receipt[];
  readonly wire: readonly WireEvent[];
  readonly orders: readonly OrderRow[];
  readonly attempts: readonly AttemptRow[];
  readonly events: readonly EventRow[];
  readonly audit: readonly AuditRow[];
  readonly batches: readonly ReplayBatchRow[];
  readonly members: readonly ReplayMember[];
  readonly operators: readonly OperatorCommand[];
  readonly orphans: readonly Orphans[];
  readonly probes: readonly Probe[];
  /** Recorded, and those that were still on the queue. */
  readonly parkedRows: readonly ParkedRow[];
  readonly parked: readonly ParkedCopy[];
  readonly queues: readonly { readonly name: string; readonly messages: number }[];
  readonly blows: readonly BlowEntry[];
  readonly exits: readonly WorkerExit[];
  readonly logs: readonly LogLine[];
}

export interface LogLine {
  readonly worker: number;
  readonly msg: string;
  /** When it was written, milliseconds since the epoch. */
  readonly time?: number;
  readonly reason?: string;
  readonly ageMs?: number;
  /** The line as it is. */
  readonly text: string;
}

export function loadEvidence(
  folder: string,
  plan: Plan,
  secrets: Readonly<Record<string, string>>,
): Evidence {
  const ledger = entriesOf<LedgerEntry>(folder, 'ledger');
  const rows = entriesOf<DumpedRow>(folder, 'database');
  const table = <Row>(name: string): Row[] =>
    rows.filter((one) => one.table === name).map(({ row }) => row as unknown as Row);
  return {
    folder,
    plan,
    secrets,
    approvals: ledger.filter((entry): entry is ApprovalEntry => entry.kind === 'approval'),
    voids: ledger.filter(({ kind }) => kind === 'void'),
    requests: entriesOf(folder, 'requests'),
    journal: entriesOf(folder, 'journal'),
    receipts: entriesOf(folder, 'receipts'),
    wire: entriesOf(folder, 'wire'),
    orders: table('orders'),
    attempts: table('attempts'),
    events: table<EventRow>('order_events').sort((one, other) => one.event_id - other.event_id),
    audit: table('audit_log'),
    batches: table('replay_batches'),
    members: table('replay_members'),
    operators: entriesOf(folder, 'operators'),
    orphans: entriesOf(folder, 'orphans'),
    probes: entriesOf(folder, 'probes'),
    parkedRows: table('parked_orders'),
    parked: entriesOf(folder, 'parked'),
    queues: entriesOf(folder, 'queues'),
    blows: entriesOf(folder, 'blows'),
    exits: entriesOf(folder, 'exits'),
    logs: logLines(folder),
  };
}

function logLines(folder: string): LogLine[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => {
    const number = /^worker-(\d+)\.log$/.exec(name)?.[1];
    if (number === undefined) return [];
    const lines = readFileSync(join(folder, name), 'utf8').split('\n');
    return lines.filter((text) => text !== '').map((text) => lineOf(text, Number(number)));
  });
}

/** A line that a kill has cut off, or that Node wrote, is none of pino's. */
function lineOf(text: string, worker: number): LogLine {
  try {
    const { time, ...line } = JSON.parse(text) as Pick<LogLine, 'msg'> & { readonly time: string };
    return { ...line, time: Date.parse(time), worker, text };
  } catch {
    return { worker, msg: '', text };
  }
}
