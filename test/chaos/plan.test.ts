import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OPERATORS_ACTS, type BlowKind } from './blows.ts';
import { optionsOf } from './options.ts';
import { planOf, ZOMBIE_MS } from './plan.ts';

describe('the plan of a run', () => {
  it('is the same for the same seed, and another for another', () => {
    assert.deepEqual(planOf(300, 7), planOf(300, 7));
    assert.notDeepEqual(planOf(300, 7), planOf(300, 8));
  });

  it('has enough of everything for 5,000 orders, in order and within the storm', () => {
    const { blows, stormMs } = planOf(5_000, 1);
    const count = (...kinds: BlowKind[]): number =>
      blows.filter(({ blow }) => kinds.includes(blow.kind)).length;
    assert.ok(count('worker killed') >= 100);
    assert.ok(count('database crashed') >= 10);
    assert.ok(count('leader killed', 'node killed') >= 4);
    assert.ok(count('broker cut', 'database cut') >= 30);
    assert.ok(stormMs <= 240_000);
    assert.ok(OPERATORS_ACTS.every((kind) => count(kind) >= 4));
    const times = blows.map(({ atMs }) => atMs);
    assert.deepEqual(
      times,
      times.toSorted((one, other) => one - other),
    );
    assert.ok(times.every((atMs) => atMs >= 0 && atMs <= stormMs));
  });

  it('strikes no worker that is a zombie', () => {
    for (let seed = 0; seed < 50; seed += 1) {
      const { blows } = planOf(300, seed);
      const zombie = blows.find(({ blow }) => blow.kind === 'zombie');
      assert.ok(zombie !== undefined && 'worker' in zombie.blow);
      for (const { atMs, blow } of blows) {
        if (blow === zombie.blow || !('worker' in blow) || atMs < zombie.atMs) continue;
        assert.ok(blow.worker !== zombie.blow.worker || atMs >= zombie.atMs + ZOMBIE_MS, `seed ${seed}`);
      }
    }
  });

  it('has each of the kinds that a small run can stand, too', () => {
    const kinds = new Set(planOf(10, 1).blows.map(({ blow }) => blow.kind));
    assert.equal(kinds.size, 16);
  });
});

describe('options of npm run chaos', () => {
  it('have defaults', () => {
    const options = { orders: 5_000, seed: 9, plant: undefined, evidence: undefined, json: false };
    assert.deepEqual(
      optionsOf([], () => 9),
      options,
    );
  });

  for (const args of [
    ['--orders', '0'],
    ['--orders', '1e3'],
    ['--seed', '-1'],
    ['--plant', 'rose'],
    ['--order'],
    ['x'],
  ])
    it(`refuse ${args.join(' ')}`, () => {
      assert.throws(() => optionsOf(args, () => 9));
    });
});
