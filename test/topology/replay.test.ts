import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { backoffCeilingMs, decideReplay, type ReplayRules } from '../../src/topology/replay-policy.ts';
import { ReplayQueue } from '../../src/topology/replay-queue.ts';
import { seededRandom } from '../../src/topology/random.ts';
import { VirtualClock } from '../../src/topology/testing/virtual-clock.ts';

const rule = fc.record({
  baseMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
  capMs: fc.integer({ min: 1, max: 86_400_000 }),
  maxReplays: fc.constant(Infinity),
});

describe('replay policy', () => {
  it('gives delays in [1, cap], whole-numbered up to rounding, for any exponent up to 10^6 and beyond', () => {
    fc.assert(
      fc.property(
        rule,
        fc.double({ min: 0, max: 1e12, noNaN: true }),
        fc.nat(),
        (otherwise, replays, seed) => {
          const failure = { errorClass: 'x', retryAfterMs: undefined };
          const decision = decideReplay({ otherwise }, failure, Math.floor(replays), seededRandom(seed));
          assert.ok(decision.kind === 'replay');
          const { delayMs } = decision;
          assert.ok(delayMs >= 1 && delayMs <= otherwise.capMs, `delay ${delayMs}`);
        },
      ),
    );
  });

  it('doubles its ceiling up to the cap and stays there', () => {
    const backoff = { baseMs: 100, capMs: 60_000, maxReplays: Infinity };
    const ceilings = [0, 1, 2, 9, 10, 1_000_000, Number.MAX_SAFE_INTEGER, Infinity].map((n) =>
      backoffCeilingMs(backoff, n),
    );
    assert.deepEqual(ceilings, [100, 200, 400, 51_200, 60_000, 60_000, 60_000, 60_000]);
  });

  it('spreads delays over the whole range (full jitter)', () => {
    const rules: ReplayRules = { otherwise: { baseMs: 1_000, capMs: 1_000, maxReplays: Infinity } };
    const random = seededRandom(5);
    const tenths = new Array<number>(10).fill(0);
    for (let draw = 0; draw < 10_000; draw++) {
      const decision = decideReplay(rules, { errorClass: 'x', retryAfterMs: undefined }, 0, random);
      const tenth = Math.min(9, Math.floor((decision.kind === 'replay' ? decision.delayMs : 0) / 100));
      tenths[tenth] = (tenths[tenth] ?? 0) + 1;
    }
    for (const count of tenths) assert.ok(count > 850 && count < 1_150, tenths.join(' '));
  });

  it('asks for a rule at the failure, where it depends on what else goes wrong then', () => {
    let isOutage = true;
    const own = { baseMs: 10, capMs: 10, maxReplays: 1 };
    const outage = { baseMs: 20, capMs: 20, maxReplays: Infinity, isCounted: false };
    const rules: ReplayRules = { otherwise: own, byErrorClass: { away: () => (isOutage ? outage : own) } };
    const decide = (replays: number) =>
      decideReplay(rules, { errorClass: 'away', retryAfterMs: undefined }, replays, { next32: () => 0 });
    assert.deepEqual(decide(1), { kind: 'replay', delayMs: 20, replays: 1 });
    isOutage = false;
    assert.deepEqual(decide(0), { kind: 'replay', delayMs: 10, replays: 1 });
    assert.deepEqual(decide(1), { kind: 'exhausted' });
  });

  it('has a rule per error class, honours a wish within bounds, and ends', () => {
    const rules: ReplayRules = {
      otherwise: { baseMs: 10, capMs: 10, maxReplays: 2 },
      byErrorClass: { slow: { baseMs: 5_000, capMs: 5_000, maxReplays: 1 } },
      longestRetryAfterMs: 60_000,
    };
    const decide = (errorClass: string, replays: number, retryAfterMs?: number) =>
      decideReplay(rules, { errorClass, retryAfterMs }, replays, { next32: () => 0 });
    const replay = (delayMs: number, replays = 1) => ({ kind: 'replay', delayMs, replays });
    assert.deepEqual(decide('other', 1), replay(10, 2));
    assert.deepEqual(decide('other', 2), { kind: 'exhausted' });
    assert.deepEqual(decide('slow', 0), replay(5_000));
    assert.deepEqual(decide('slow', 1), { kind: 'exhausted' });
    assert.deepEqual(decide('other', 0, 7_000), replay(7_000));
    assert.deepEqual(decide('other', 0, 1e12), replay(60_000));
    for (const wish of [NaN, -5, 0]) assert.deepEqual(decide('other', 0, wish), replay(10));
    assert.deepEqual(decide('other', 0, Infinity), replay(60_000));
    assert.deepEqual(decide('constructor', 0), replay(10));
  });

  it('does not use up the replays of a class that says nothing about the tuple', () => {
    const rule = { baseMs: 10, capMs: 10, maxReplays: 2 };
    const rules: ReplayRules = {
      otherwise: rule,
      byErrorClass: { away: { ...rule, maxReplays: Infinity, isCounted: false } },
    };
    const decide = (errorClass: string, replays: number) =>
      decideReplay(rules, { errorClass, retryAfterMs: undefined }, replays, { next32: () => 0 });
    assert.deepEqual(decide('away', 2), { kind: 'replay', delayMs: 10, replays: 2 });
    assert.deepEqual(decide('other', 2), { kind: 'exhausted' });
  });

  it('grows by its factor, up to the cap', () => {
    const rule = { baseMs: 1_000, factor: 5, capMs: 3_600_000, maxReplays: Infinity };
    const ceilings = [0, 1, 2, 3, 4, 5, 6, 1e6].map((replays) => backoffCeilingMs(rule, replays));
    assert.equal(backoffCeilingMs({ ...rule, baseMs: 0 }, 1e6), 1);
    assert.deepEqual(ceilings, [1_000, 5_000, 25_000, 125_000, 625_000, 3_125_000, 3_600_000, 3_600_000]);
  });
});

