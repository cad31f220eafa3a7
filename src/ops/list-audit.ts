import type { AuditedState } from '../domain/audit.ts';
import type { AuditFilter, AuditTrail } from '../ports/audit-trail.ts';

/** A page of operators' actions as `cardauth audit list --json` prints it; fields are only ever added. */
export interface AuditPageView {
  /** The latest first. */
  readonly actions: readonly AuditedActionView[];
  /** For `--before`; null: there are no more. */
  readonly next: string | null;
}

export interface AuditedActionView {
  readonly id: string;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly reason: string;
  readonly commandId: string;
  readonly before: AuditedState | null;
  readonly after: AuditedState | null;
}

export async function listAudit(trail: AuditTrail, filter: AuditFilter): Promise<AuditPageView> {
  const { actions, next } = await trail.list(filter);
  return {
    actions: actions.map(
      ({ id, happenedAtMs, actor, action, subject, reason, commandId, before, after }) => ({
        id,
        at: new Date(happenedAtMs).toISOString(),
        actor,
        action,
        subject,
        reason,
        commandId,
        before: before ?? null,
        after: after ?? null,
      }),
    ),
    next: next ?? null,
  };
}
