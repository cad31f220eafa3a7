import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import type { BoltCollector, RichBolt } from '../../src/topology/bolt.ts';
import { TopologyBuilder } from '../../src/topology/builder.ts';
import { all, custom, fields, shuffle } from '../../src/topology/groupings.ts';
import { nextBelow, seededRandom } from '../../src/topology/random.ts';
import { HandFedSpout } from '../../src/topology/testing/hand-fed-spout.ts';
import { LocalRunner } from '../../src/topology/testing/local-runner.ts';
import { VirtualClock } from '../../src/topology/testing/virtual-clock.ts';
import { VirtualProcess } from '../../src/topology/testing/virtual-process.ts';
import type { Tuple } from '../../src/topology/tuple.ts';

/** Every tuple carries the message ids of all trees it belongs to, so that the test can keep its own books. */
type Traced = Readonly<Record<'ids', readonly string[]>>;
type TracedStreams = Readonly<Record<'out', Traced>>;

interface Plan {
  readonly messages: number;
  readonly seed: number;
  readonly failPercent: number;
  readonly hangPercent: number;
  readonly cap: number;
}

const plan: fc.Arbitrary<Plan> = fc.record({
  messages: fc.integer({ min: 1, max: 25 }),
  seed: fc.nat(),
  failPercent: fc.constantFrom(0, 0, 5, 30),
  hangPercent: fc.constantFrom(0, 0, 5),
  cap: fc.integer({ min: 1, max: 12 }),
});

const SINK_TASKS = 3;

/**
 * source -> split (0..3 children, sometimes anchored twice) -> join (holds tuples and joins two trees into one
 * tuple) -> sink (all three tasks), and an audit bolt that a custom grouping gives some tuples. Every bolt waits at
 * points that the seeded scheduler orders, fails some tuples and hangs on some.
 */
class World {
  readonly spout = new HandFedSpout<Readonly<Record<'out', Traced>>>();
  /** Tuples of a message that were created and not acked. */
  readonly open = new Map<string, number>();
  readonly failed = new Set<string>();
  readonly violations: string[] = [];
  readonly process: VirtualProcess;
  readonly local: LocalRunner;
  readonly #plan: Plan;
  readonly #random: ReturnType<typeof seededRandom>;

  constructor(given: Plan) {
    this.#plan = given;
    this.#random = seededRandom(given.seed + 1);
    const clock = new VirtualClock({ random: seededRandom(given.seed) });
    this.process = new VirtualProcess(clock);
    const split = this.#bolt(async (tuple, collector) => {
      for (let child = nextBelow(this.#random, 4); child > 0; child--) {
        const anchors = this.#chance(30) ? [tuple, tuple] : [tuple];
        await this.#emit(collector, anchors, 1);
      }
      this.#settle(tuple, collector);
    });
    let held: Tuple<Traced> | undefined;
    const join = this.#bolt(async (tuple, collector) => {
      if (held === undefined && this.#chance(50)) {
        held = tuple;
        collector.hold(tuple);
        return;
      }
      const other = held;
      held = undefined;
      await this.#emit(collector, other === undefined ? [tuple] : [other, tuple], SINK_TASKS);
      if (other !== undefined) this.#settle(other, collector);
      this.#settle(tuple, collector);
    });
    const sink = this.#bolt(async (tuple, collector) => {
      await this.process.point();
      this.#settle(tuple, collector);
    });
    const topology = new TopologyBuilder()
      .spout('source', { spout: this.spout, streams: { out: ['ids'] }, maxSpoutPending: given.cap })
      .bolt('split', {
        create: () => split,
        streams: { out: ['ids'] },
        inputs: [{ from: 'source', stream: 'out', grouping: fields('ids') }],
        concurrency: 3,
        mailboxCapacity: 2,
      })
      .bolt('join', {
        create: () => join,
        streams: { out: ['ids'] },
        inputs: [{ from: 'split', stream: 'out', grouping: shuffle }],
        mailboxCapacity: 2,
      })
      .bolt('sink', {
        create: () => sink,
        tasks: SINK_TASKS,
        concurrency: 2,
        mailboxCapacity: 1,
        inputs: [{ from: 'join', stream: 'out', grouping: all }],
      })
      .bolt('nobody', {
        create: () => sink,
        inputs: [{ from: 'split', stream: 'out', grouping: custom(() => []) }],
      })
      .build();
    this.local = new LocalRunner(topology, { seed: given.seed, clock, process: this.process });
    const ack = this.spout.ack.bind(this.spout);
    this.spout.ack = (messageId) => {
      const open = this.open.get(messageId);
      if (open !== 0) this.violations.push(`${messageId} acked with ${open} open tuples`);
      if (this.failed.has(messageId))
        this.violations.push(`${messageId} acked although a tuple of it failed`);
      ack(messageId);
    };
    const fail = this.spout.fail.bind(this.spout);
    this.spout.fail = (messageId, failure) => {
      if (this.open.get(messageId) === 0)
        this.violations.push(`${messageId} failed although it was complete`);
      if (failure.reason === 'explicit' && !this.failed.has(messageId)) {
        this.violations.push(`${messageId} failed explicitly, but no tuple of it did`);
      }
      fail(messageId, failure);
    };
  }

  feed(messages: number): void {
    for (let n = 0; n < messages; n++) {
      this.open.set(`m${n}`, 1);
      this.spout.push('out', `m${n}`, { ids: [`m${n}`] });
    }
  }

  checkIdentity(): void {
    const { spouts, pending } = this.local.runner.statistics();
    const figures = spouts['source']?.windows.all.streams['out'];
    assert.ok(figures !== undefined);
    const ended = figures.acked + figures.failedExplicit + figures.failedTimeout + figures.failedShutdown;
    assert.equal(figures.emitted, ended + pending);
    assert.equal(this.spout.outcomes.length, ended);
    assert.ok(pending <= this.#plan.cap);
  }

  #bolt(
    execute: (tuple: Tuple<Traced>, collector: BoltCollector<TracedStreams>) => Promise<void>,
  ): RichBolt<Traced, TracedStreams> {
    let collector: BoltCollector<TracedStreams> | undefined;
    return {
      kind: 'rich',
      prepare: (_context, given) => {
        collector = given;
      },
      execute: async (tuple) => {
        assert.ok(collector !== undefined);
        if (this.#chance(50)) await this.process.point();
        if (this.#chance(this.#plan.hangPercent)) {
          collector.hold(tuple);
          return;
        }
        await execute(tuple, collector);
      },
    };
  }

  async #emit(
    collector: BoltCollector<TracedStreams>,
    anchors: readonly Tuple<Traced>[],
    targets: number,
  ): Promise<void> {
    const ids = [...new Set(anchors.flatMap(({ values }) => values.ids))];
    for (const id of ids) this.open.set(id, (this.open.get(id) ?? 0) + targets);
    await collector.emit('out', anchors, { ids });
  }

  #settle(tuple: Tuple<Traced>, collector: BoltCollector<TracedStreams>): void {
    if (this.#chance(this.#plan.failPercent)) {
      for (const id of tuple.values.ids) this.failed.add(id);
      assert.equal(collector.fail(tuple, new Error('planned')), true);
    } else {
      for (const id of tuple.values.ids) this.open.set(id, (this.open.get(id) ?? 0) - 1);
      assert.equal(collector.ack(tuple), true);
    }
    assert.equal(collector.ack(tuple), false);
  }

  #chance(percent: number): boolean {
    return nextBelow(this.#random, 100) < percent;
  }
}

