import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { ERROR_STREAM, type BoltCollector, type ErrorValues, type Tick } from '../../src/topology/bolt.ts';
import { NonRetriableError, TopologyUsageError } from '../../src/topology/errors.ts';
import { shuffle } from '../../src/topology/groupings.ts';
import { TreeFailedError } from '../../src/topology/tuple-tree.ts';
import type { Tuple } from '../../src/topology/tuple.ts';
import {
  Gate,
  basicBolt,
  fromSource,
  numberSpout,
  oneBolt,
  pushNumbers,
  richBolt,
  sourceOf,
  started,
  virtualProcess,
  type Numbered,
  type NumberSpout,
} from './fixtures.ts';

type Out = Readonly<Record<'out', Numbered>>;

const emitsOut = { streams: { out: ['n'] }, unconsumed: ['out'] } as const;

function failureOf(spout: NumberSpout, messageId: string): { errorClass: string; message: string } {
  const outcome = spout.outcomes.find((one) => one.messageId === messageId);
  assert.ok(outcome?.kind === 'failed', `${messageId} has not failed`);
  const { errorClass, error } = outcome.failure;
  return { errorClass, message: error instanceof Error ? error.message : String(error) };
}

describe('basic bolts', () => {
  it('deliver what they emitted with the ack, and nothing when they reject', async () => {
    const spout = numberSpout();
    const { clock, process } = virtualProcess();
    const bolt = basicBolt<Out>(async (tuple, emit) => {
      emit('out', tuple.values);
      await process.point();
      emit('out', tuple.values);
      assert.equal(local.captured('work', 'out').length, 0, 'nothing leaves before execute resolves');
      if (tuple.values.n === 0) throw new Error('no');
    });
    const local = await started(oneBolt<Out>(spout, bolt, emitsOut), { clock, process });
    spout.push('numbers', 'm0', { n: 0 });
    await local.runToIdle();
    assert.deepEqual([local.captured('work', 'out').length, spout.outcomesOf('m0')], [0, ['explicit']]);
    spout.push('numbers', 'm1', { n: 1 });
    await local.runToIdle();
    assert.deepEqual(
      local.captured('work', 'out').map(({ messageId }) => messageId),
      ['m1', 'm1'],
    );
    assert.deepEqual(spout.outcomesOf('m1'), ['acked']);
  });

  it('emit for nobody when their tree has ended', async () => {
    const spout = numberSpout();
    const { clock, process } = virtualProcess();
    const bolt = basicBolt<Out>(async (tuple, emit) => {
      await process.sleep(40_000);
      emit('out', tuple.values);
    });
    const local = await started(oneBolt<Out>(spout, bolt, emitsOut), { clock, process });
    pushNumbers(spout, 1);
    await local.advance(50_000);
    assert.deepEqual(spout.outcomesOf('m0'), ['timeout']);
    const outlet = local.runner.statistics().bolts['work']?.windows.all.outlets['out'];
    assert.deepEqual([outlet?.emitted, outlet?.transferred, outlet?.discarded], [1, 0, 1]);
  });

  it('fail as a bug when they emit on an undeclared stream or after they resolved', async () => {
    const spout = numberSpout();
    let lateEmit: () => void = () => undefined;
    const bolt = basicBolt<Out>((tuple, emit) => {
      lateEmit = () => {
        emit('out', tuple.values);
      };
      if (tuple.values.n === 0) emit('nowhere' as 'out', tuple.values);
    });
    const local = await started(oneBolt<Out>(spout, bolt, emitsOut));
    pushNumbers(spout, 2);
    await local.runToIdle();
    const { errorClass, message } = failureOf(spout, 'm0');
    assert.equal(errorClass, 'bug');
    assert.match(message, /stream "nowhere", which it does not declare \(declared: out, error\)/);
    assert.throws(lateEmit, TopologyUsageError);
    assert.equal(local.captured('work', 'out').length, 0);
  });

  it('send a tuple to the error stream on a NonRetriableError, and ack it with what becomes of that', async () => {
    const spout = numberSpout();
    const gate = new Gate();
    const parked: ErrorValues[] = [];
    const error = new NonRetriableError('not an order', { errorClass: 'invalid' });
    const topology = sourceOf(spout)
      .bolt('work', { create: () => basicBolt(() => Promise.reject(error)), inputs: [fromSource] })
      .bolt('park', {
        create: () => ({
          kind: 'basic' as const,
          execute: async (tuple: Tuple<ErrorValues>) => {
            parked.push(tuple.values);
            assert.equal(tuple.messageId, 'm0');
            await gate.bolt.execute(tuple as unknown as Tuple<Numbered>, () => undefined);
          },
        }),
        inputs: [{ from: 'work', stream: ERROR_STREAM, grouping: shuffle }],
      })
      .build();
    const local = await started(topology);
    pushNumbers(spout, 1);
    await local.runToIdle();
    assert.deepEqual([parked, spout.outcomes], [[{ error, values: { n: 0 } }], []]);
    gate.letOneGo();
    await local.runToIdle();
    assert.deepEqual(spout.outcomesOf('m0'), ['acked']);
    assert.equal(
      local.runner.statistics().bolts['work']?.windows.all.inputs['source.numbers']?.toErrorStream,
      1,
    );
  });

  it('fail on a NonRetriableError when nobody consumes the error stream', async () => {
    const spout = numberSpout();
    const error = new NonRetriableError('not an order', { errorClass: 'invalid' });
    const local = await started(
      oneBolt(
        spout,
        basicBolt(() => Promise.reject(error)),
      ),
    );
    pushNumbers(spout, 1);
    await local.runToIdle();
    assert.deepEqual(failureOf(spout, 'm0'), { errorClass: 'invalid', message: 'not an order' });
  });

  it('run one tuple at a time, or as many as they declare', async () => {
    for (const [options, expected] of [
      [{}, 1],
      [{ tasks: 2 }, 2],
      [{ tasks: 2, concurrency: 3 }, 6],
    ] as const) {
      const spout = numberSpout();
      const gate = new Gate();
      const local = await started(oneBolt(spout, gate.bolt, options));
      pushNumbers(spout, 10);
      await local.runToIdle();
      assert.equal(gate.waiting, expected);
      gate.letOneGo();
      await local.runToIdle();
      assert.deepEqual([gate.waiting, spout.outcomes.length], [expected, 1]);
    }
  });
});

