import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { TopologyInvalidError, type TopologySettings } from '../../src/topology/builder.ts';
import { custom, direct, fields, partialKey, shuffle, type Grouping } from '../../src/topology/groupings.ts';
import type { BoltDeclaration, InputDeclaration, Topology } from '../../src/topology/topology.ts';
import { findProblems } from '../../src/topology/topology-rules.ts';
import { basicBolt, fromSource, numberSpout, sourceOf } from './fixtures.ts';

function input(from: string, stream: string, grouping: Grouping = shuffle): InputDeclaration {
  return { from, stream, grouping };
}

function bolt(
  id: string,
  inputs: readonly InputDeclaration[],
  more: Partial<BoltDeclaration> = {},
): BoltDeclaration {
  return {
    id,
    inputs,
    create: () => basicBolt(() => undefined),
    streams: {},
    unconsumed: [],
    tasks: 1,
    concurrency: 1,
    mailboxCapacity: 16,
    tickEveryMs: undefined,
    ...more,
  };
}

const source = {
  id: 'source',
  spout: numberSpout(),
  streams: { numbers: ['n', 'key'] },
  unconsumed: [],
  maxSpoutPending: 10,
};

function topologyOf(bolts: readonly BoltDeclaration[], more: Partial<Topology> = {}): Topology {
  return { spouts: [source], bolts, messageTimeoutMs: 30_000, maxTreeLifetimeMs: 60_000, ...more };
}

const numbers = input('source', 'numbers');

/** Each row: what is wrong, the topology, and what must be said, in full. */
const TABLE: readonly (readonly [string, Topology, readonly RegExp[]])[] = [
  ['nothing', topologyOf([bolt('work', [numbers])]), []],
  [
    'nothing: two bolts on one stream, a diamond, error streams',
    topologyOf([
      bolt('a', [numbers], { streams: { out: ['n'] } }),
      bolt('b', [input('source', 'numbers', fields('key', 'n'))], { streams: { out: ['n'] } }),
      bolt('c', [
        input('a', 'out'),
        input(
          'b',
          'out',
          custom(() => [0]),
        ),
        input('a', 'error'),
      ]),
    ]),
    [],
  ],
  ['no spout', topologyOf([], { spouts: [] }), [/^there is no spout/]],
  [
    'unknown component',
    topologyOf([bolt('work', [numbers, input('sauce', 'numbers')])]),
    [/^bolt "work" consumes from "sauce", which is not a component/],
  ],
  [
    'unknown stream',
    topologyOf([bolt('work', [numbers, input('source', 'letters')])]),
    [/^bolt "work" consumes stream "letters", which "source" never emits \(it has: "numbers"\)/],
  ],
  [
    'error stream of a spout',
    topologyOf([bolt('work', [numbers, input('source', 'error')])]),
    [/stream "error", which "source" never emits/],
  ],
  [
    'unknown fields',
    topologyOf([
      bolt('a', [input('source', 'numbers', fields('id'))]),
      bolt('b', [input('source', 'numbers', partialKey('n', 'toString'))]),
      bolt('c', [input('source', 'numbers', direct('task'))]),
      bolt('d', [input('a', 'error', fields('cause'))]),
    ]),
    [
      /"a" groups .* unknown field "id" \(it has: n, key\)/,
      /"b" .* "toString"/,
      /"c" .* "task"/,
      /"d" .* "cause"/,
    ],
  ],
  [
    'duplicate ids',
    topologyOf([bolt('source', [numbers]), bolt('x', [numbers]), bolt('x', [numbers])]),
    [/id "source" is used twice/, /id "x" is used twice/, /cycle: source -> source/],
  ],
  ['bad id', topologyOf([bolt('My Bolt', [numbers])]), [/id "My Bolt" must be lower-case words/]],
  [
    'duplicate field and input',
    topologyOf([
      bolt('a', [numbers, numbers], { streams: { out: ['n', 'n'] } }),
      bolt('b', [input('a', 'out')]),
    ]),
    [/"a.out" names a field twice/, /"a" consumes "source.numbers" twice/],
  ],
  ['no input', topologyOf([bolt('work', [numbers]), bolt('idle', [])]), [/^bolt "idle" consumes nothing/]],
  [
    'streams that nobody consumes',
    topologyOf([bolt('work', [input('other', 'error')]), bolt('other', [input('work', 'error')])]),
    [/nobody consumes "source.numbers"/, /bolts form a cycle/],
  ],
  [
    'unconsumed names an unknown stream',
    topologyOf([bolt('work', [numbers], { unconsumed: ['out'] })]),
    [/"unconsumed" of "work" names the unknown stream "out"/],
  ],
  [
    'reserved stream',
    topologyOf([bolt('work', [numbers], { streams: { error: ['n'] }, unconsumed: ['error'] })]),
    [/bolt "work" declares the stream "error", which every bolt has/],
  ],
  [
    'cycle',
    topologyOf([
      bolt('a', [numbers, input('c', 'out')], { streams: { out: ['n'] } }),
      bolt('b', [input('a', 'out')], { streams: { out: ['n'] } }),
      bolt('c', [input('b', 'out')], { streams: { out: ['n'] } }),
    ]),
    [/^bolts form a cycle: a -> b -> c -> a; break it/],
  ],
  ['cycle of one', topologyOf([bolt('a', [numbers, input('a', 'error')])]), [/^bolts form a cycle: a -> a/]],
  [
    'timeout off with a finite cap',
    topologyOf([bolt('work', [numbers])], { messageTimeoutMs: 'off', maxTreeLifetimeMs: Infinity }),
    [/^the message timeout is off, but spout "source" has a cap of 10/],
  ],
  [
    'timeout off without a cap',
    topologyOf([bolt('work', [numbers])], {
      spouts: [{ ...source, maxSpoutPending: Infinity }],
      messageTimeoutMs: 'off',
      maxTreeLifetimeMs: Infinity,
    }),
    [],
  ],
  [
    'timeouts that cannot be',
    topologyOf([bolt('work', [numbers])], { messageTimeoutMs: NaN, maxTreeLifetimeMs: 1 }),
    [/messageTimeoutMs must be .* got NaN/, /maxTreeLifetimeMs \(1\) must not be less/],
  ],
  [
    'caps that cannot be',
    topologyOf([bolt('work', [numbers])], { spouts: [{ ...source, maxSpoutPending: 0 }] }),
    [/maxSpoutPending of spout "source" .* got 0/],
  ],
  [
    'caps that together exceed what can be alive',
    topologyOf([bolt('work', [numbers, input('other', 'numbers')])], {
      spouts: [
        { ...source, maxSpoutPending: 2 ** 21 },
        { ...source, id: 'other', maxSpoutPending: 1 },
      ],
    }),
    [/caps of all spouts add up to 2097153/],
  ],
  [
    'sizes that cannot be',
    topologyOf([
      bolt('work', [numbers], { tasks: 0, concurrency: 1.5, mailboxCapacity: NaN, tickEveryMs: 0 }),
    ]),
    [/^tasks of bolt "work"/, /^concurrency .* got 1.5/, /^mailboxCapacity .* got NaN/, /^tickEveryMs/],
  ],
];

