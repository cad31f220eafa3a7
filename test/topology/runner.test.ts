import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { BasicBolt } from '../../src/topology/bolt.ts';
import { TopologyBuilder } from '../../src/topology/builder.ts';
import { shuffle } from '../../src/topology/groupings.ts';
import { HandFedSpout } from '../../src/topology/testing/hand-fed-spout.ts';
import { LocalRunner } from '../../src/topology/testing/local-runner.ts';

type N = { readonly n: number };

describe('runner', () => {
  it('carries a tuple through two bolts and acks it once', async () => {
    const spout = new HandFedSpout<{ numbers: N }>();
    const seen: number[] = [];
    const double: BasicBolt<N, { doubled: N }> = {
      kind: 'basic',
      execute: (tuple, emit) => {
        emit('doubled', { n: tuple.values.n * 2 });
      },
    };
    const sink: BasicBolt<N> = {
      kind: 'basic',
      execute: async (tuple) => {
        await Promise.resolve();
        seen.push(tuple.values.n);
      },
    };
    const topology = new TopologyBuilder()
      .spout('numbers', { spout, streams: { numbers: ['n'] }, maxSpoutPending: 10 })
      .bolt('double', {
        create: () => double,
        streams: { doubled: ['n'] },
        inputs: [{ from: 'numbers', stream: 'numbers', grouping: shuffle }],
      })
      .bolt('sink', {
        create: () => sink,
        inputs: [{ from: 'double', stream: 'doubled', grouping: shuffle }],
      })
      .build();
    const local = new LocalRunner(topology);
    await local.start();
    for (let n = 0; n < 25; n++) spout.push('numbers', `m${n}`, { n });
    await local.runToIdle();
    assert.equal(spout.outcomes.length, 25);
    assert.ok(spout.outcomes.every(({ kind }) => kind === 'acked'));
    assert.deepEqual(
      seen.sort((a, b) => a - b),
      Array.from({ length: 25 }, (_, n) => n * 2),
    );
    const report = await local.settle(local.runner.drain(1000));
    assert.deepEqual(report, { completed: [], returned: [], unknown: [] });
    assert.equal(local.clock.timers, 0);
  });
});
