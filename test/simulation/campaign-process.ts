/** A thread of a campaign: runs every `stride`th seed from `first` on, and reports after each batch. */
import { parentPort, workerData } from 'node:worker_threads';

import { addRun, emptyTally } from './tally.ts';
import { simulate } from './simulation.ts';

export interface Share {
  readonly first: number;
  readonly stride: number;
  readonly seeds: number;
}

const BATCH = 50;

// Errors are ordinary here, and their stacks cost more than all the rest.
Error.stackTraceLimit = 0;
const { first, stride, seeds } = workerData as Share;
let tally = emptyTally();
for (let at = 0; at < seeds; at += 1) {
  addRun(tally, await simulate({ seed: first + at * stride }));
  if (tally.seeds < BATCH && at < seeds - 1) continue;
  parentPort?.postMessage(tally);
  tally = emptyTally();
  // Lets the message out, and dead runs be collected.
  await new Promise((resolve) => setImmediate(resolve));
}
