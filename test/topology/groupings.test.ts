import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import {
  all,
  createSelector,
  custom,
  direct,
  fields,
  global,
  localOrShuffle,
  partialKey,
  shuffle,
} from '../../src/topology/groupings.ts';
import type { Grouping } from '../../src/topology/groupings.ts';
import { seededRandom } from '../../src/topology/random.ts';
import { hashValues } from '../../src/topology/stable-hash.ts';
import type { Values } from '../../src/topology/tuple.ts';

class Task {
  load = 0;
  readonly number: number;

  constructor(number: number) {
    this.number = number;
  }
}

function makeTasks(count: number): Task[] {
  return Array.from({ length: count }, (_, number) => new Task(number));
}

function choose(grouping: Grouping, tasks: readonly Task[], values: Values, seed = 1): number[] {
  const chosen: Task[] = [];
  createSelector(grouping, seededRandom(seed))(values, tasks, chosen);
  return chosen.map(({ number }) => number);
}

/** Sends `count` tuples, each of which adds to its task's load. */
function loads(
  grouping: Grouping,
  tasks: readonly Task[],
  count: number,
  valuesOf: (n: number) => Values,
): number[] {
  const select = createSelector(grouping, seededRandom(1));
  for (let n = 0; n < count; n++) {
    const chosen: Task[] = [];
    select(valuesOf(n), tasks, chosen);
    for (const task of chosen) task.load++;
  }
  return tasks.map(({ load }) => load);
}

describe('groupings', () => {
  it('shuffle fills the least loaded task first', () => {
    const tasks = makeTasks(3);
    for (const [at, load] of [5, 0, 3].entries()) Object.assign(tasks[at] ?? {}, { load });
    assert.deepEqual(choose(shuffle, tasks, {}), [1]);
    assert.deepEqual(
      loads(shuffle, makeTasks(4), 1_000, () => ({})),
      [250, 250, 250, 250],
    );
  });

  it('shuffle shares out evenly among tasks that are always idle', () => {
    const select = createSelector(shuffle, seededRandom(9));
    const counts = new Array<number>(4).fill(0);
    for (let n = 0; n < 4_000; n++) {
      const chosen: Task[] = [];
      select({}, makeTasks(4), chosen);
      for (const { number } of chosen) counts[number] = (counts[number] ?? 0) + 1;
    }
    for (const count of counts) assert.ok(count > 850 && count < 1_150, counts.join(' '));
  });

  it('fields sends equal values to one task, and spreads different ones', () => {
    const grouping = fields('id') as Grouping;
    const spread = loads(grouping, makeTasks(8), 8_000, (n) => ({ id: `order-${n}`, other: n }));
    for (const load of spread) assert.ok(load > 800 && load < 1_200, spread.join(' '));
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 1, max: 16 }), fc.nat(), (id, count, seed) => {
        const tasks = makeTasks(count);
        const [task] = choose(grouping, tasks, { id, other: 1 });
        for (const one of tasks) one.load = seed % (one.number + 2);
        assert.deepEqual(choose(grouping, tasks, { other: 2, id: structuredClone(id) }, seed), [task]);
      }),
    );
  });

  it('hashes the same in every process: these numbers never change', () => {
    const hashes = [{ id: 'order-1' }, { id: 1 }, { id: '1' }, { id: null }, { id: { b: 1, a: [true] } }].map(
      (values) => hashValues(values, ['id'], 0),
    );
    assert.deepEqual(hashes, HASHES);
    assert.equal(hashValues({ id: { a: [true], b: 1 } }, ['id'], 0), HASHES[4]);
    assert.throws(() => hashValues({ id: () => 1 }, ['id'], 0), TypeError);
    assert.throws(() => hashValues({ id: new Map() }, ['id'], 0), TypeError);
  });

  it('partial key gives each key two tasks, and balances a hot key better than fields', () => {
    const hot = (n: number): Values => ({ id: n % 2 === 0 ? 'hot' : `k${n}` });
    const byFields = Math.max(...loads(fields('id'), makeTasks(8), 4_000, hot));
    const byPartialKey = Math.max(...loads(partialKey('id'), makeTasks(8), 4_000, hot));
    assert.ok(byPartialKey < byFields * 0.65, `${byPartialKey} of ${byFields}`);
    for (let key = 0; key < 100; key++) {
      const tasks = makeTasks(8);
      const used = loads(partialKey('id') as Grouping, tasks, 50, () => ({ id: key })).filter(
        (load) => load > 0,
      );
      assert.deepEqual(used, [25, 25]);
    }
  });

  it('all, global, direct and custom', () => {
    const tasks = makeTasks(3);
    assert.deepEqual(choose(all, tasks, {}), [0, 1, 2]);
    assert.deepEqual(choose(global, tasks, {}), [0]);
    assert.equal(choose(localOrShuffle, tasks, {}).length, 1);
    assert.deepEqual(choose(direct('to') as Grouping, tasks, { to: 2 }), [2]);
    assert.throws(() => choose(direct('to'), tasks, { to: 3 }), /task 3 does not exist/);
    assert.throws(() => choose(direct('to'), tasks, {}), /task NaN does not exist/);
    const ends = custom((_values, count) => [0, count - 1]);
    assert.deepEqual(choose(ends, tasks, {}), [0, 2]);
    assert.throws(
      () =>
        choose(
          custom(() => [7]),
          tasks,
          {},
        ),
      RangeError,
    );
  });
});

const HASHES = [3912733623, 2855225089, 3356774184, 1693486945, 3561566406];
