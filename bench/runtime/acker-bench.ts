import { setImmediate } from 'node:timers/promises';
import { Acker } from '../../src/topology/acker.ts';
import { systemRandom } from '../../src/topology/system-clock.ts';

/** As many trees as a worker has orders in flight. */
const PENDING = 500;
/** First edges, one ack a bolt: a tree of two bolts one after the other. */
const IDS = 2 ** 12;

/** Trees a second that are opened, reported about three times, and complete, with 500 others alive. */
export function treesPerSecond(trees: number): number {
  const ids = Int32Array.from({ length: IDS }, () => systemRandom().next32());
  const acker = new Acker(PENDING);
  const roots = new Float64Array(PENDING);
  for (let n = 0; n < PENDING; n += 1) roots[n] = acker.open(1, 1);

  const startedMs = performance.now();
  for (let n = 0; n < trees; n += 1) {
    const slot = n % PENDING;
    const root = roots[slot] ?? 0;
    const [first = 0, second = 0] = [ids[n % IDS], ids[(n * 7) % IDS]];
    acker.report(root, first, second);
    acker.report(root, first ^ second, second ^ first);
    // What is left of the tree's value: the last edge's ack.
    if (acker.report(root, 1 ^ first ^ (first ^ second), 1 ^ second ^ (second ^ first)) !== 'complete')
      throw new Error('the bench of the acker acks what is no tree');
    roots[slot] = acker.open(1, 1);
  }
  return trees / ((performance.now() - startedMs) / 1000);
}

/** Bytes that the acker takes for each of so many pending trees. Needs --expose-gc. */
export async function bytesPerPendingTree(trees: number): Promise<number> {
  const before = await usedBytes();
  const acker = new Acker(trees);
  for (let n = 0; n < trees; n += 1) acker.open(n, 1);
  const bytes = (await usedBytes()) - before;
  if (acker.pending !== trees) throw new Error('the bench of the acker lost trees');
  return bytes / trees;
}

async function usedBytes(): Promise<number> {
  // Array buffers that a collection found to be unused are given back a little later.
  for (let turn = 0; turn < 3; turn += 1) {
    globalThis.gc?.();
    await setImmediate();
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