describe('rich bolts', () => {
  it('ack what they settle, once; a second settling returns false and is counted', async () => {
    const spout = numberSpout();
    const answers: boolean[] = [];
    const bolt = richBolt((tuple, collector) => {
      if (tuple.values.n === 0)
        answers.push(collector.ack(tuple), collector.ack(tuple), collector.fail(tuple));
      else answers.push(collector.fail(tuple), collector.ack(tuple));
    });
    const local = await started(oneBolt(spout, bolt));
    pushNumbers(spout, 2);
    await local.runToIdle();
    assert.deepEqual(answers, [true, false, false, true, false]);
    assert.deepEqual([spout.outcomesOf('m0'), spout.outcomesOf('m1')], [['acked'], ['explicit']]);
    assert.equal(
      local.runner.statistics().bolts['work']?.windows.all.inputs['source.numbers']?.settledTwice,
      3,
    );
  });

  it('are failed as a bug when they forget a tuple, and not when they hold it', async () => {
    const spout = numberSpout();
    let held: (() => void) | undefined;
    const bolt = richBolt((tuple, collector) => {
      if (tuple.values.n === 0) return;
      collector.hold(tuple);
      held = () => collector.ack(tuple);
    });
    const local = await started(oneBolt(spout, bolt));
    pushNumbers(spout, 2);
    await local.runToIdle();
    assert.equal(failureOf(spout, 'm0').errorClass, 'bug');
    assert.match(failureOf(spout, 'm0').message, /neither acked, failed nor held/);
    assert.deepEqual(spout.outcomesOf('m1'), []);
    assert.equal(local.runner.pendingTrees()[0]?.phase, 'held');
    held?.();
    assert.deepEqual(spout.outcomesOf('m1'), ['acked']);
  });

  it('get a typed error when they anchor to a settled tuple', async () => {
    const spout = numberSpout();
    const errors: unknown[] = [];
    const bolt = richBolt<Out>(async (tuple, collector) => {
      collector.ack(tuple);
      await collector.emit('out', [tuple], tuple.values).catch((error: unknown) => errors.push(error));
    });
    const local = await started(oneBolt<Out>(spout, bolt, emitsOut));
    pushNumbers(spout, 1);
    await local.runToIdle();
    assert.ok(errors[0] instanceof TopologyUsageError);
    assert.match(errors[0].message, /"work" anchored an emit on "out" to a settled tuple/);
    assert.deepEqual([spout.outcomesOf('m0'), local.captured('work', 'out')], [['acked'], []]);
  });

  it('keep a tree alive with heartbeats, up to its maximum lifetime', async () => {
    const spout = numberSpout();
    const { clock, process } = virtualProcess();
    const answers: boolean[] = [];
    const bolt = richBolt(async (tuple, collector) => {
      collector.hold(tuple);
      for (let beat = 0; beat < 12; beat++) {
        await process.sleep(10_000);
        answers.push(collector.extend(tuple));
      }
    });
    const topology = oneBolt(spout, bolt, { maxTreeLifetimeMs: 75_000 });
    const local = await started(topology, { clock, process });
    pushNumbers(spout, 1);
    await local.advance(74_999);
    assert.deepEqual(spout.outcomes, []);
    await local.advance(1_002);
    assert.deepEqual(spout.outcomesOf('m0'), ['timeout']);
    await local.advance(60_000);
    assert.deepEqual(answers, [...Array<boolean>(7).fill(true), ...Array<boolean>(5).fill(false)]);
  });

  it('fail every tree that a tuple is anchored to, and take the earliest deadline of them', async () => {
    const spout = numberSpout();
    const remaining: number[] = [];
    let first: Tuple | undefined;
    const join = richBolt<Out>(async (tuple, collector) => {
      if (first === undefined) {
        first = tuple;
        collector.hold(tuple);
        return;
      }
      await collector.emit('out', [first, tuple, first], tuple.values);
      collector.ack(first);
      collector.ack(tuple);
    });
    const topology = sourceOf(spout)
      .bolt('join', { create: () => join, streams: { out: ['n'] }, inputs: [fromSource] })
      .bolt('sink', {
        create: () =>
          basicBolt((tuple) => {
            remaining.push(tuple.remainingMs());
            assert.equal(tuple.signal.aborted, false);
            throw new Error('no');
          }),
        inputs: [{ from: 'join', stream: 'out', grouping: shuffle }],
      })
      .build();
    const local = await started(topology);
    spout.push('numbers', 'm0', { n: 0 });
    await local.advance(1_000);
    spout.push('numbers', 'm1', { n: 1 });
    await local.runToIdle();
    assert.deepEqual([spout.outcomesOf('m0'), spout.outcomesOf('m1')], [['explicit'], ['explicit']]);
    assert.deepEqual(remaining, [29_000]);
  });

  it('see the signal of a tuple of two trees when either fails, also when they ask late', async () => {
    for (const askEarly of [true, false]) {
      const spout = numberSpout();
      const held: Tuple[] = [];
      let joined: Tuple | undefined;
      const join = richBolt<Out>(async (tuple, collector) => {
        held.push(tuple);
        collector.hold(tuple);
        if (held.length === 2) await collector.emit('out', held, tuple.values);
      });
      const sink = richBolt((tuple, collector) => {
        joined = tuple;
        collector.hold(tuple);
        if (askEarly) assert.equal(tuple.signal.aborted, false);
      });
      const topology = sourceOf(spout)
        .bolt('join', { create: () => join, streams: { out: ['n'] }, inputs: [fromSource] })
        .bolt('sink', {
          create: () => sink,
          inputs: [{ from: 'join', stream: 'out', grouping: shuffle }],
        })
        .build();
      const local = await started(topology);
      spout.push('numbers', 'm0', { n: 0 });
      await local.advance(1_000);
      spout.push('numbers', 'm1', { n: 1 });
      await local.advance(29_700);
      assert.deepEqual([spout.outcomesOf('m0'), spout.outcomesOf('m1')], [['timeout'], []]);
      assert.equal(joined?.signal.aborted, true);
      assert.ok(joined.signal.reason instanceof TreeFailedError);
      assert.equal(joined.remainingMs(), 0);
    }
  });

  it('refuse tuples that are not of this runtime', async () => {
    const spout = numberSpout();
    let given: BoltCollector | undefined;
    const bolt = richBolt((tuple, collector) => {
      given = collector;
      collector.ack(tuple);
    });
    const local = await started(oneBolt(spout, bolt));
    pushNumbers(spout, 1);
    await local.runToIdle();
    assert.throws(() => given?.ack({ values: {} } as Tuple), TopologyUsageError);
  });
});

