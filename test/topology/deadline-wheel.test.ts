import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { DeadlineWheel } from '../../src/topology/deadline-wheel.ts';
import { VirtualClock } from '../../src/topology/testing/virtual-clock.ts';

const TIMEOUT_MS = 30_000;
/** The difference of two times is rounded; deadlines are compared exactly. */
const ROUNDING_MS = 1e-9;

class Bench {
  readonly clock = new VirtualClock();
  readonly expiredAtMs = new Map<number, number>();
  readonly wheel = new DeadlineWheel({
    clock: this.clock,
    timeoutMs: TIMEOUT_MS,
    expire: (slot) => {
      assert.ok(!this.expiredAtMs.has(slot), 'expires once');
      this.expiredAtMs.set(slot, this.clock.nowMs());
    },
  });

  add(slot: number): void {
    this.wheel.add(slot, this.wheel.nowMs() + TIMEOUT_MS);
  }

  advance(byMs: number): void {
    const endMs = this.clock.nowMs() + byMs;
    this.runReady();
    for (
      let next = this.clock.nextTimerMs;
      next !== undefined && next <= endMs;
      next = this.clock.nextTimerMs
    ) {
      this.clock.move(Math.max(0, next - this.clock.nowMs()));
      this.runReady();
    }
    this.clock.move(endMs - this.clock.nowMs());
  }

  runReady(): void {
    while (this.clock.hasReady) this.clock.runOne();
  }
}

describe('deadline wheel', () => {
  it('expires each entry at an age within [T, T + T/30], whenever it was added', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 70_000, noNaN: true }), { maxLength: 60 }), (delays) => {
        const bench = new Bench();
        const addedAtMs = delays.map((delayMs, slot) => {
          bench.advance(delayMs / 10);
          bench.add(slot);
          return bench.clock.nowMs();
        });
        bench.advance(TIMEOUT_MS * 2);
        for (const [slot, atMs] of addedAtMs.entries()) {
          const ageMs = (bench.expiredAtMs.get(slot) ?? NaN) - atMs;
          assert.ok(ageMs >= TIMEOUT_MS - ROUNDING_MS && ageMs <= TIMEOUT_MS * (1 + 1 / 30), `age ${ageMs}`);
        }
        assert.equal(bench.wheel.size, 0);
        assert.equal(bench.clock.timers, 0, 'beats only while it holds something');
      }),
      { numRuns: 100 },
    );
  });

  it('never expires what was removed, and keeps extended entries to their new deadline', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            gapMs: fc.integer({ min: 0, max: 5_000 }),
            fate: fc.constantFrom('stay', 'remove', 'extend'),
            afterMs: fc.integer({ min: 0, max: 29_000 }),
          }),
          { maxLength: 40 },
        ),
        (entries) => {
          const bench = new Bench();
          const expectedAtMs = new Map<number, number>();
          for (const [slot, { gapMs, fate, afterMs }] of entries.entries()) {
            bench.advance(gapMs);
            bench.add(slot);
            expectedAtMs.set(slot, bench.clock.nowMs() + TIMEOUT_MS);
            if (fate === 'stay') continue;
            bench.clock.setTimer(afterMs, () => {
              if (fate === 'remove') {
                bench.wheel.remove(slot);
                bench.wheel.remove(slot);
                expectedAtMs.delete(slot);
              } else {
                bench.wheel.extend(slot, bench.wheel.nowMs() + TIMEOUT_MS);
                expectedAtMs.set(slot, bench.clock.nowMs() + TIMEOUT_MS);
              }
            });
          }
          bench.advance(TIMEOUT_MS * 3);
          assert.deepEqual([...bench.expiredAtMs.keys()].sort(), [...expectedAtMs.keys()].sort());
          for (const [slot, dueMs] of expectedAtMs) {
            const lateMs = (bench.expiredAtMs.get(slot) ?? NaN) - dueMs;
            assert.ok(lateMs >= 0 && lateMs <= TIMEOUT_MS / 30, `late by ${lateMs}`);
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  it('takes a slot that is freed and used again while it expires others', () => {
    const clock = new VirtualClock();
    const expired: number[] = [];
    const wheel: DeadlineWheel = new DeadlineWheel({
      clock,
      timeoutMs: 600,
      expire: (slot) => {
        expired.push(slot);
        if (expired.length > 2) return;
        wheel.remove(1);
        wheel.add(1, wheel.nowMs() + 600);
      },
    });
    wheel.add(1, 600);
    wheel.add(0, 600);
    for (let step = 0; step < 1_000 && expired.length < 3; step++) {
      clock.move(10);
      while (clock.hasReady) clock.runOne();
    }
    assert.deepEqual(expired, [0, 1, 1]);
    wheel.stop();
    assert.equal(clock.timers, 0);
  });

  it('moves the remaining deadlines by a stall, and lets arrived results win', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 29_900 }),
        fc.integer({ min: 1_000, max: 120_000 }),
        (ageAtStallMs, stallMs) => {
          const bench = new Bench();
          bench.add(0);
          bench.add(1);
          bench.advance(ageAtStallMs);
          // The answer for entry 1 arrives during the stall.
          bench.clock.setTimer(stallMs / 2, () => {
            bench.wheel.remove(1);
          });
          bench.clock.move(stallMs);
          bench.advance(TIMEOUT_MS * 2);
          const ageMs = bench.expiredAtMs.get(0) ?? NaN;
          assert.ok(ageMs >= TIMEOUT_MS + stallMs - TIMEOUT_MS / 30, `expired at ${ageMs}`);
          assert.ok(ageMs <= TIMEOUT_MS + stallMs + TIMEOUT_MS / 30, `expired at ${ageMs}`);
          assert.ok(!bench.expiredAtMs.has(1), 'its result had arrived');
        },
      ),
      { numRuns: 200 },
    );
  });

  it('does not move for jumps of the wall clock', () => {
    const bench = new Bench();
    bench.add(0);
    bench.clock.jumpWall(-25 * 3_600_000);
    bench.advance(TIMEOUT_MS - 1);
    assert.equal(bench.expiredAtMs.size, 0);
    bench.clock.jumpWall(50 * 3_600_000);
    bench.advance(1_001);
    assert.equal(bench.expiredAtMs.size, 1);
  });
});
