import type { OperatorCommand } from '../domain/audit.ts';

/** Ends parked orders without a replay. */
export interface ParkedDiscards {
  /**
   * Marks those that are parked as discarded and keeps each in the audit trail, in one commit; resolves to their ids.
   * Rejects with a RetriableError of class `database` when the system of record cannot be used.
   */
  discard(parkIds: readonly string[], command: OperatorCommand): Promise<readonly string[]>;
}
