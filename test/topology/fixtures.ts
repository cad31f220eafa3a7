import type { BasicBolt, BoltCollector, RichBolt } from '../../src/topology/bolt.ts';
import { TopologyBuilder, type BoltOptions, type TopologySettings } from '../../src/topology/builder.ts';
import { shuffle } from '../../src/topology/groupings.ts';
import type { Topology } from '../../src/topology/topology.ts';
import { HandFedSpout } from '../../src/topology/testing/hand-fed-spout.ts';
import { LocalRunner, type LocalRunnerOptions } from '../../src/topology/testing/local-runner.ts';
import { VirtualClock } from '../../src/topology/testing/virtual-clock.ts';
import { VirtualProcess } from '../../src/topology/testing/virtual-process.ts';
import type { Tuple, Values } from '../../src/topology/tuple.ts';

export type Numbered = Readonly<Record<'n', number>>;

export type NumberStream = Readonly<Record<'numbers', Numbered>>;
export type NumberSpout = HandFedSpout<NumberStream>;

export function numberSpout(): NumberSpout {
  return new HandFedSpout<NumberStream>();
}

export function basicBolt<Out extends Readonly<Record<string, Values>>>(
  execute: BasicBolt<Numbered, Out>['execute'],
  more: Partial<BasicBolt<Numbered, Out>> = {},
): BasicBolt<Numbered, Out> {
  return { ...more, kind: 'basic', execute };
}

export function richBolt<Out extends Readonly<Record<string, Values>>>(
  execute: (tuple: Tuple<Numbered>, collector: BoltCollector<Out>) => Promise<void> | void,
): RichBolt<Numbered, Out> {
  let collector: BoltCollector<Out> | undefined;
  return {
    kind: 'rich',
    prepare: (_context, given) => {
      collector = given;
    },
    execute: (tuple) => {
      if (collector === undefined) throw new Error('not prepared');
      return execute(tuple, collector);
    },
  };
}

/** A spout `source` and one bolt `work` that consumes it; what the bolt emits may go nowhere. */
export function oneBolt<Out extends Readonly<Record<string, Values>>>(
  spout: NumberSpout,
  bolt: BasicBolt<Numbered, Out> | RichBolt<Numbered, Out>,
  options: Partial<Omit<BoltOptions<unknown, Numbered, Out>, 'create' | 'inputs'>> & {
    cap?: number;
  } & TopologySettings = {},
): Topology {
  return sourceOf(spout, options.cap)
    .bolt('work', { ...options, create: () => bolt, inputs: [fromSource] })
    .build(options);
}

export const fromSource = { from: 'source', stream: 'numbers', grouping: shuffle } as const;

export function sourceOf(
  spout: NumberSpout,
  maxSpoutPending = 10,
): TopologyBuilder<Record<'source', NumberStream>> {
  return new TopologyBuilder().spout('source', { spout, streams: { numbers: ['n'] }, maxSpoutPending });
}

/** A process and its clock, made before the topology so that its bolts can wait by them. */
export function virtualProcess(): { clock: VirtualClock; process: VirtualProcess } {
  const clock = new VirtualClock();
  return { clock, process: new VirtualProcess(clock) };
}

export async function started(topology: Topology, options?: LocalRunnerOptions): Promise<LocalRunner> {
  const local = new LocalRunner(topology, options);
  await local.start();
  return local;
}

export function pushNumbers(spout: NumberSpout, count: number): void {
  for (let n = 0; n < count; n++) spout.push('numbers', `m${n}`, { n });
}

/** A bolt that waits until the test lets its tuples go, one by one. */
export class Gate {
  readonly #waiting: (() => void)[] = [];

  readonly bolt: BasicBolt<Numbered> = {
    kind: 'basic',
    execute: () =>
      new Promise((resolve) => {
        this.#waiting.push(resolve);
      }),
  };

  get waiting(): number {
    return this.#waiting.length;
  }

  letOneGo(): void {
    this.#waiting.shift()?.();
  }
}