describe('tuple trees of a running topology', () => {
  it('end exactly once, acked exactly when every tuple was, in any interleaving', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (given) => {
        const world = new World(given);
        await world.local.start();
        world.feed(given.messages);
        for (let round = 0; round < 10 && world.spout.outcomes.length < given.messages; round++) {
          await world.local.advance(10_000 * (round + 1));
          world.checkIdentity();
        }
        assert.deepEqual(world.violations, []);
        for (let n = 0; n < given.messages; n++) {
          const outcomes = world.spout.outcomesOf(`m${n}`);
          assert.equal(outcomes.length, 1, `m${n}: ${outcomes.join(', ')}`);
        }
        await world.local.settle(world.local.runner.drain(1_000));
        world.checkIdentity();
        assert.deepEqual([world.local.clock.timers, world.local.problems], [0, []]);
      }),
      { numRuns: 60, includeErrorInReport: true },
    );
  });

  it('run the same way again with the same seed', async () => {
    const run = async (): Promise<unknown> => {
      const world = new World({ messages: 20, seed: 7, failPercent: 10, hangPercent: 5, cap: 5 });
      await world.local.start();
      world.feed(20);
      await world.local.advance(100_000);
      return [world.local.steps, world.spout.outcomes.map(({ messageId, kind }) => messageId + kind)];
    };
    assert.deepEqual(await run(), await run());
  });

  it('of an aborted topology all end as failed, none twice, none later', async () => {
    await fc.assert(
      fc.asyncProperty(plan, fc.nat({ max: 200 }), async (given, steps) => {
        const world = new World(given);
        await world.local.start();
        world.feed(given.messages);
        for (let step = 0; step < steps && world.local.clock.hasReady; step++) {
          world.local.clock.runOne();
          await new Promise((resolve) => setImmediate(resolve));
        }
        const report = await world.local.settle(world.local.runner.abort());
        const emitted = world.spout.outcomes.length;
        await world.local.advance(100_000);
        world.checkIdentity();
        assert.equal(world.spout.outcomes.length, emitted);
        assert.equal(new Set(world.spout.outcomes.map(({ messageId }) => messageId)).size, emitted);
        const shutdown = world.spout.outcomes.filter(
          (outcome) => outcome.kind === 'failed' && outcome.failure.reason === 'shutdown',
        );
        assert.equal(report.returned.length + report.unknown.length, shutdown.length);
        assert.deepEqual([world.violations, world.local.clock.timers], [[], 0]);
      }),
      { numRuns: 40 },
    );
  });
});
