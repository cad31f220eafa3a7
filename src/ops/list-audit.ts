import * as z from 'zod';
import type { AuditFilter, AuditTrail } from '../ports/audit-trail.ts';
import type { DeepReadonly } from './deep-readonly.ts';

const state = z.record(z.string(), z.unknown()).nullable();

const auditedAction = z.object({
  id: z.string(),
  at: z.iso.datetime(),
  actor: z.string(),
  action: z.string(),
  subject: z.string().describe('what it was done to: order:1234, intake, parked:17'),
  reason: z.string(),
  commandId: z.string(),
  before: state,
  after: state,
});
export type AuditedActionView = DeepReadonly<z.infer<typeof auditedAction>>;

/** What `cardauth audit list --json` prints. */
export const auditPage = z
  .object({
    actions: z.array(auditedAction),
    next: z.string().nullable().describe('for --before; null: there are no more'),
  })
  .describe('what operators did, the latest first');
export type AuditPageView = DeepReadonly<z.infer<typeof auditPage>>;

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
