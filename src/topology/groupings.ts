/** How a stream's tuples are shared out among the tasks of a consuming bolt, as in Storm. */
import { nextBelow, type RandomSource } from './random.ts';
import { hashValues } from './stable-hash.ts';
import type { Values } from './tuple.ts';

export type Grouping<V extends Values = Values> =
  | { readonly kind: 'shuffle' }
  | { readonly kind: 'local-or-shuffle' }
  | { readonly kind: 'fields'; readonly fields: readonly (keyof V & string)[] }
  | { readonly kind: 'partial-key'; readonly fields: readonly (keyof V & string)[] }
  | { readonly kind: 'all' }
  | { readonly kind: 'global' }
  | { readonly kind: 'direct'; readonly taskField: keyof V & string }
  | { readonly kind: 'custom'; readonly choose: ChooseTasks<V> };

/** Picks task numbers in [0, tasks); each at most once. */
export type ChooseTasks<V extends Values> = (values: V, tasks: number) => readonly number[];

/** The least loaded task. */
export const shuffle = { kind: 'shuffle' } as const;
/** All tasks of this runtime are local: the same as shuffle. */
export const localOrShuffle = { kind: 'local-or-shuffle' } as const;
/** Every task. */
export const all = { kind: 'all' } as const;
/** The task with the lowest number. */
export const global = { kind: 'global' } as const;

/** Equal values of these fields go to the same task, in every process and after every restart. */
export function fields<F extends string>(...names: readonly F[]): { kind: 'fields'; fields: readonly F[] } {
  return { kind: 'fields', fields: names };
}

/** As `fields`, but each key has two tasks and goes to the less loaded one of them. */
export function partialKey<F extends string>(
  ...names: readonly F[]
): { kind: 'partial-key'; fields: readonly F[] } {
  return { kind: 'partial-key', fields: names };
}

/** The emitter decides: the value of this field is the task's number. */
export function direct<F extends string>(taskField: F): { kind: 'direct'; taskField: F } {
  return { kind: 'direct', taskField };
}

export function custom<V extends Values>(choose: ChooseTasks<V>): { kind: 'custom'; choose: ChooseTasks<V> } {
  return { kind: 'custom', choose };
}

/** What a grouping may know of a task: tuples waiting for it or running in it. */
export interface TaskLoad {
  readonly load: number;
}

/** Appends the chosen tasks to `chosen`. Throws when values or a custom choice name no task. */
export type Selector = <T extends TaskLoad>(values: Values, tasks: readonly T[], chosen: T[]) => void;

export function createSelector(grouping: Grouping, random: RandomSource): Selector {
  switch (grouping.kind) {
    case 'shuffle':
    case 'local-or-shuffle':
      return leastLoaded(random);
    case 'fields':
      return (values, tasks, chosen) => {
        pushTask(tasks, hashValues(values, grouping.fields, 0) % tasks.length, chosen);
      };
    case 'partial-key':
      return (values, tasks, chosen) => {
        pushTask(tasks, lessLoadedOfTwo(values, grouping.fields, tasks), chosen);
      };
    case 'all':
      return (_values, tasks, chosen) => {
        for (const task of tasks) chosen.push(task);
      };
    case 'global':
      return (_values, tasks, chosen) => {
        pushTask(tasks, 0, chosen);
      };
    case 'direct':
      return (values, tasks, chosen) => {
        pushTask(tasks, Number(values[grouping.taskField]), chosen);
      };
    case 'custom':
      return (values, tasks, chosen) => {
        for (const task of grouping.choose(values, tasks.length)) pushTask(tasks, task, chosen);
      };
  }
}

/** Starts looking at a random task, so that equally loaded ones get equal work. */
function leastLoaded(random: RandomSource): Selector {
  return (_values, tasks, chosen) => {
    const start = tasks.length === 1 ? 0 : nextBelow(random, tasks.length);
    let best = start;
    for (let step = 1; step < tasks.length; step++) {
      const task = (start + step) % tasks.length;
      if (loadOf(tasks, task) < loadOf(tasks, best)) best = task;
    }
    pushTask(tasks, best, chosen);
  };
}

function lessLoadedOfTwo(values: Values, names: readonly string[], tasks: readonly TaskLoad[]): number {
  const first = hashValues(values, names, 0) % tasks.length;
  if (tasks.length === 1) return first;
  // The second candidate is drawn from the other tasks: two hashes alone would often name one task twice.
  const second = (first + 1 + (hashValues(values, names, 1) % (tasks.length - 1))) % tasks.length;
  return loadOf(tasks, second) < loadOf(tasks, first) ? second : first;
}

function loadOf(tasks: readonly TaskLoad[], task: number): number {
  return tasks[task]?.load ?? Number.POSITIVE_INFINITY;
}

function pushTask<T>(tasks: readonly T[], task: number, chosen: T[]): void {
  const target = tasks[task];
  if (target === undefined) {
    throw new RangeError(`grouping: task ${task} does not exist, the bolt has tasks 0..${tasks.length - 1}`);
  }
  chosen.push(target);
}
