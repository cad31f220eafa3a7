import { setTimeout as sleep } from 'node:timers/promises';
import { doneIn, type Judged } from './books.ts';
import type { Stage } from './stage.ts';
import type { Worker } from './workers.ts';

const ASK_EVERY_MS = 100;
/** Without any order done for so long, it is given up. */
const PATIENCE_MS = 60_000;

/** Resolves when all orders are done; throws when a worker or the gateway ends before that, or nothing is done any more. */
export async function untilDone(stage: Stage, wanted: Judged, workers: readonly Worker[]): Promise<void> {
  const ended = new AbortController();
  for (const { exited, logFile } of [...workers, stage.gateway]) {
    void exited.then(() => {
      ended.abort(new Error(`a process ended in the middle; its output is in ${logFile}`));
    });
  }
  let most = 0;
  let changedAtMs = performance.now();
  for (;;) {
    const done = await doneSoFar(stage, wanted);
    if (done >= wanted.orders) return;
    ended.signal.throwIfAborted();
    if (done > most) [most, changedAtMs] = [done, performance.now()];
    if (performance.now() - changedAtMs > PATIENCE_MS)
      throw new Error(`nothing was done for ${PATIENCE_MS / 1000} s: ${done} of ${wanted.orders} orders`);
    await sleep(ASK_EVERY_MS);
  }
}

/** Asks for what costs the services least: the database only in the end, when marks may still be on their way. */
async function doneSoFar(stage: Stage, wanted: Judged): Promise<number> {
  const { contestant, databaseUrl, orders, announced } = wanted;
  if (contestant.table === undefined) return (await stage.gateway.counts()).orders;
  const heard = announced?.size ?? (await stage.broker.receiptsWaiting());
  return heard < orders ? heard : doneIn(databaseUrl, contestant.table);
}
