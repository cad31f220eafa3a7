/** Turns a declared topology into tasks that are wired to each other. Nothing runs yet. */
import { BoltTask } from './bolt-task.ts';
import { ERROR_STREAM } from './bolt.ts';
import type { Clock } from './clock.ts';
import { createSelector } from './groupings.ts';
import { Outlet, type OutletParts } from './outlet.ts';
import type { ReportProblem } from './problems.ts';
import type { RandomSource } from './random.ts';
import type { TreeFailure } from './spout.ts';
import { SpoutTask } from './spout-task.ts';
import type { BoltCounters, InputCounters, OutletCounters, SpoutCounters, Statistics } from './statistics.ts';
import type { StepScheduler } from './steps.ts';
import { MOST_LIVE_TREES, type BoltDeclaration, type SpoutDeclaration, type Topology } from './topology.ts';
import type { TupleTree } from './tuple-tree.ts';
import type { TupleTrees } from './tuple-trees.ts';

export interface AssemblyParts {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly steps: StepScheduler;
  readonly trees: TupleTrees;
  readonly statistics: Statistics;
  readonly watch: OutletParts['watch'];
  readonly reportProblem: ReportProblem;
  readonly onTreeEnded: (tree: TupleTree, failure: TreeFailure | undefined) => void;
  readonly onTaskIdle: () => void;
}

export interface SpoutUnit {
  readonly declaration: SpoutDeclaration;
  readonly counters: SpoutCounters;
  readonly task: SpoutTask;
}

export interface BoltUnit {
  readonly declaration: BoltDeclaration;
  readonly counters: BoltCounters;
  readonly tasks: readonly { readonly task: BoltTask; readonly outlets: ReadonlyMap<string, Outlet> }[];
}

export interface Assembly {
  readonly spouts: readonly SpoutUnit[];
  readonly bolts: readonly BoltUnit[];
}

/** The component's outlets, one map for each of its tasks. */
type OutletsOf = Map<string, ReadonlyMap<string, Outlet>[]>;

export function assemble(topology: Topology, parts: AssemblyParts): Assembly {
  const outletsOf: OutletsOf = new Map();
  const spouts = topology.spouts.map((declaration) => spoutUnit(declaration, parts, outletsOf));
  const bolts = topology.bolts.map((declaration) => boltUnit(declaration, parts, outletsOf));
  for (const bolt of bolts) subscribe(bolt, parts.random, outletsOf);
  return { spouts, bolts };
}

function spoutUnit(declaration: SpoutDeclaration, parts: AssemblyParts, outletsOf: OutletsOf): SpoutUnit {
  const counters = parts.statistics.addSpout(declaration.id, Object.keys(declaration.streams));
  const outlets = makeOutlets(declaration.id, 0, counters.streams, parts);
  outletsOf.set(declaration.id, [outlets]);
  const task = new SpoutTask({
    ...parts,
    component: declaration.id,
    spout: declaration.spout,
    maxPending: declaration.maxSpoutPending,
    treeLimit: MOST_LIVE_TREES,
    outlets,
    counters,
    windows: parts.statistics.windows,
  });
  return { declaration, counters, task };
}

function boltUnit(declaration: BoltDeclaration, parts: AssemblyParts, outletsOf: OutletsOf): BoltUnit {
  const { id } = declaration;
  const counters = parts.statistics.addBolt(
    id,
    [...Object.keys(declaration.streams), ERROR_STREAM],
    declaration.inputs.map(({ from, stream }) => `${from}.${stream}`),
  );
  const tasks = Array.from({ length: declaration.tasks }, (_, task) => ({
    task: new BoltTask({
      ...parts,
      component: id,
      task,
      concurrency: declaration.concurrency,
      mailboxCapacity: declaration.mailboxCapacity,
      counters,
      onIdle: parts.onTaskIdle,
    }),
    outlets: makeOutlets(id, task, counters.outlets, parts),
  }));
  outletsOf.set(
    id,
    tasks.map(({ outlets }) => outlets),
  );
  return { declaration, counters, tasks };
}

function makeOutlets(
  component: string,
  task: number,
  counters: ReadonlyMap<string, OutletCounters>,
  { trees, random, watch }: AssemblyParts,
): ReadonlyMap<string, Outlet> {
  const outlets = new Map<string, Outlet>();
  for (const [stream, ofStream] of counters) {
    const source = { component, stream, task };
    outlets.set(stream, new Outlet({ source, counters: ofStream, trees, random, watch }));
  }
  return outlets;
}

function subscribe(bolt: BoltUnit, random: RandomSource, outletsOf: OutletsOf): void {
  const tasks = bolt.tasks.map(({ task }) => task);
  for (const { from, stream, grouping } of bolt.declaration.inputs) {
    const counters = inputCounters(bolt, `${from}.${stream}`);
    const select = createSelector(grouping, random);
    for (const outlets of outletsOf.get(from) ?? []) {
      outlets.get(stream)?.subscriptions.push({ select, tasks, counters });
    }
  }
}

function inputCounters({ counters, declaration }: BoltUnit, input: string): InputCounters {
  const found = counters.inputs.get(input);
  if (found === undefined)
    throw new Error(`bolt "${declaration.id}" has no counters for its input "${input}"`);
  return found;
}
