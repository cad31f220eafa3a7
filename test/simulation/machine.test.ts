import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { SimulatedProcess } from './machine.ts';
import { SimulatedTime } from './time.ts';

describe('simulated time and processes', () => {
  it('runs events by time, equal ones in their order, and drains promises after each', async () => {
    const time = new SimulatedTime();
    const seen: string[] = [];
    time.after(2, () => seen.push(`third at ${time.nowMs}`));
    time.after(1, () => {
      seen.push('first');
      void Promise.resolve().then(() => seen.push('its promise'));
    });
    time.after(1, () => seen.push('second'));
    time.after(1, () => seen.push('never')).cancel();
    assert.equal(await time.run(1.5, () => false), 'time is up');
    assert.equal(await time.run(10, () => false), 'nothing left');
    assert.deepEqual(seen, ['first', 'its promise', 'second', 'third at 2']);
  });

  it('never runs anything of a killed process again', async () => {
    const time = new SimulatedTime();
    const process = new SimulatedProcess('p', time);
    const seen: string[] = [];
    process.setTimer(5, () => seen.push('timer'));
    process.later(5, () => seen.push('reply'));
    process.onKill(() => seen.push('killed'));
    time.after(1, () => {
      process.kill();
      process.setTimer(1, () => seen.push('set by the dead'));
    });
    await time.run(10, () => false);
    assert.deepEqual(seen, ['killed']);
  });

  it('lets a stopped process go on with all that waited, and time go by meanwhile', async () => {
    const time = new SimulatedTime();
    const process = new SimulatedProcess('p', time);
    const seen: string[] = [];
    const note = (what: string) => () => seen.push(`${what} at ${process.nowMs()}`);
    process.setTimer(5, note('timer'));
    process.later(6, note('reply'));
    time.after(1, () => {
      process.stop();
    });
    time.after(40, () => {
      process.goOn();
    });
    await time.run(100, () => false);
    assert.deepEqual(seen, ['timer at 40', 'reply at 40']);
    assert.equal(process.timers, 0);
  });

  it('moves the wall clock without the monotonic one', () => {
    const time = new SimulatedTime();
    const process = new SimulatedProcess('p', time);
    const before = process.wallMs();
    process.wallOffsetMs -= 3_600_000;
    assert.equal(process.wallMs() - before, -3_600_000);
    assert.equal(process.nowMs(), 0);
  });
});
