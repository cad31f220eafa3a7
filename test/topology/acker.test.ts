import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { Acker, slotOf, type Root } from '../../src/topology/acker.ts';
import { seededRandom, type RandomSource } from '../../src/topology/random.ts';

/** One edge of a model tree: its id, and the XOR of the ids anchored to it so far. */
interface Edge {
  readonly low: number;
  readonly high: number;
  childrenLow: number;
  childrenHigh: number;
}

/** What a tree must do, kept the plain way: as the set of its open edges. */
interface ModelTree {
  readonly root: Root;
  readonly open: Edge[];
  ended: boolean;
}

/** Ids that differ in both halves, only in the upper, or only in the lower one: each half alone must count. */
const ID_KINDS = ['both', 'high-only', 'low-only'] as const;
type IdKind = (typeof ID_KINDS)[number];

function newEdge(random: RandomSource, kind: IdKind): Edge {
  const low = kind === 'high-only' ? 7 : random.next32() | 0;
  const high = kind === 'low-only' ? 7 : random.next32() | 0;
  return { low, high, childrenLow: 0, childrenHigh: 0 };
}

type Command =
  | { readonly do: 'open'; readonly edges: number }
  | { readonly do: 'emit' | 'ack' | 'fail' | 'stale'; readonly tree: number; readonly edge: number };

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('open' as const), edges: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constantFrom('emit' as const, 'ack' as const, 'ack' as const, 'stale' as const),
      tree: fc.nat(),
      edge: fc.nat(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fail' as const), tree: fc.nat(), edge: fc.nat() }) },
);

class Model {
  readonly acker = new Acker(10_000);
  readonly live: ModelTree[] = [];
  readonly ended: ModelTree[] = [];
  readonly #random: RandomSource;
  readonly #kind: IdKind;
  opened = 0;
  completed = 0;
  failed = 0;

  constructor(seed: number, kind: IdKind) {
    this.#random = seededRandom(seed);
    this.#kind = kind;
  }

  run(step: Command): void {
    if (step.do === 'open') {
      this.open(step.edges);
      return;
    }
    const tree = this.live[step.tree % this.live.length];
    if (step.do === 'stale') this.reportStale(step.tree);
    else if (tree === undefined) return;
    else if (step.do === 'fail') this.fail(tree);
    else if (step.do === 'emit') this.emit(tree, step.edge);
    else this.ack(tree, step.edge);
    this.checkBooks();
  }

  open(count: number): void {
    const open = Array.from({ length: count }, () => newEdge(this.#random, this.#kind));
    const root = this.acker.open(
      open.reduce((xor, { low }) => xor ^ low, 0),
      open.reduce((xor, { high }) => xor ^ high, 0),
    );
    this.opened++;
    this.live.push({ root, open, ended: false });
  }

  emit(tree: ModelTree, at: number): void {
    const parent = tree.open[at % tree.open.length];
    if (parent === undefined) return;
    const child = newEdge(this.#random, this.#kind);
    parent.childrenLow ^= child.low;
    parent.childrenHigh ^= child.high;
    tree.open.push(child);
  }

  ack(tree: ModelTree, at: number): void {
    const [edge] = tree.open.splice(at % tree.open.length, 1);
    if (edge === undefined) return;
    const report = this.acker.report(tree.root, edge.low ^ edge.childrenLow, edge.high ^ edge.childrenHigh);
    assert.equal(
      report,
      tree.open.length === 0 ? 'complete' : 'pending',
      'complete exactly with the last edge',
    );
    if (report !== 'complete') return;
    this.completed++;
    this.end(tree);
  }

  fail(tree: ModelTree): void {
    assert.equal(this.acker.fail(tree.root), true);
    this.failed++;
    this.end(tree);
  }

  end(tree: ModelTree): void {
    tree.ended = true;
    this.live.splice(this.live.indexOf(tree), 1);
    this.ended.push(tree);
  }

  reportStale(at: number): void {
    const tree = this.ended[at % this.ended.length];
    if (tree === undefined) return;
    assert.equal(this.acker.report(tree.root, 1, 1), 'stale');
    assert.equal(this.acker.report(tree.root, 0, 0), 'stale');
    assert.equal(this.acker.fail(tree.root), false);
  }

  checkBooks(): void {
    assert.equal(this.acker.pending, this.live.length);
    assert.equal(this.opened, this.completed + this.failed + this.acker.pending);
    for (const { root } of this.live) assert.ok(this.acker.isAlive(root));
    for (const { root } of this.ended) assert.ok(!this.acker.isAlive(root));
  }
}

describe('acker', () => {
  it('completes a tree exactly once and exactly with its last edge, in any order, and never a failed one', () => {
    fc.assert(
      fc.property(
        fc.array(command, { maxLength: 300, size: 'max' }),
        fc.nat(),
        fc.constantFrom(...ID_KINDS),
        (commands, seed, kind) => {
          const model = new Model(seed, kind);
          for (const step of commands) model.run(step);
          while (model.live[0] !== undefined) model.ack(model.live[0], seed);
          model.checkBooks();
        },
      ),
      { numRuns: 300 },
    );
  });

  it('keeps every tree apart while the table grows', () => {
    const model = new Model(3, 'both');
    for (let tree = 0; tree < 5_000; tree++) model.open(2);
    assert.ok(model.acker.capacity >= 5_000);
    for (const tree of [...model.live].reverse()) {
      model.ack(tree, 1);
      model.ack(tree, 0);
    }
    assert.equal(model.completed, 5_000);
    assert.equal(model.acker.pending, 0);
  });

  it('refuses a tree beyond its limit, and takes one again when a tree has ended', () => {
    const acker = new Acker(3);
    const roots = [acker.open(1, 1), acker.open(1, 1), acker.open(1, 1)];
    assert.throws(() => acker.open(1, 1), /3 trees are alive, which is the limit/);
    assert.equal(acker.report(roots[0] ?? 0, 1, 1), 'complete');
    assert.equal(slotOf(acker.open(1, 1)), slotOf(roots[0] ?? 0));
  });

  it('never gives a root twice, however often its slot is used again', () => {
    const acker = new Acker(1);
    const seen = new Set<Root>();
    for (let turn = 0; turn < 10_000; turn++) {
      const root = acker.open(turn, 1);
      assert.ok(Number.isSafeInteger(root) && !seen.has(root));
      seen.add(root);
      assert.ok(acker.fail(root));
    }
  });

  it('takes reports about roots that never were as stale', () => {
    const acker = new Acker(64);
    const root = acker.open(5, 5);
    for (const unknown of [0, 1, 63, 64, root + 1, root + 2 ** 21, root + 2 ** 22, -1, NaN, Infinity]) {
      assert.equal(acker.report(unknown, 5, 5), 'stale', String(unknown));
      assert.equal(acker.fail(unknown), false);
    }
    assert.equal(acker.report(root, 5, 5), 'complete');
  });

  it('completes a tree without edges at the first report', () => {
    const acker = new Acker(8);
    const root = acker.open(0, 0);
    assert.ok(acker.isAlive(root));
    assert.equal(acker.report(root, 0, 0), 'complete');
  });

  it('refuses a limit that no root could name', () => {
    for (const limit of [0, -1, 1.5, NaN, 2 ** 21 + 1]) assert.throws(() => new Acker(limit), RangeError);
  });
});
