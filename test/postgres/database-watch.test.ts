import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { DatabaseWatch } from '../../src/adapters/postgres/database-watch.ts';
import type { Clock } from '../../src/topology/clock.ts';
import { quietLog } from './test-book.ts';

describe('the watch over the database', () => {
  it('probes at once, then with pauses that double up to five seconds', async () => {
    const { watch, pauses, probed, nextPauseOver } = watched(() => 'still away');
    watch.start();
    for (let probe = 0; probe < 8; probe += 1) {
      await probed();
      nextPauseOver();
    }
    assert.deepEqual(pauses, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  });

  it('tells its listeners of each change, and stops probing when nothing is wrong', async () => {
    const answers = ['away', 'away', undefined];
    const { watch, pauses, probed, nextPauseOver } = watched(() => answers.shift());
    const heard: (string | undefined)[] = [];
    const stopListening = watch.onChange(() => heard.push(watch.unavailableBecause()));
    watch.start();
    await probed();
    nextPauseOver();
    await probed();
    nextPauseOver();
    await probed();
    assert.deepEqual(heard, ['away', undefined]);
    assert.equal(pauses.length, 2);

    stopListening();
    watch.reportTrouble('cut');
    assert.equal(watch.unavailableBecause(), 'cut');
    assert.deepEqual(heard, ['away', undefined]);
  });

  it('runs one probe at a time, and begins with short pauses at every new trouble', async () => {
    let answer: string | undefined = 'away';
    let probes = 0;
    const { watch, pauses, probed, nextPauseOver } = watched(() => {
      probes += 1;
      return answer;
    });
    watch.start();
    watch.reportTrouble('one');
    watch.reportTrouble('two');
    await probed();
    assert.equal(probes, 1);
    answer = undefined;
    nextPauseOver();
    await probed();
    answer = 'away';
    watch.reportTrouble('three');
    await probed();
    assert.deepEqual(pauses, [100, 100]);
  });

  it('does not believe a probe that began before the trouble', async () => {
    const { watch, probed, nextPauseOver } = watched(() => undefined);
    watch.start();
    watch.reportTrouble('session lost');
    await probed();
    assert.equal(watch.unavailableBecause(), 'session lost');
    nextPauseOver();
    await probed();
    assert.equal(watch.unavailableBecause(), undefined);
  });

  it('is silent once stopped', async () => {
    const { watch, pauses, probed } = watched(() => 'away');
    watch.start();
    watch.stop();
    await probed();
    watch.reportTrouble('late');
    assert.deepEqual(pauses, []);
  });
});

function watched(answer: () => string | undefined) {
  const pauses: number[] = [];
  let waiting: (() => void) | undefined;
  const clock: Clock = {
    nowMs: () => 0,
    wallMs: () => 0,
    setTimer: (delayMs, callback) => {
      pauses.push(delayMs);
      waiting = callback;
      return { cancel: () => (waiting = undefined) };
    },
    defer: () => ({ cancel: () => undefined }),
  };
  const watch = new DatabaseWatch({ probe: () => Promise.resolve(answer()), clock, log: quietLog });
  return {
    watch,
    pauses,
    /** A probe that has begun has been dealt with: its promise chain is a few microtasks long. */
    probed: () => new Promise((resolve) => setImmediate(resolve)),
    nextPauseOver: () => waiting?.(),
  };
}
