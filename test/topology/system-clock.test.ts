import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { Clock } from '../../src/topology/clock.ts';
import { seededRandom, nextBelow } from '../../src/topology/random.ts';
import { TopologyRunner } from '../../src/topology/runner.ts';
import { systemClock, systemRandom } from '../../src/topology/system-clock.ts';
import { basicBolt, numberSpout, oneBolt, pushNumbers } from './fixtures.ts';

function timer(clock: Clock, delayMs: number): Promise<number> {
  return new Promise((resolve) => {
    clock.setTimer(delayMs, () => {
      resolve(clock.nowMs());
    });
  });
}

describe('system clock', () => {
  it('never fires a timer early, by its own time', async () => {
    const startMs = systemClock.nowMs();
    const delays = [0, 0.4, 1, 1.7, 3.3, 9.9, 20.01];
    const firedMs = await Promise.all(delays.map((delayMs) => timer(systemClock, delayMs)));
    for (const [at, delayMs] of delays.entries()) assert.ok((firedMs[at] ?? 0) - startMs >= delayMs);
  });

  it('does not fire what was cancelled, nor a far timer at once', async () => {
    const fired: string[] = [];
    systemClock.setTimer(1, () => fired.push('timer')).cancel();
    systemClock.defer(() => fired.push('deferred')).cancel();
    const far = systemClock.setTimer(2 ** 40, () => fired.push('far'));
    await timer(systemClock, 15);
    far.cancel();
    assert.deepEqual(fired, []);
  });

  it('defers behind promise callbacks', async () => {
    const order: string[] = [];
    await new Promise<void>((resolve) => {
      systemClock.defer(() => {
        order.push('deferred');
        resolve();
      });
      void Promise.resolve().then(() => order.push('promise'));
    });
    assert.deepEqual(order, ['promise', 'deferred']);
  });
});

describe('random sources', () => {
  it('give the same numbers for the same seed, and others for another', () => {
    const draw = (seed: number): number[] => {
      const random = seededRandom(seed);
      return Array.from({ length: 8 }, () => random.next32());
    };
    assert.deepEqual(draw(1), draw(1));
    assert.notDeepEqual(draw(1), draw(2));
    assert.notDeepEqual(draw(1), draw(2 ** 32 + 1));
    const [first, second] = [systemRandom(), systemRandom()];
    assert.notDeepEqual([first.next32(), first.next32()], [second.next32(), second.next32()]);
  });

  it('are uniform enough for dice', () => {
    const random = seededRandom(11);
    const faces = new Array<number>(6).fill(0);
    for (let throws = 0; throws < 12_000; throws++) {
      const face = nextBelow(random, 6);
      faces[face] = (faces[face] ?? 0) + 1;
    }
    for (const count of faces) assert.ok(count > 1_800 && count < 2_200, faces.join(' '));
  });
});

describe('a topology in real time', () => {
  it('works, rejects nothing unheard, and leaves no timer', async () => {
    const unheard: unknown[] = [];
    const hear = (reason: unknown): void => {
      unheard.push(reason);
    };
    process.on('unhandledRejection', hear);
    const spout = numberSpout();
    const bolt = basicBolt(async (tuple) => {
      await timer(systemClock, tuple.values.n % 3);
      if (tuple.values.n % 4 === 0) throw new Error('no');
    });
    const runner = new TopologyRunner(oneBolt(spout, bolt, { concurrency: 20, cap: 50, tickEveryMs: 1 }), {
      clock: systemClock,
      random: systemRandom(),
    });
    await runner.start();
    pushNumbers(spout, 400);
    while (spout.outcomes.length < 390) await timer(systemClock, 1);
    const report = await runner.drain(5_000);
    process.off('unhandledRejection', hear);
    assert.equal(report.unknown.length, 0);
    assert.equal(new Set(spout.outcomes.map(({ messageId }) => messageId)).size, spout.outcomes.length);
    assert.deepEqual(unheard, []);
    assert.deepEqual(
      process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout'),
      [],
    );
  });

  it('processes what arrived during a blocked event loop before any timeout', async () => {
    const spout = numberSpout();
    const bolt = basicBolt(async () => {
      await timer(systemClock, 100);
    });
    const topology = oneBolt(spout, bolt, { concurrency: 20, cap: 20, messageTimeoutMs: 300 });
    const runner = new TopologyRunner(topology, { clock: systemClock, random: systemRandom() });
    await runner.start();
    pushNumbers(spout, 20);
    while (runner.pendingTrees().length < 20) await timer(systemClock, 1);
    const blockedUntilMs = systemClock.nowMs() + 600;
    while (systemClock.nowMs() < blockedUntilMs);
    while (spout.outcomes.length < 20) await timer(systemClock, 1);
    assert.ok(spout.outcomes.every(({ kind }) => kind === 'acked'));
    await runner.drain(1_000);
  });
});