describe('mailboxes', () => {
  it('make emitters wait for room, while acks go on and nothing deadlocks', async () => {
    for (let seed = 0; seed < 10; seed++) {
      const spout = numberSpout();
      const { clock, process } = virtualProcess();
      let mostQueued = 0;
      let begun = 0;
      const fanOut = basicBolt<Out>((tuple, emit) => {
        for (let copy = 0; copy < 10; copy++) emit('out', tuple.values);
      });
      const topology = sourceOf(spout, 20)
        .bolt('fan-out', {
          create: () => fanOut,
          streams: { out: ['n'] },
          inputs: [fromSource],
          mailboxCapacity: 1,
          concurrency: 2,
        })
        .bolt('slow', {
          create: () =>
            basicBolt<Out>(async (tuple, emit) => {
              mostQueued = Math.max(mostQueued, local.captured('fan-out', 'out').length - begun++);
              await process.sleep(1);
              emit('out', tuple.values);
            }),
          streams: { out: ['n'] },
          inputs: [{ from: 'fan-out', stream: 'out', grouping: shuffle }],
          mailboxCapacity: 2,
        })
        .bolt('sink', {
          create: () => basicBolt(() => process.point()),
          inputs: [{ from: 'slow', stream: 'out', grouping: shuffle }],
          mailboxCapacity: 1,
        })
        .build();
      const local = await started(topology, { clock, process, seed });
      pushNumbers(spout, 50);
      await local.advance(5_000);
      assert.equal(spout.outcomes.filter(({ kind }) => kind === 'acked').length, 50);
      // Two emitters with ten tuples each may stand outside of a mailbox of two, beside the one that runs.
      assert.ok(mostQueued > 2 && mostQueued <= 2 + 20 + 1, String(mostQueued));
    }
  });
});

