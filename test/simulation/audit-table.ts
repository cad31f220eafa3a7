import { auditEntry, type AuditEntry } from '../../src/domain/audit.ts';
import { RefusedByDatabase } from '../../src/adapters/postgres/database-error.ts';

export interface AuditRow extends AuditEntry {
  readonly happenedAtMs: number;
}

/** The table `audit_log`: it only grows, and a command stands there once for each subject. */
export class AuditTable {
  readonly #rows: AuditRow[] = [];
  readonly #once = new Set<string>();

  get rows(): readonly AuditRow[] {
    return this.#rows;
  }

  has(commandId: string, subject: string): boolean {
    return this.#once.has(`${commandId} ${subject}`);
  }

  /** As the unique key has it. */
  refuseTwice(commandId: string, subject: string): void {
    if (this.has(commandId, subject)) throw new RefusedByDatabase('23505', 'audit_log_command_once');
  }

  add(entry: AuditEntry, happenedAtMs: number): void {
    this.refuseTwice(entry.commandId, entry.subject);
    this.#once.add(`${entry.commandId} ${entry.subject}`);
    this.#rows.push({ ...auditEntry(entry), happenedAtMs });
  }

  of(subject: string): readonly AuditRow[] {
    return this.#rows.filter((row) => row.subject === subject);
  }
}
