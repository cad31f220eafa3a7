/** The runtime alone, in a process that has seen nothing else: prints RuntimeFigures as JSON. */
import { bytesPerPendingTree, treesPerSecond } from './acker-bench.ts';
import { microsecondsPerTuple } from './topology-bench.ts';

export interface RuntimeFigures {
  readonly treesPerSecond: number;
  readonly bytesPerPendingTree: number;
  readonly microsecondsPerTuple: number;
}

const scale = Number(process.argv[2]);

// The first of each is for the compiler.
treesPerSecond(scale);
await microsecondsPerTuple(scale / 10);

const figures: RuntimeFigures = {
  treesPerSecond: treesPerSecond(scale * 5),
  bytesPerPendingTree: await bytesPerPendingTree(2 ** 20),
  microsecondsPerTuple: await microsecondsPerTuple(scale),
};
process.stdout.write(JSON.stringify(figures));