describe('ticks', () => {
  it('come on their grid, one queued at most, and say how many were missed', async () => {
    const spout = numberSpout();
    const { clock, process } = virtualProcess();
    const ticks: (Tick & { atMs: number })[] = [];
    const bolt = basicBolt<Out>((tuple) => (tuple.values.n === 0 ? process.sleep(345) : undefined), {
      tick: (tick, emit) => {
        ticks.push({ ...tick, atMs: clock.nowMs() });
        emit('out', { n: ticks.length });
      },
    });
    const local = await started(oneBolt<Out>(spout, bolt, { ...emitsOut, tickEveryMs: 100 }), {
      clock,
      process,
    });
    await local.advance(250);
    pushNumbers(spout, 1);
    await local.advance(400);
    clock.move(1_000);
    await local.advance(100);
    assert.deepEqual(ticks, [
      { dueMs: 100, missed: 0, atMs: 100 },
      { dueMs: 200, missed: 0, atMs: 200 },
      { dueMs: 300, missed: 0, atMs: 595 },
      { dueMs: 600, missed: 2, atMs: 600 },
      { dueMs: 1_600, missed: 9, atMs: 1_650 },
      { dueMs: 1_700, missed: 0, atMs: 1_700 },
    ]);
    assert.equal(local.captured('work', 'out')[0]?.messageId, undefined);
    await local.settle(local.runner.drain(10));
    assert.equal(clock.timers, 0);
  });

  it('that throw are reported, and the next one comes', async () => {
    const spout = numberSpout();
    const bolt = basicBolt(() => undefined, { tick: () => Promise.reject(new Error('tick')) });
    const local = await started(oneBolt(spout, bolt, { tickEveryMs: 100 }));
    await local.advance(250);
    assert.deepEqual(
      local.problems.map(({ component, during }) => [component, during]),
      [
        ['work', 'tick'],
        ['work', 'tick'],
      ],
    );
  });
});
