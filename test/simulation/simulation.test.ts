/**
 * A small part of what `npm run sim` does, on every test run: random seeds, every single fault of one order and a share
 * of the pairs, plans that fast-check makes up, planted bugs, and that the same seed is the same run.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';

import { runCampaign } from './campaign.ts';
import { exhaust } from './exhaustive.ts';
import { FAULTS, plannedFaults, type Fault, type Site } from './faults.ts';
import { huntPlant, PLANTS } from './hunt.ts';
import { readRegressions } from './regressions.ts';
import { shrink } from './shrink.ts';
import { simulate, type Violation } from './simulation.ts';
import { missingFrom } from './tally.ts';

Error.stackTraceLimit = 10;

describe('simulation', () => {
  it('violates nothing, and is not vacuous, in random runs', async () => {
    const tally = await runCampaign({ firstSeed: 1, seeds: 250 });
    assert.deepEqual(
      tally.failures.map(({ seed, violations }) => `seed ${seed}: ${inWords(violations)}`),
      [],
    );
    assert.ok(tally.orders > 1_500, `${tally.orders} orders`);
    assert.ok(tally.kills > 300, `${tally.kills} kills`);
    // Of some 180 kinds, changes and classes the rarest may be missing in so few runs; npm run sim has them all.
    const missing = missingFrom(tally, 1);
    assert.ok(missing.length <= 40, missing.join('\n'));
  });

  it('violates nothing with any single fault, and any pair of a share, in the life of one order', async () => {
    const violated: string[] = [];
    let runs = 0;
    await exhaust({
      everyNthFirst: 240,
      remainder: 57,
      onRun: ({ violations }, plan) => {
        runs += 1;
        if (violations.length > 0) violated.push(`${JSON.stringify(plan)}: ${inWords(violations)}`);
      },
    });
    assert.deepEqual(violated, []);
    assert.ok(runs > 700, `${runs} runs`);
  });

  it('violates nothing with plans that are made up', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(1_000), fc.array(anyFault(), { maxLength: 8 }), async (seed, plan) => {
        const { violations } = await simulate({ seed, orders: 2, plan });
        assert.deepEqual(violations, []);
      }),
      { numRuns: 40 },
    );
  });

  it('is the same run for the same seed, and for the plan of what struck in it', async () => {
    for (const seed of [3, 8, 12]) {
      const first = await simulate({ seed, keepTrace: true });
      assert.ok(first.trace.length > 100 && first.struck.length > 0);
      assert.deepEqual((await simulate({ seed, keepTrace: true })).trace, first.trace);
      const planned = await simulate({ seed, plan: first.struck, keepTrace: true });
      assert.deepEqual(planned.trace, first.trace);
    }
  });

  it('differs from seed to seed', async () => {
    const [one, other] = await Promise.all(
      [1, 2].map((seed) => simulate({ seed, plan: [], keepTrace: true })),
    );
    assert.notDeepEqual(one?.trace, other?.trace);
  });

  it('makes faults strike at the call that they name, and nowhere else', () => {
    const fault: Fault = { site: 'broker.ack', nth: 2, kind: 'cut-before', ms: 0 };
    const faults = plannedFaults([fault]);
    assert.deepEqual(
      [faults.at('broker.ack'), faults.at('database.read'), faults.at('broker.ack'), faults.at('broker.ack')],
      [undefined, undefined, fault, undefined],
    );
    assert.deepEqual(faults.struck, [fault]);
    faults.heal();
    assert.equal(faults.at('broker.ack'), undefined);
  });
});

describe('planted bugs', () => {
  for (const plant of PLANTS) {
    it(`finds: ${plant.name}`, async () => {
      const found = await huntPlant(plant, 1, 3_000);
      assert.ok(found !== undefined, `${plant.name} was not found in 3,000 seeds`);
    });
  }

  it('shrinks what it finds to a few steps, also by fast-check', async () => {
    const plant = PLANTS.find(({ name }) => name === 'timeout taken for a decline');
    assert.ok(plant !== undefined);
    const found = await huntPlant(plant, 1, 3_000);
    assert.ok(found !== undefined);
    const { orders, seed, struck } = found.result;
    const least = await shrink({ seed, orders, workers: 2, plan: struck }, plant.alter);
    assert.ok(least.plan.length <= 2, JSON.stringify(least.plan));

    const details = await fc.check(
      fc.asyncProperty(fc.array(faultOf(['gateway.authorize']), { maxLength: 12 }), async (plan) => {
        const run = await simulate({ seed: 4, orders: 2, fate: 'approved', plan, alter: plant.alter });
        return run.violations.length === 0;
      }),
      { numRuns: 200, seed: 1 },
    );
    const [plan] = details.counterexample ?? [];
    assert.equal(plan?.length, 1, JSON.stringify(plan));
  });
});

describe('stored runs', () => {
  for (const { name, regression } of readRegressions()) {
    it(`${name}: ${regression.about}`, async () => {
      const { violations } = await simulate(regression);
      assert.deepEqual(violations, []);
    });
  }
});

/** A fault at one of the first calls of any site. */
function anyFault(): fc.Arbitrary<Fault> {
  return faultOf(Object.keys(FAULTS) as Site[]);
}

function faultOf(sites: readonly Site[]): fc.Arbitrary<Fault> {
  return fc.constantFrom(...sites).chain((site) =>
    fc.record({
      site: fc.constant(site),
      nth: fc.integer({ min: 1, max: 12 }),
      kind: fc.constantFrom(...FAULTS[site]),
      ms: fc.integer({ min: 1, max: 40_000 }),
      ...(site === 'world' ? { atMs: fc.integer({ min: 0, max: 30_000 }) } : {}),
    }),
  );
}

function inWords(violations: readonly Violation[]): string {
  return violations.map(({ invariant, what }) => `${invariant} ${what}`).join(', ');
}
