import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { shuffle } from '../../src/topology/groupings.ts';
import { LocalRunner } from '../../src/topology/testing/local-runner.ts';
import {
  Gate,
  basicBolt,
  fromSource,
  richBolt,
  sourceOf,
  type Numbered,
  numberSpout,
  oneBolt,
  pushNumbers,
  started,
  virtualProcess,
} from './fixtures.ts';

describe('drain', () => {
  it('lets what was begun settle, returns what was not, starts nothing, and leaves nothing behind', async () => {
    const spout = numberSpout();
    const gate = new Gate();
    const local = await started(oneBolt(spout, gate.bolt, { cap: 5, concurrency: 2 }));
    pushNumbers(spout, 8);
    await local.runToIdle();
    const draining = local.runner.drain(10_000);
    await local.runToIdle();
    assert.deepEqual(spout.outcomes.map(({ messageId }) => messageId).sort(), ['m2', 'm3', 'm4']);
    assert.equal(spout.collector.emit('numbers', 'late', { n: 1 }), 'stopped');
    gate.letOneGo();
    gate.letOneGo();
    const report = await local.settle(draining);
    assert.deepEqual(report, { completed: ['m0', 'm1'], returned: ['m2', 'm3', 'm4'], unknown: [] });
    assert.deepEqual(spout.calls, ['open', 'activate', 'deactivate', 'quiesce', 'close']);
    assert.deepEqual([local.clock.timers, local.clock.hasReady, local.runner.pendingTrees()], [0, false, []]);
    assert.equal(local.clock.nowMs(), 0, 'it did not wait for the deadline');
  });

  it('fails what has not settled at the deadline: unknown when a bolt is at work on it', async () => {
    const spout = numberSpout();
    const { clock, process } = virtualProcess();
    const gate = new Gate();
    const signals: AbortSignal[] = [];
    const bolt = basicBolt(async (tuple) => {
      signals.push(tuple.signal);
      await gate.bolt.execute(tuple, () => undefined);
      await process.point();
    });
    const local = await started(oneBolt(spout, bolt, { concurrency: 3 }), { clock, process });
    pushNumbers(spout, 3);
    await local.runToIdle();
    const draining = local.runner.drain(10_000);
    await local.advance(9_999);
    assert.equal(spout.outcomes.length, 0);
    gate.letOneGo();
    await local.advance(2);
    const report = await local.settle(draining);
    assert.deepEqual(report, { completed: ['m0'], returned: [], unknown: ['m1', 'm2'] });
    assert.deepEqual(spout.outcomesOf('m2'), ['shutdown']);
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [false, true, true],
    );
    assert.equal(clock.timers, 0);
    gate.letOneGo();
    gate.letOneGo();
    await local.runToIdle();
    assert.equal(spout.outcomes.length, 3, 'late results change nothing');
  });

  it('waits for what a bolt emits after the last ack', async () => {
    const spout = numberSpout();
    const gate = new Gate();
    const told: number[] = [];
    const settler = richBolt<Readonly<Record<'out', Numbered>>>((tuple, collector) => {
      collector.ack(tuple);
      void collector.emit('out', [], tuple.values);
    });
    const topology = sourceOf(spout)
      .bolt('wait', {
        create: () =>
          basicBolt<Readonly<Record<'out', Numbered>>>(async (tuple, emit) => {
            await gate.bolt.execute(tuple, () => undefined);
            emit('out', tuple.values);
          }),
        streams: { out: ['n'] },
        inputs: [fromSource],
      })
      .bolt('settle', {
        create: () => settler,
        streams: { out: ['n'] },
        inputs: [{ from: 'wait', stream: 'out', grouping: shuffle }],
      })
      .bolt('tell', {
        create: () =>
          basicBolt((tuple) => {
            told.push(tuple.values.n);
          }),
        inputs: [{ from: 'settle', stream: 'out', grouping: shuffle }],
      })
      .build();
    const local = await started(topology);
    pushNumbers(spout, 1);
    await local.runToIdle();
    const draining = local.runner.drain(1_000);
    await local.runToIdle();
    gate.letOneGo();
    assert.deepEqual((await local.settle(draining)).completed, ['m0']);
    assert.deepEqual(told, [0]);
  });

  it('ends at once at the second call', async () => {
    const spout = numberSpout();
    const gate = new Gate();
    const local = await started(oneBolt(spout, gate.bolt));
    pushNumbers(spout, 1);
    await local.runToIdle();
    const first = local.runner.drain(600_000);
    await local.runToIdle();
    const second = await local.settle(local.runner.drain(600_000));
    assert.deepEqual(second, { completed: [], returned: [], unknown: ['m0'] });
    assert.equal(await first, second);
    assert.deepEqual([local.clock.nowMs(), local.clock.timers], [0, 0]);
  });

  it('aborts without waiting for a spout that neither quiesces nor closes', async () => {
    const spout = Object.assign(numberSpout(), {
      quiesce: () => new Promise<void>(() => undefined),
      close: () => new Promise<void>(() => undefined),
    });
    const local = await started(oneBolt(spout, new Gate().bolt));
    pushNumbers(spout, 2);
    await local.runToIdle();
    const report = await local.settle(local.runner.abort());
    assert.deepEqual(report, { completed: [], returned: ['m1'], unknown: ['m0'] });
    assert.ok(local.clock.nowMs() <= 500);
    assert.match(String(local.problems[0]?.error), /"source" did not finish spout.close within 500 ms/);
    assert.equal(local.clock.timers, 0);
  });

  it('drains a topology that has not started', async () => {
    const spout = numberSpout();
    const local = new LocalRunner(oneBolt(spout, new Gate().bolt));
    assert.deepEqual(await local.settle(local.runner.drain(1_000)), {
      completed: [],
      returned: [],
      unknown: [],
    });
    assert.deepEqual([spout.calls, local.clock.timers], [[], 0]);
  });

  it('closes what opened after the drain had begun', async () => {
    const spout = numberSpout();
    let finishOpening: () => void = () => undefined;
    const cleaned: number[] = [];
    const bolt = basicBolt(() => undefined, {
      prepare: () =>
        new Promise<void>((resolve) => {
          finishOpening = resolve;
        }),
      cleanup: () => {
        cleaned.push(1);
      },
    });
    const local = new LocalRunner(oneBolt(spout, bolt));
    const starting = local.runner.start();
    await local.runToIdle();
    await local.settle(local.runner.drain(1_000));
    finishOpening();
    await local.settle(starting);
    assert.deepEqual([cleaned, spout.calls.at(-1)], [[1], 'close']);
    assert.equal(local.clock.timers, 0);
  });

  it('is told of timeouts and failures meanwhile', async () => {
    const spout = numberSpout();
    const { clock, process } = virtualProcess();
    const bolt = basicBolt(async (tuple) => {
      await process.sleep(tuple.values.n === 0 ? 1_000 : 40_000);
      throw new Error('no');
    });
    const local = await started(oneBolt(spout, bolt, { concurrency: 2 }), { clock, process });
    pushNumbers(spout, 2);
    await local.runToIdle();
    const report = await local.settle(local.runner.drain(60_000));
    assert.deepEqual(report, { completed: [], returned: ['m0'], unknown: ['m1'] });
    assert.equal(clock.nowMs(), 40_000, 'it waited for the bolt whose tree had timed out');
  });
});

describe('kill', () => {
  it('tells nobody anything, and nothing of the process runs again', async () => {
    for (let step = 1; step < 60; step++) {
      const spout = numberSpout();
      const { clock, process } = virtualProcess();
      let effects = 0;
      const bolt = basicBolt(async () => {
        await process.point();
        effects++;
        await process.sleep(10);
        effects++;
      });
      const local = new LocalRunner(oneBolt(spout, bolt, { concurrency: 4, tickEveryMs: 50 }), {
        clock,
        process,
      });
      local.crashAtStep(step);
      pushNumbers(spout, 6);
      await local.start();
      await local.advance(15);
      await local.advance(100);
      const before = [spout.outcomes.length, effects, spout.calls.length];
      if (!local.crashed) local.crash();
      await local.advance(100_000);
      assert.deepEqual([spout.outcomes.length, effects, spout.calls.length], before);
      assert.deepEqual([clock.timers, clock.hasReady], [0, false]);
    }
  });
});
