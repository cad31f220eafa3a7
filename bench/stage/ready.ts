import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from './workers.ts';

const LOOK_EVERY_MS = 3;
const TIMEOUT_MS = 60_000;

/** Resolves when a worker of ours has said, in a log file of its own, that it takes orders in. */
export async function untilReady({ logFile }: Worker): Promise<void> {
  const deadlineMs = performance.now() + TIMEOUT_MS;
  while (!readFileSync(logFile, 'utf8').includes('"msg":"ready"')) {
    if (performance.now() > deadlineMs)
      throw new Error(`a worker was not ready after ${TIMEOUT_MS / 1000} s; its output is in ${logFile}`);
    await sleep(LOOK_EVERY_MS);
  }
}
