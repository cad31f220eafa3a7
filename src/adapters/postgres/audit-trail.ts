/**
 * The audit trail: reading it, and the two ways of adding to it. A change that is in the database goes through
 * `audited`, so that the change and its entry are one transaction; a fact about an order takes its command along
 * (`OrderBook.apply`), and the group commit writes both in one statement.
 */
import { auditEntry, operatorCommand } from '../../domain/audit.ts';
import type { AuditedState, AuditEntry, OperatorCommand } from '../../domain/audit.ts';
import type { AuditedAction, AuditFilter, AuditPage, AuditTrail } from '../../ports/audit-trail.ts';
import type { Log } from '../../ports/log.ts';
import { Database, type Query } from './connection.ts';
import { asMs } from './rows.ts';

const WALL_MS = 30_000;
const CONNECT_WALL_MS = 5_000;

export interface PostgresAuditTrail extends AuditTrail {
  close(): Promise<void>;
}

/** Connects when first asked. */
export function openAuditTrail(options: {
  readonly databaseUrl: string;
  readonly log: Log;
}): PostgresAuditTrail {
  const database = new Database({
    ...options,
    applicationName: 'cardauth audit',
    wallMs: WALL_MS,
    connectWallMs: CONNECT_WALL_MS,
    connections: 1,
    settings: 'set jit = off',
  });
  return {
    list: (filter) => list(database, filter),
    async record(entry) {
      const rows = await database.query(RECORD, values(auditEntry(entry)));
      return rows.length === 1 ? 'recorded' : 'repeated';
    },
    close: () => database.close(),
  };
}

// --- adding ------------------------------------------------------------------------------------------------------

/** What the work of an audited command came to. `changed` undefined: nothing was to be done, nothing is kept. */
export interface AuditedWork<T> {
  readonly value: T;
  readonly changed: { readonly before?: AuditedState; readonly after?: AuditedState } | undefined;
}

/** `repeated`: this command was carried out on this subject before; nothing was done now. */
export type Audited<T> = { readonly kind: 'done'; readonly value: T } | { readonly kind: 'repeated' };

/**
 * Does `work` and records it, in one transaction: either both are committed or neither is. `work` may run and be
 * rolled back, so all that it does is asking the database. Rejects as `Database` does; when the reply to the commit
 * was lost, the same command id tells whether it was done.
 */
export async function audited<T>(
  database: Database,
  command: OperatorCommand & { readonly subject: string },
  work: (query: Query) => Promise<AuditedWork<T>>,
): Promise<Audited<T>> {
  // As it is kept: card numbers in the id are masked there.
  const kept = { ...operatorCommand(command), subject: command.subject };
  try {
    return await database.transaction(async (query) => {
      if (await isRecorded(query, kept)) return { kind: 'repeated' };
      const { changed, value } = await work(query);
      if (changed === undefined) return { kind: 'done', value };
      const rows = await query(RECORD, values(auditEntry({ ...kept, ...changed })));
      // Somebody sent the same command at the same time, and was first.
      if (rows.length === 0) throw new CarriedOutMeanwhile();
      return { kind: 'done', value };
    });
  } catch (error) {
    if (error instanceof CarriedOutMeanwhile) return { kind: 'repeated' };
    throw error;
  }
}

class CarriedOutMeanwhile extends Error {
  override readonly name = 'CarriedOutMeanwhile';
}

async function isRecorded(query: Query, { commandId, subject }: { commandId: string; subject: string }) {
  return (await query(FIND, [commandId, subject])).length > 0;
}

const FIND = {
  name: 'find operator command',
  text: 'select from cardauth.audit_log where command_id = $1 and subject = $2',
};

const RECORD = {
  name: 'record operator action',
  text: `
    insert into cardauth.audit_log (command_id, actor, action, reason, subject, before, after)
    values ($1, $2, $3, $4, $5, $6::jsonb, $7::jsonb)
    on conflict (command_id, subject) do nothing
    returning audit_id`,
};

function values({ commandId, actor, action, reason, subject, before, after }: AuditEntry): unknown[] {
  return [commandId, actor, action, reason, subject, json(before), json(after)];
}

function json(state: AuditedState | undefined): string | undefined {
  return state === undefined ? undefined : JSON.stringify(state);
}

// --- reading -----------------------------------------------------------------------------------------------------

const LIST = {
  name: 'list operator actions',
  text: `
    select audit_id::text, ${asMs('happened_at')}, command_id, actor, action, reason, subject, before, after
    from cardauth.audit_log
    where ($1::text is null or actor = $1)
      and ($2::text is null or action = $2)
      and ($3::text is null or subject = $3)
      and ($4::float8 is null or happened_at >= to_timestamp($4 / 1000))
      and ($5::bigint is null or audit_id < $5)
    order by audit_log.audit_id desc
    limit $6::int + 1`,
};

interface AuditRow {
  readonly audit_id: string;
  readonly happened_at_ms: number;
  readonly command_id: string;
  readonly actor: string;
  readonly action: string;
  readonly reason: string;
  readonly subject: string;
  readonly before: AuditedState | null;
  readonly after: AuditedState | null;
}

async function list(database: Database, filter: AuditFilter): Promise<AuditPage> {
  const { actor, action, subject, sinceMs, beforeId, limit } = filter;
  const rows = await database.query<AuditRow>(LIST, [actor, action, subject, sinceMs, beforeId, limit]);
  const actions = rows.slice(0, limit).map(auditedAction);
  return { actions, next: rows.length > limit ? actions.at(-1)?.id : undefined };
}

function auditedAction(row: AuditRow): AuditedAction {
  return {
    id: row.audit_id,
    happenedAtMs: Math.round(row.happened_at_ms),
    commandId: row.command_id,
    actor: row.actor,
    action: row.action,
    reason: row.reason,
    subject: row.subject,
    before: row.before ?? undefined,
    after: row.after ?? undefined,
  };
}
