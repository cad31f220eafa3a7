import type { AuditEntry } from '../domain/audit.ts';

/** What operators did, as people read it, the latest first. Nothing in it is ever changed or deleted. */
export interface AuditTrail {
  /** Up to `limit` actions that fit. Rejects with a RetriableError when the system of record cannot be used. */
  list(filter: AuditFilter): Promise<AuditPage>;
  /**
   * Keeps an action whose effect is not in the system of record itself (a message published, a hold voided); to be
   * called once the effect is certain. A command that is there already for this subject is not kept twice.
   */
  record(entry: AuditEntry): Promise<'recorded' | 'repeated'>;
}

export interface AuditFilter {
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly subject?: string | undefined;
  /** Not before this time, milliseconds since the epoch. */
  readonly sinceMs?: number | undefined;
  /** Only actions with a lower id: `next` of the page before. */
  readonly beforeId?: string | undefined;
  /** 1-1000. */
  readonly limit: number;
}

export interface AuditPage {
  readonly actions: readonly AuditedAction[];
  /** `beforeId` of the next page; undefined: this is the last one. */
  readonly next: string | undefined;
}

export interface AuditedAction extends AuditEntry {
  /** Rises with time; digits. */
  readonly id: string;
  readonly happenedAtMs: number;
}
