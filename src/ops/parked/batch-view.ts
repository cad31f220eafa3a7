import * as z from 'zod';
import type { ReplayBatch } from '../../ports/replay-batches.ts';
import { replayPlan } from './plan-replay.ts';

const count = z.int().nonnegative();

const batchView = z.object({
  batchId: z.string().describe('for --batch'),
  state: z.enum(['open', 'stopped', 'cancelled', 'done']),
  stoppedBecause: z.string().nullable(),
  createdAt: z.iso.datetime(),
  actor: z.string(),
  reason: z.string(),
  queue: z.string().describe('that it is published to'),
  messagesPerSecond: z.number(),
  counts: z.object({
    waiting: count,
    published: count.describe('confirmed by the broker, and marked'),
    closed: count.describe('there was nothing to do'),
    left: count.describe('parked as before: it had become wrong or impossible'),
    cancelled: count.describe('parked as before'),
  }),
});
type BatchView = z.infer<typeof batchView>;

export const replayResult = z
  .object({
    isDryRun: z.boolean(),
    plan: replayPlan.nullable().describe('null where a batch was named'),
    batch: batchView.nullable().describe('null after a dry run, and where nothing was taken'),
    end: z.enum(['done', 'interrupted', 'cancelled', 'stopped']).nullable(),
  })
  .describe('what a replay would come to, or what became of it');
export type ReplayResult = z.infer<typeof replayResult>;

export function viewOfBatch(batch: ReplayBatch): BatchView {
  return {
    batchId: batch.batchId,
    state: batch.state,
    stoppedBecause: batch.stoppedBecause ?? null,
    createdAt: new Date(batch.createdAtMs).toISOString(),
    actor: batch.actor,
    reason: batch.reason,
    queue: batch.queue,
    messagesPerSecond: batch.messagesPerSecond,
    counts: { ...batch.counts },
  };
}
