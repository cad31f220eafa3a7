import type { BasicBolt, RichBolt } from './bolt.ts';
import type { Grouping } from './groupings.ts';
import type { Spout } from './spout.ts';

/** The most trees that can be alive in one topology. */
export const MOST_LIVE_TREES = 2 ** 21;

/** A topology as it was declared, with all defaults filled in. The builder makes it; the runner runs it. */
export interface Topology {
  readonly spouts: readonly SpoutDeclaration[];
  readonly bolts: readonly BoltDeclaration[];
  /** A tree that is not complete by then fails; `off` lets it live for ever. */
  readonly messageTimeoutMs: number | 'off';
  /** How far `extend` can carry a tree, from its start. */
  readonly maxTreeLifetimeMs: number;
}

/** The names of the streams a component emits on, each with the names of its fields. */
export type StreamFields = Readonly<Record<string, readonly string[]>>;

export interface SpoutDeclaration {
  readonly id: string;
  readonly spout: Spout;
  readonly streams: StreamFields;
  /** Streams that may have no consumer: what is emitted there is complete at once. */
  readonly unconsumed: readonly string[];
  /** The most trees alive at once; Infinity for no cap of its own. */
  readonly maxSpoutPending: number;
}

export interface BoltDeclaration {
  readonly id: string;
  /** Called once for each task. */
  readonly create: () => AnyBolt;
  readonly streams: StreamFields;
  readonly unconsumed: readonly string[];
  readonly inputs: readonly InputDeclaration[];
  readonly tasks: number;
  /** Tuples that one task may run at the same time. */
  readonly concurrency: number;
  readonly mailboxCapacity: number;
  readonly tickEveryMs: number | undefined;
}

/** One subscription of a bolt. */
export interface InputDeclaration {
  readonly from: string;
  readonly stream: string;
  readonly grouping: Grouping;
}

export type AnyBolt = BasicBolt | RichBolt;
