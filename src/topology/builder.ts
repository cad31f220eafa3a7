/**
 * Declares a topology, upstream first, so that the compiler checks the wiring: a bolt can only consume a stream
 * that exists and whose values it takes.
 *
 *     const topology = new TopologyBuilder()
 *       .spout('orders', { spout, streams: { orders: ['order'] }, maxSpoutPending: 500 })
 *       .bolt('authorize', {
 *         create: () => authorize,
 *         streams: { processed: ['order'] },
 *         inputs: [{ from: 'orders', stream: 'orders', grouping: shuffle }],
 *         concurrency: 64,
 *       })
 *       .build({ messageTimeoutMs: 30_000 });
 */
import type { BasicBolt, ErrorValues, RichBolt } from './bolt.ts';
import type { Grouping } from './groupings.ts';
import type { Spout } from './spout.ts';
import type { BoltDeclaration, InputDeclaration, SpoutDeclaration, Topology } from './topology.ts';
import { findProblems } from './topology-rules.ts';
import type { Streams, Values } from './tuple.ts';

export interface SpoutOptions<Out extends Streams> {
  readonly spout: Spout<Out>;
  readonly streams: FieldsOf<Out>;
  readonly unconsumed?: readonly (keyof Out & string)[];
  /** The most trees alive at once, in this process. */
  readonly maxSpoutPending: number;
}

export interface BoltOptions<Known, In extends Values, Out extends Streams> {
  /** Makes the bolt of one task. */
  readonly create: () => BasicBolt<In, Out> | RichBolt<In, Out>;
  readonly inputs: readonly InputOf<Known, In>[];
  readonly streams?: FieldsOf<Out>;
  /** Streams that may have no consumer: what is emitted there goes nowhere. */
  readonly unconsumed?: readonly (keyof Out & string)[];
  /** Default 1. */
  readonly tasks?: number;
  /** Tuples that one task may run at the same time. Default 1: one after the other. */
  readonly concurrency?: number;
  /** Tuples that may wait for one task before emitters have to wait. Default 1024. */
  readonly mailboxCapacity?: number;
  readonly tickEveryMs?: number;
}

export interface TopologySettings {
  /** Default 30,000. */
  readonly messageTimeoutMs?: number | 'off';
  /** Default ten message timeouts. */
  readonly maxTreeLifetimeMs?: number;
}

/** The declaration cannot run; `problems` lists everything that is wrong with it. */
export class TopologyInvalidError extends Error {
  override readonly name = 'TopologyInvalidError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the topology is invalid:\n${problems.map((problem) => `- ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

export class TopologyBuilder<Known = unknown> {
  readonly #spouts: readonly SpoutDeclaration[];
  readonly #bolts: readonly BoltDeclaration[];

  constructor(spouts: readonly SpoutDeclaration[] = [], bolts: readonly BoltDeclaration[] = []) {
    this.#spouts = spouts;
    this.#bolts = bolts;
  }

  spout<Id extends string, Out extends Streams>(
    id: Id,
    options: SpoutOptions<Out>,
  ): TopologyBuilder<Known & Record<Id, Out>> {
    const declaration: SpoutDeclaration = { unconsumed: [], ...options, id, spout: options.spout };
    return new TopologyBuilder([...this.#spouts, declaration], this.#bolts);
  }

  bolt<Id extends string, In extends Values, Out extends Streams>(
    id: Id,
    options: BoltOptions<Known, In, Out>,
  ): TopologyBuilder<Known & Record<Id, StreamsOf<Out>>> {
    const declaration: BoltDeclaration = {
      id,
      create: options.create,
      inputs: options.inputs as unknown as readonly InputDeclaration[],
      streams: options.streams ?? {},
      unconsumed: options.unconsumed ?? [],
      tasks: options.tasks ?? 1,
      concurrency: options.concurrency ?? 1,
      mailboxCapacity: options.mailboxCapacity ?? 1024,
      tickEveryMs: options.tickEveryMs,
    };
    return new TopologyBuilder(this.#spouts, [...this.#bolts, declaration]);
  }

  /** Throws TopologyInvalidError with every problem at once. */
  build(settings: TopologySettings = {}): Topology {
    const messageTimeoutMs = settings.messageTimeoutMs ?? 30_000;
    const topology: Topology = {
      spouts: this.#spouts,
      bolts: this.#bolts,
      messageTimeoutMs,
      maxTreeLifetimeMs:
        settings.maxTreeLifetimeMs ?? (messageTimeoutMs === 'off' ? Infinity : messageTimeoutMs * 10),
    };
    const problems = findProblems(topology);
    if (problems.length > 0) throw new TopologyInvalidError(problems);
    return topology;
  }
}

/** A bolt's own streams, if its type names any, and the error stream. */
type StreamsOf<Out extends Streams> = (string extends keyof Out ? unknown : Out) & {
  readonly error: ErrorValues;
};

type FieldsOf<Out extends Streams> = { readonly [S in keyof Out]: readonly (keyof Out[S] & string)[] };

/** Every stream of the known components whose values the bolt takes. */
type InputOf<Known, In extends Values> = {
  [Id in keyof Known & string]: Known[Id] extends Streams ? InputFrom<Id, Known[Id], In> : never;
}[keyof Known & string];

type InputFrom<Id extends string, Out extends Streams, In extends Values> = {
  [S in keyof Out & string]: Out[S] extends In
    ? { readonly from: Id; readonly stream: S; readonly grouping: Grouping<Out[S]> }
    : never;
}[keyof Out & string];
