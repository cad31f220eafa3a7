import * as z from 'zod';

const state = z.record(z.string(), z.json()).nullable();

export const auditPage = z
  .object({
    actions: z.array(
      z.object({
        id: z.string(),
        at: z.iso.datetime(),
        actor: z.string(),
        action: z.string(),
        subject: z.string().describe('what it was done to: order:1234, intake, parked:17'),
        reason: z.string(),
        commandId: z.string(),
        before: state,
        after: state,
      }),
    ),
    next: z.string().nullable().describe('for --before; null: there are no more'),
  })
  .describe('what operators did, the latest first');
