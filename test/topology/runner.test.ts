import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { RetriableError } from '../../src/topology/errors.ts';
import { shuffle } from '../../src/topology/groupings.ts';
import {
  Gate,
  basicBolt,
  fromSource,
  numberSpout,
  oneBolt,
  pushNumbers,
  sourceOf,
  started,
  virtualProcess,
} from './fixtures.ts';

describe('runner: what a spout can rely on', () => {
  it('carries tuples through two bolts and acks each once', async () => {
    const spout = numberSpout();
    const seen: number[] = [];
    const topology = sourceOf(spout)
      .bolt('double', {
        create: () =>
          basicBolt<{ doubled: { n: number } }>((tuple, emit) => {
            emit('doubled', { n: tuple.values.n * 2 });
          }),
        streams: { doubled: ['n'] },
        inputs: [fromSource],
      })
      .bolt('sink', {
        create: () =>
          basicBolt(async (tuple) => {
            await Promise.resolve();
            seen.push(tuple.values.n);
          }),
        inputs: [{ from: 'double', stream: 'doubled', grouping: shuffle }],
      })
      .build();
    const local = await started(topology);
    pushNumbers(spout, 25);
    await local.runToIdle();
    assert.deepEqual(
      spout.outcomes.map(({ messageId, kind }) => `${messageId} ${kind}`).sort(),
      Array.from({ length: 25 }, (_, n) => `m${n} acked`).sort(),
    );
    assert.deepEqual(
      seen.toSorted((a, b) => a - b),
      Array.from({ length: 25 }, (_, n) => n * 2),
    );
    assert.equal(local.captured('double', 'doubled').length, 25);
  });

  it('holds the cap on live trees, hard, and asks again when one has ended', async () => {
    const spout = numberSpout();
    const gate = new Gate();
    const local = await started(oneBolt(spout, gate.bolt, { cap: 3, concurrency: 100 }));
    pushNumbers(spout, 5);
    await local.runToIdle();
    assert.equal(gate.waiting, 3);
    assert.equal(spout.collector.room(), 0);
    assert.equal(spout.collector.emit('numbers', 'extra', { n: 9 }), 'at-cap');
    assert.deepEqual(local.runner.statistics().spouts['source']?.idle.reason, 'at-cap');
    gate.letOneGo();
    await local.runToIdle();
    assert.deepEqual([spout.outcomes.length, gate.waiting, spout.waiting], [1, 3, 1]);
  });

  it('refuses a message id that has a live tree, and takes it again afterwards', async () => {
    const spout = numberSpout();
    const gate = new Gate();
    const local = await started(oneBolt(spout, gate.bolt, { concurrency: 10 }));
    pushNumbers(spout, 1);
    await local.runToIdle();
    assert.ok(spout.collector.isPending('m0'));
    assert.equal(spout.collector.emit('numbers', 'm0', { n: 0 }), 'duplicate');
    gate.letOneGo();
    await local.runToIdle();
    assert.ok(!spout.collector.isPending('m0'));
    assert.equal(spout.collector.emit('numbers', 'm0', { n: 0 }), 'emitted');
    await local.runToIdle();
    gate.letOneGo();
    await local.runToIdle();
    assert.deepEqual(spout.outcomesOf('m0'), ['acked', 'acked']);
    assert.equal(local.runner.statistics().spouts['source']?.windows.all.duplicates, 1);
  });

  it('pauses at once, also at the cap, while any reason is held', async () => {
    const spout = numberSpout();
    const gate = new Gate();
    const local = await started(oneBolt(spout, gate.bolt, { cap: 2, concurrency: 10 }));
    pushNumbers(spout, 6);
    await local.runToIdle();
    local.runner.pause('operator');
    local.runner.pause('gateway-down');
    local.runner.pause('operator');
    assert.equal(spout.calls.at(-1), 'deactivate');
    assert.match(
      local.runner.statistics().spouts['source']?.idle.detail ?? '',
      /paused by operator, gateway-down/,
    );
    gate.letOneGo();
    await local.runToIdle();
    assert.deepEqual(
      [spout.outcomes.length, spout.waiting],
      [1, 4],
      'in flight completes, nothing new starts',
    );
    assert.equal(spout.collector.emit('numbers', 'm9', { n: 9 }), 'at-cap');
    local.runner.resume('operator');
    await local.runToIdle();
    assert.equal(spout.waiting, 4);
    local.runner.resume('gateway-down');
    await local.runToIdle();
    assert.deepEqual([spout.waiting, gate.waiting, spout.calls.at(-1)], [3, 2, 'activate']);
  });

  it('keeps to the lowest of several limits, also below the cap, and goes on at once when one is raised', async () => {
    const spout = numberSpout();
    const gate = new Gate();
    const local = await started(oneBolt(spout, gate.bolt, { cap: 10, concurrency: 10 }));
    local.runner.limit('probe', 1);
    local.runner.limit('slow start', 3);
    pushNumbers(spout, 8);
    await local.runToIdle();
    assert.deepEqual([gate.waiting, spout.waiting, spout.collector.room()], [1, 7, 0]);
    local.runner.limit('probe', Infinity);
    await local.runToIdle();
    assert.deepEqual([gate.waiting, spout.waiting], [3, 5]);
    local.runner.limit('slow start', 2);
    gate.letOneGo();
    await local.runToIdle();
    assert.deepEqual([gate.waiting, spout.waiting], [2, 5], 'what runs above a lowered limit completes');
    local.runner.limit('slow start', 0);
    assert.deepEqual([spout.calls.at(-1), local.runner.pauseReasons], ['deactivate', ['slow start']]);
    local.runner.limit('slow start', Infinity);
    await local.runToIdle();
    assert.deepEqual([gate.waiting, spout.waiting], [7, 0]);
  });

  it('starts paused when it was paused before', async () => {
    const spout = numberSpout();
    const { clock, process } = virtualProcess();
    const { LocalRunner } = await import('../../src/topology/testing/local-runner.ts');
    const local = new LocalRunner(oneBolt(spout, new Gate().bolt), { clock, process });
    local.runner.pause('operator');
    pushNumbers(spout, 1);
    await local.start();
    assert.deepEqual([spout.calls, spout.waiting], [['open'], 1]);
  });

  it('fails a tree at its timeout, says where the time went, and lets the result of the late bolt change nothing', async () => {
    const spout = numberSpout();
    const gate = new Gate();
    let signal: AbortSignal | undefined;
    const bolt = basicBolt(async (tuple) => {
      signal = tuple.signal;
      assert.equal(tuple.remainingMs(), 30_000);
      await gate.bolt.execute(tuple, () => undefined);
      assert.equal(tuple.remainingMs(), 0);
    });
    const local = await started(oneBolt(spout, bolt));
    pushNumbers(spout, 1);
    await local.advance(29_999);
    assert.deepEqual([spout.outcomes.length, signal?.aborted], [0, false]);
    await local.advance(1_001);
    const [outcome] = spout.outcomes;
    assert.ok(outcome?.kind === 'failed');
    const { reason, errorClass, where } = outcome.failure;
    assert.deepEqual(
      [reason, errorClass, where.component, where.task, where.phase],
      ['timeout', 'timeout', 'work', 0, 'executing'],
    );
    assert.ok(where.ageMs >= 30_000 && where.ageMs <= 31_000, String(where.ageMs));
    assert.equal(signal?.aborted, true);
    gate.letOneGo();
    await local.runToIdle();
    assert.deepEqual(spout.outcomesOf('m0'), ['timeout']);
    assert.deepEqual(local.problems, []);
  });

  it('does not execute what timed out while it waited in a mailbox', async () => {
    const spout = numberSpout();
    const gate = new Gate();
    const local = await started(oneBolt(spout, gate.bolt));
    pushNumbers(spout, 3);
    await local.advance(31_000);
    assert.equal(spout.outcomes.length, 3);
    gate.letOneGo();
    await local.runToIdle();
    const figures = local.runner.statistics().bolts['work']?.windows.all.inputs['source.numbers'];
    assert.deepEqual([gate.waiting, figures?.executed, figures?.expired], [0, 1, 2]);
  });

  it('does not turn a stall into a mass timeout', async () => {
    const spout = numberSpout();
    const { clock, process } = virtualProcess();
    const bolt = basicBolt(() => process.sleep(5_000));
    const local = await started(oneBolt(spout, bolt, { concurrency: 10 }), { clock, process });
    pushNumbers(spout, 8);
    await local.advance(1_000);
    clock.move(60_000);
    await local.advance(10_000);
    assert.equal(spout.outcomes.filter(({ kind }) => kind === 'acked').length, 8);
    assert.ok(local.runner.statistics().stalledMs > 59_000);
  });

  it('reports what the bolt failed with, to the spout alone', async () => {
    const spout = numberSpout();
    const error = new RetriableError('the gateway is away', { errorClass: 'unavailable', retryAfterMs: 700 });
    const local = await started(
      oneBolt(
        spout,
        basicBolt((tuple) => {
          if (tuple.values.n === 0) throw error;
          return Promise.reject(new Error('a bug'));
        }),
      ),
    );
    pushNumbers(spout, 2);
    await local.runToIdle();
    assert.deepEqual(
      spout.outcomes.map((outcome) =>
        outcome.kind === 'acked' ? 'acked' : [outcome.failure.errorClass, outcome.failure.retryAfterMs],
      ),
      [
        ['unavailable', 700],
        ['unknown', undefined],
      ],
    );
    assert.equal(spout.outcomes[0]?.kind === 'failed' && spout.outcomes[0].failure.error, error);
  });

  it('survives a spout that throws wherever it can, and a problem listener that throws too', async () => {
    const spout = numberSpout();
    const broken = Object.assign(spout, {
      ack: () => {
        throw new Error('ack');
      },
      fail: () => {
        throw new Error('fail');
      },
      activate: () => {
        throw new Error('activate');
      },
      deactivate: () => {
        throw new Error('deactivate');
      },
      quiesce: () => Promise.reject(new Error('quiesce')),
      close: () => Promise.reject(new Error('close')),
    });
    const local = await started(
      oneBolt(
        broken,
        basicBolt((tuple) => {
          if (tuple.values.n === 1) throw new Error('no');
        }),
      ),
    );
    pushNumbers(broken, 3);
    await local.runToIdle();
    await local.settle(local.runner.drain(100));
    assert.deepEqual(
      local.problems.map(({ during }) => during),
      [
        'spout.activate',
        'spout.ack',
        'spout.fail',
        'spout.ack',
        'spout.deactivate',
        'spout.quiesce',
        'spout.close',
      ],
    );
    assert.equal(local.runner.statistics().problems, 7);
  });

  it('completes a tree that no target took, after the emit has returned', async () => {
    const spout = numberSpout();
    const topology = sourceOf(spout)
      .bolt('never', {
        create: () => basicBolt(() => assert.fail('not reached')),
        inputs: [{ from: 'source', stream: 'numbers', grouping: { kind: 'custom', choose: () => [] } }],
      })
      .build();
    const local = await started(topology);
    assert.equal(spout.collector.emit('numbers', 'm0', { n: 0 }), 'emitted');
    assert.deepEqual(spout.outcomes, []);
    await local.runToIdle();
    assert.deepEqual(spout.outcomesOf('m0'), ['acked']);
  });

  it('fails a tree whose grouping throws', async () => {
    const spout = numberSpout();
    const topology = sourceOf(spout)
      .bolt('never', {
        create: () => basicBolt(() => assert.fail('not reached')),
        inputs: [{ from: 'source', stream: 'numbers', grouping: { kind: 'direct', taskField: 'n' } }],
      })
      .build();
    const local = await started(topology);
    spout.push('numbers', 'm7', { n: 7 });
    await local.runToIdle();
    assert.deepEqual(spout.outcomesOf('m7'), ['explicit']);
    const figures = local.runner.statistics().spouts['source']?.windows.all.streams['numbers'];
    assert.deepEqual([figures?.emitted, figures?.failedExplicit], [1, 1]);
  });

  it('emits unreliable tuples that nobody tracks, and drops them when there is no room', async () => {
    const spout = numberSpout();
    const gate = new Gate();
    const local = await started(oneBolt(spout, gate.bolt, { mailboxCapacity: 2 }));
    const accepted = [0, 1, 2].map((n) => spout.collector.emitUnreliable('numbers', { n }));
    assert.deepEqual(accepted, [true, true, false]);
    await local.runToIdle();
    gate.letOneGo();
    await local.runToIdle();
    gate.letOneGo();
    await local.runToIdle();
    assert.deepEqual(spout.outcomes, []);
    const figures = local.runner.statistics().spouts['source']?.windows.all.streams['numbers'];
    assert.deepEqual([figures?.unreliable, figures?.discarded], [3, 1]);
  });

  it('rejects start when a component does not open, and closes those that did', async () => {
    const spout = numberSpout();
    const cleaned: string[] = [];
    const topology = sourceOf(spout)
      .bolt('good', {
        create: () =>
          basicBolt(() => undefined, {
            cleanup: () => {
              cleaned.push('good');
            },
          }),
        inputs: [fromSource],
      })
      .bolt('bad', {
        create: () => basicBolt(() => undefined, { prepare: () => Promise.reject(new Error('no database')) }),
        inputs: [fromSource],
      })
      .build();
    const { LocalRunner } = await import('../../src/topology/testing/local-runner.ts');
    const local = new LocalRunner(topology);
    await assert.rejects(local.start(), /no database/);
    assert.deepEqual([cleaned, spout.calls], [['good'], []]);
    await assert.rejects(local.runner.start(), /a runner starts once/);
    assert.equal(local.clock.timers, 0);
  });

  it('shows the pending trees with their age and who has them', async () => {
    const spout = numberSpout();
    const gate = new Gate();
    const local = await started(oneBolt(spout, gate.bolt));
    pushNumbers(spout, 2);
    await local.advance(4_000);
    assert.deepEqual(local.runner.pendingTrees(), [
      {
        spout: 'source',
        messageId: 'm0',
        ageMs: 4_000,
        remainingMs: 26_000,
        component: 'work',
        task: 0,
        phase: 'executing',
      },
      {
        spout: 'source',
        messageId: 'm1',
        ageMs: 4_000,
        remainingMs: 26_000,
        component: 'work',
        task: 0,
        phase: 'queued',
      },
    ]);
  });
});
