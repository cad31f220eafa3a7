import type { ReplayBatch, ReplayBatches } from '../../ports/replay-batches.ts';
import { pause } from '../../topology/clock.ts';
import { runBatch, type BatchEnd, type BatchParts } from './run-batch.ts';

const LOOK_MS = 500;

export interface AttendParts extends BatchParts {
  /** Another command works on it, and is watched; told with each look. */
  readonly onWatch: (batch: ReplayBatch) => void;
}

/**
 * Sees a batch through to its end: works on it, or watches whoever does and takes over when that one is gone. Rejects,
 * with the batch left to be resumed, when a service cannot be used.
 */
export async function attendBatch(first: ReplayBatch, parts: AttendParts): Promise<BatchEnd> {
  const { batches, clock, signal } = parts;
  let hasWatched = false;
  for (let batch = first; ; batch = await shown(batches, first)) {
    if (batch.state === 'done') return 'done';
    // It stopped while somebody else worked on it; by itself it is resumed.
    if (batch.state === 'stopped' && hasWatched) return 'stopped';
    const hold = await batches.hold(batch);
    if (hold !== undefined) {
      try {
        return await workOn(await shown(batches, first), parts);
      } finally {
        await hold.release();
      }
    }
    if (signal.aborted) return 'interrupted';
    hasWatched = true;
    parts.onWatch(batch);
    await pause(clock, LOOK_MS);
  }
}

/** As it is now: whoever had it before may have ended it a moment ago. */
async function workOn(batch: ReplayBatch, parts: AttendParts): Promise<BatchEnd> {
  if (batch.state === 'done') return 'done';
  if (batch.state === 'cancelled') {
    await parts.batches.release(batch.batchId);
    return 'cancelled';
  }
  return runBatch(batch, parts);
}

async function shown(batches: ReplayBatches, { batchId }: ReplayBatch): Promise<ReplayBatch> {
  const batch = await batches.show(batchId);
  if (batch === undefined) throw new Error(`there is no replay ${batchId}`);
  return batch;
}
