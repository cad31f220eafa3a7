import type { BasicBolt } from '../../src/topology/bolt.ts';
import { TopologyBuilder } from '../../src/topology/builder.ts';
import { shuffle } from '../../src/topology/groupings.ts';
import { TopologyRunner } from '../../src/topology/runner.ts';
import type { Spout, SpoutCollector } from '../../src/topology/spout.ts';
import { systemClock, systemRandom } from '../../src/topology/system-clock.ts';

type Numbered = Readonly<Record<'n', number>>;
type Numbers = Readonly<Record<'numbers', Numbered>>;

const PENDING = 500;
const TUPLES_A_TREE = 2;

/** Microseconds a tuple, all included: spout, first bolt, second bolt, and the ack of each tree. */
export async function microsecondsPerTuple(trees: number): Promise<number> {
  const spout = new CountingSpout(trees);
  const topology = new TopologyBuilder()
    .spout('source', { spout, streams: { numbers: ['n'] }, maxSpoutPending: PENDING })
    .bolt('first', {
      create: () => passOn,
      streams: { numbers: ['n'] },
      inputs: [{ from: 'source', stream: 'numbers', grouping: shuffle }],
      concurrency: PENDING,
    })
    .bolt('second', {
      create: () => end,
      inputs: [{ from: 'first', stream: 'numbers', grouping: shuffle }],
      concurrency: PENDING,
    })
    .build();
  const runner = new TopologyRunner(topology, { clock: systemClock, random: systemRandom() });
  const startedMs = performance.now();
  await runner.start();
  await spout.allAcked;
  const tookMs = performance.now() - startedMs;
  await runner.drain(1_000);
  return (tookMs * 1_000) / (trees * TUPLES_A_TREE);
}

const passOn: BasicBolt<Numbered, Numbers> = {
  kind: 'basic',
  execute: ({ values }, emit) => {
    emit('numbers', values);
  },
};

const end: BasicBolt<Numbered> = {
  kind: 'basic',
  execute: () => {
    // A sink.
  },
};

/** Emits so many numbers, as fast as there is room. */
class CountingSpout implements Spout<Numbers> {
  readonly allAcked: Promise<void>;
  readonly #trees: number;
  #sayAllAcked: () => void = () => undefined;
  #collector: SpoutCollector<Numbers> | undefined;
  #emitted = 0;
  #acked = 0;

  constructor(trees: number) {
    this.#trees = trees;
    this.allAcked = new Promise((resolve) => (this.#sayAllAcked = resolve));
  }

  open(_context: unknown, collector: SpoutCollector<Numbers>): void {
    this.#collector = collector;
  }

  activate(): void {
    this.#collector?.wake();
  }

  nextTuples(room: number): void {
    for (let left = room; left > 0 && this.#emitted < this.#trees; left -= 1) {
      const n = this.#emitted;
      if (this.#collector?.emit('numbers', `m${n}`, { n }) !== 'emitted') return;
      this.#emitted += 1;
    }
  }

  ack(): void {
    this.#acked += 1;
    if (this.#acked === this.#trees) this.#sayAllAcked();
  }

  fail(messageId: string): void {
    throw new Error(`tree ${messageId} failed in a bench without faults`);
  }

  deactivate(): void {
    // Emits only when it is asked to.
  }

  quiesce(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  idleReason(): { reason: string; waitingReplays: number } {
    return { reason: 'all is emitted', waitingReplays: 0 };
  }
}
