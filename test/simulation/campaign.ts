import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

import type { Share } from './campaign-process.ts';
import { addTally, emptyTally, type Tally } from './tally.ts';

export interface CampaignOptions {
  readonly firstSeed: number;
  readonly seeds: number;
  readonly threads?: number;
  readonly onProgress?: (soFar: Tally) => void;
}

/** Runs many seeds on several threads. Rejects when one of them breaks off. */
export async function runCampaign(options: CampaignOptions): Promise<Tally> {
  const { firstSeed, seeds, onProgress } = options;
  const threads = Math.min(seeds, options.threads ?? Math.min(2, availableParallelism()));
  const tally = emptyTally();
  await Promise.all(
    Array.from({ length: threads }, (_, at) => {
      const share: Share = {
        first: firstSeed + at,
        stride: threads,
        seeds: Math.ceil((seeds - at) / threads),
      };
      return runShare(share, (part) => {
        addTally(tally, part);
        onProgress?.(tally);
      });
    }),
  );
  return tally;
}

function runShare(share: Share, onTally: (part: Tally) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./campaign-process.js', import.meta.url), {
      workerData: share,
      // Runs leave much behind, and all of it at once: a large nursery halves the time spent on collecting it.
      resourceLimits: { maxYoungGenerationSizeMb: 128 },
    });
    thread.on('message', onTally);
    thread.on('error', reject);
    thread.on('exit', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`a thread of the simulation ended with ${code}`));
    });
  });
}