describe('topology rules', () => {
  for (const [what, topology, expected] of TABLE) {
    it(what, () => {
      const problems = findProblems(topology);
      assert.equal(problems.length, expected.length, problems.join('\n'));
      for (const [at, pattern] of expected.entries()) assert.match(problems[at] ?? '', pattern);
    });
  }
});

describe('builder', () => {
  const build = (settings?: TopologySettings): Topology =>
    sourceOf(numberSpout())
      .bolt('work', { create: () => basicBolt(() => undefined), inputs: [fromSource] })
      .build(settings);

  it('fills in the defaults', () => {
    const { messageTimeoutMs, maxTreeLifetimeMs, bolts } = build();
    assert.deepEqual([messageTimeoutMs, maxTreeLifetimeMs], [30_000, 300_000]);
    const [work] = bolts;
    assert.deepEqual(
      [work?.tasks, work?.concurrency, work?.mailboxCapacity, work?.tickEveryMs],
      [1, 1, 1024, undefined],
    );
  });

  it('throws all problems at once', () => {
    assert.throws(
      () => build({ messageTimeoutMs: 1, maxTreeLifetimeMs: 0 }),
      (error) => error instanceof TopologyInvalidError && error.problems.length === 2,
    );
  });

  it('does not compile what cannot work', () => {
    const builder = sourceOf(numberSpout());
    const create = () => basicBolt(() => undefined);
    // @ts-expect-error there is no such component
    builder.bolt('a', { create, inputs: [{ from: 'sauce', stream: 'numbers', grouping: shuffle }] });
    // @ts-expect-error there is no such stream
    builder.bolt('b', { create, inputs: [{ from: 'source', stream: 'letters', grouping: shuffle }] });
    // @ts-expect-error there is no such field
    builder.bolt('c', { create, inputs: [{ from: 'source', stream: 'numbers', grouping: fields('id') }] });
    const withError = builder.bolt('d', { create, inputs: [fromSource] });
    // @ts-expect-error the error stream does not carry numbers
    withError.bolt('e', { create, inputs: [{ from: 'd', stream: 'error', grouping: shuffle }] });
  });
});