describe('replay queue', () => {
  it('hands out what is due, earliest first, and says when', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 1_000 }), { maxLength: 50 }), (delays) => {
        const clock = new VirtualClock();
        const taken: { dueMs: number; atMs: number }[] = [];
        const queue: ReplayQueue<number> = new ReplayQueue({
          clock,
          capacity: 100,
          share: 1,
          onDue: () => {
            for (let item = queue.next(false); item !== undefined; item = queue.next(false)) {
              taken.push({ dueMs: item, atMs: clock.nowMs() });
            }
          },
        });
        for (const [index, delayMs] of delays.entries()) assert.ok(queue.add(`m${index}`, delayMs, delayMs));
        while (clock.nextTimerMs !== undefined) {
          clock.move(clock.nextTimerMs - clock.nowMs());
          while (clock.hasReady) clock.runOne();
        }
        assert.deepEqual(
          taken.map(({ dueMs }) => dueMs),
          delays.toSorted((a, b) => a - b),
        );
        for (const { dueMs, atMs } of taken) assert.equal(atMs, dueMs);
        assert.equal(queue.size, 0);
      }),
    );
  });

  it('takes its share of the turns while fresh work waits, and every turn otherwise', () => {
    const clock = new VirtualClock();
    const queue = new ReplayQueue<number>({ clock, capacity: 1_000, share: 0.25, onDue: () => undefined });
    for (let item = 0; item < 600; item++) queue.add(`m${item}`, item, 1);
    assert.equal(queue.next(true), undefined, 'none is due yet');
    clock.move(1);
    const turns = Array.from({ length: 400 }, () => queue.next(true));
    assert.equal(turns.filter((item) => item !== undefined).length, 100);
    const alone = Array.from({ length: 400 }, () => queue.next(false));
    assert.equal(alone.filter((item) => item !== undefined).length, 400);
  });

  it('is bounded, can be cancelled, and leaves no timer when it is emptied', () => {
    const clock = new VirtualClock();
    const queue = new ReplayQueue<string>({ clock, capacity: 3, share: 1, onDue: () => undefined });
    assert.deepEqual(
      [30, 10, 20].map((delayMs) => queue.add(`m${delayMs}`, `i${delayMs}`, delayMs)),
      [true, true, true],
    );
    assert.equal(queue.add('m40', 'i40', 40), false);
    assert.equal(queue.cancel('m10'), 'i10');
    assert.equal(queue.cancel('m10'), undefined);
    assert.equal(clock.timers, 1);
    assert.equal(clock.nextTimerMs, 20);
    assert.deepEqual(queue.takeAll(), ['i20', 'i30']);
    assert.equal(clock.timers, 0);
    for (const share of [0, -1, 1.1, NaN]) {
      assert.throws(() => new ReplayQueue({ clock, capacity: 1, share, onDue: () => undefined }), RangeError);
    }
  });
});
