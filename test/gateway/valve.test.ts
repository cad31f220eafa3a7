import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Valve, type Objection, type Passage, type Stop } from '../../src/adapters/gateway/valve.ts';
import { VirtualClock } from '../../src/topology/testing/virtual-clock.ts';
import { collectingLog } from './collecting-log.ts';

const AWAY: Stop = { cause: 'breaker_open', because: 'the gateway is away' };
const BROKEN: Stop = { cause: 'configuration', because: 'the key is wrong' };

describe('the valve', () => {
  let clock: VirtualClock;
  let valve: Valve;

  beforeEach(() => {
    clock = new VirtualClock();
    valve = new Valve({ clock, log: collectingLog(), fullFlow: 8 });
  });

  function enter(): Passage {
    const passage = valve.enter();
    assert.ok(passage, 'a request is let through');
    return passage;
  }

  function stop(because: Stop = AWAY): void {
    valve.leave(enter(), enough(because));
  }

  function pass(ms: number): void {
    clock.move(ms);
    while (clock.runOne());
  }

  it('lets everything through while nothing is objected to', () => {
    const passages = [enter(), enter(), enter()];
    for (const passage of passages) valve.leave(passage, undefined);
    assert.deepEqual([valve.mostInWork(), valve.unavailableBecause()], [Infinity, undefined]);
  });

  it('goes on after an objection that is not enough', () => {
    valve.leave(enter(), { stop: AWAY, isEnough: false });
    assert.equal(valve.mostInWork(), Infinity);
  });

  it('stops, and says why, since when and when it is tried again', () => {
    stop();
    assert.equal(valve.enter(), undefined);
    assert.deepEqual([valve.mostInWork(), valve.stop], [0, AWAY]);
    assert.equal(
      valve.unavailableBecause(),
      'the gateway is away; stopped since 2026-01-01T00:00:00Z, an order tries it at 2026-01-01T00:00:01Z',
    );
  });

  it('lets one request through after the pause, and says that it is still stopped', () => {
    stop();
    pass(999);
    assert.equal(valve.enter(), undefined);
    pass(1);
    assert.equal(valve.mostInWork(), 1);
    assert.match(valve.unavailableBecause() ?? '', /since 2026-01-01T00:00:00Z, the next order tries it now/);
    assert.ok(enter().isProbe);
    assert.equal(valve.enter(), undefined);
    assert.match(valve.unavailableBecause() ?? '', /an order tries it now/);
  });

  it('pauses longer from probe to probe, up to 8 s, and remembers since when', () => {
    stop();
    for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 8_000]) {
      pass(pauseMs - 1);
      assert.equal(valve.enter(), undefined, `${pauseMs} ms are not over`);
      pass(1);
      valve.leave(enter(), { stop: AWAY, isEnough: false });
      assert.match(valve.unavailableBecause() ?? '', /stopped since 2026-01-01T00:00:00Z/);
    }
  });

  it('opens step by step after a good probe: twice as many with every round of answers', () => {
    stop();
    pass(1_000);
    valve.leave(enter(), undefined);
    assert.equal(valve.unavailableBecause(), undefined);
    const most = [valve.mostInWork()];
    while (valve.mostInWork() !== Infinity) {
      const round = Array.from({ length: valve.mostInWork() }, enter);
      for (const passage of round) valve.leave(passage, undefined);
      most.push(valve.mostInWork());
    }
    assert.deepEqual(most, [2, 4, Infinity]);
  });

  it('opens with half of what was under way after a wish for a slower pace, and halves again with the next', () => {
    valve = new Valve({ clock, log: collectingLog(), fullFlow: 100 });
    const slower: Stop = { cause: 'rate_limited', because: 'too fast' };
    const passages = Array.from({ length: 40 }, enter);
    for (const passage of passages) valve.leave(passage, enough(slower));
    pass(1_000);
    valve.leave(enter(), undefined);
    assert.equal(valve.mostInWork(), 20);

    const fewer = Array.from({ length: 20 }, enter);
    for (const passage of fewer) valve.leave(passage, enough(slower));
    pass(1_000);
    valve.leave(enter(), enough(slower));
    pass(2_000);
    valve.leave(enter(), undefined);
    assert.equal(valve.mostInWork(), 5);
  });

  it('begins with the shortest pause again after a good probe', () => {
    stop();
    pass(1_000);
    stop();
    pass(2_000);
    valve.leave(enter(), undefined);
    stop();
    pass(1_000);
    assert.equal(valve.mostInWork(), 1);
  });

  it('keeps the pause that was asked for, also one of a request that was under way', () => {
    const late = enter();
    stop({ cause: 'rate_limited', because: 'too fast', pauseMs: 5_000 });
    pass(2_000);
    valve.leave(late, enough({ cause: 'rate_limited', because: 'too fast', pauseMs: 6_000 }));
    pass(5_999);
    assert.equal(valve.mostInWork(), 0);
    pass(1);
    assert.equal(valve.mostInWork(), 1);
  });

  it('never pauses for less than its own time, whatever was asked for', () => {
    stop({ cause: 'rate_limited', because: 'too fast', pauseMs: 0 });
    pass(999);
    assert.equal(valve.mostInWork(), 0);
  });

  it('takes no answer from before the stop for a good sign, nor for a bad one once it is open', () => {
    const [good, bad, worse] = [enter(), enter(), enter()];
    stop();
    valve.leave(good, undefined);
    assert.equal(valve.mostInWork(), 0);
    pass(1_000);
    const probe = enter();
    valve.leave(bad, enough(BROKEN));
    assert.equal(valve.stop, AWAY);
    valve.leave(probe, undefined);
    valve.leave(worse, enough(BROKEN));
    assert.equal(valve.mostInWork(), 2);
  });

  it('says the weightier of two reasons', () => {
    const [first, second] = [enter(), enter()];
    stop();
    valve.leave(first, enough(BROKEN));
    assert.equal(valve.stop, BROKEN);
    valve.leave(second, enough(AWAY));
    assert.equal(valve.stop, BROKEN);
  });

  it('tells listeners of each change, later and never from within, until they are let go', async () => {
    const seen: number[] = [];
    const letGo = valve.onChange(() => seen.push(valve.mostInWork()));
    stop();
    assert.deepEqual(seen, []);
    await Promise.resolve();
    assert.deepEqual(seen, [0]);
    letGo();
    pass(1_000);
    await Promise.resolve();
    assert.deepEqual(seen, [0]);
  });

  it('leaves no timer when it is closed', () => {
    stop();
    valve.close();
    assert.equal(clock.timers, 0);
  });
});

function enough(stop: Stop): Objection {
  return { stop, isEnough: true };
}
