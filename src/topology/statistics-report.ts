/** Statistics as they are read: plain data, computed when asked for. */
import type { Assembly, SpoutUnit } from './assembly.ts';
import type { Clock } from './clock.ts';
import { summarize, type LatencySummary } from './histogram.ts';
import { WINDOWS, type Counter, type WindowName, type WindowReading } from './rolling-windows.ts';
import type {
  BoltCounters,
  InputCounters,
  OutletCounters,
  SpoutCounters,
  SpoutStreamCounters,
  Statistics,
} from './statistics.ts';
import type { TupleTrees } from './tuple-trees.ts';

export interface StatisticsReport {
  readonly atWallMs: number;
  /** Trees alive now. */
  readonly pending: number;
  /** How long the event loop has stood still in all, as far as the deadlines saw. */
  readonly stalledMs: number;
  readonly problems: number;
  readonly spouts: Readonly<Record<string, SpoutReport>>;
  readonly bolts: Readonly<Record<string, BoltReport>>;
}

export interface SpoutReport {
  readonly pending: number;
  readonly idle: SpoutIdle;
  readonly windows: Readonly<Record<WindowName, SpoutWindow>>;
}

/** Why a spout emits nothing at the moment. */
export interface SpoutIdle {
  readonly reason: 'not-open' | 'at-cap' | 'paused' | 'stopped' | 'spout';
  /** In words, with since when or by whom. */
  readonly detail: string;
  readonly waitingReplays: number;
}

export interface SpoutWindow {
  /** How much time the figures cover. */
  readonly spanMs: number;
  readonly duplicates: number;
  /** From the source's receipt to the complete tree. */
  readonly complete: LatencySummary;
  readonly streams: Readonly<Record<string, Figures<SpoutStreamCounters>>>;
}

export interface BoltReport {
  /** Tuples waiting or running now, in all tasks. */
  readonly load: number;
  readonly windows: Readonly<Record<WindowName, BoltWindow>>;
}

export interface BoltWindow {
  readonly spanMs: number;
  /** Inside `execute`. */
  readonly execute: LatencySummary;
  /** From arrival in the mailbox to the ack. */
  readonly process: LatencySummary;
  /** The part of its slots (tasks x concurrency) that was busy executing: 1 means that it is the bottleneck. */
  readonly capacity: number;
  readonly executed: number;
  readonly ticks: number;
  readonly ticksMissed: number;
  readonly inputs: Readonly<Record<string, Figures<InputCounters>>>;
  readonly outlets: Readonly<Record<string, Figures<OutletCounters>>>;
}

export type Figures<C> = Readonly<Record<keyof C & string, number>>;

export interface ReportParts {
  readonly clock: Clock;
  readonly statistics: Statistics;
  readonly assembly: Assembly;
  readonly trees: TupleTrees;
  readonly pauseReasons: readonly string[];
}

export function reportStatistics(parts: ReportParts): StatisticsReport {
  const { statistics, assembly, trees } = parts;
  return {
    atWallMs: parts.clock.wallMs(),
    pending: trees.pending,
    stalledMs: trees.stalledMs,
    problems: statistics.problems.value,
    spouts: Object.fromEntries(
      assembly.spouts.map((unit) => [unit.declaration.id, spoutReport(unit, parts)]),
    ),
    bolts: Object.fromEntries(
      assembly.bolts.map(({ declaration, counters, tasks }) => [
        declaration.id,
        {
          load: tasks.reduce((sum, { task }) => sum + task.load, 0),
          windows: inEveryWindow(parts, (reading) =>
            boltWindow(counters, declaration.tasks * declaration.concurrency, reading),
          ),
        },
      ]),
    ),
  };
}

function spoutReport(unit: SpoutUnit, parts: ReportParts): SpoutReport {
  return {
    pending: unit.task.pending,
    idle: spoutIdle(unit, parts),
    windows: inEveryWindow(parts, (reading) => spoutWindow(unit.counters, reading)),
  };
}

function spoutIdle({ task }: SpoutUnit, { clock, pauseReasons }: ReportParts): SpoutIdle {
  const { reason, waitingReplays } = task.idleReason();
  if (task.intake === 'stopped')
    return { reason: 'stopped', detail: 'the topology has ended', waitingReplays };
  if (pauseReasons.length > 0) {
    return { reason: 'paused', detail: `paused by ${pauseReasons.join(', ')}`, waitingReplays };
  }
  if (task.intake === 'closed')
    return { reason: 'not-open', detail: 'the topology has not started', waitingReplays };
  const sinceMs = task.atCapSinceMs;
  if (sinceMs !== undefined) {
    const forMs = Math.round(clock.nowMs() - sinceMs);
    return {
      reason: 'at-cap',
      detail: `${task.pending} trees pending, at the cap for ${forMs} ms`,
      waitingReplays,
    };
  }
  return { reason: 'spout', detail: reason, waitingReplays };
}

function spoutWindow(counters: SpoutCounters, reading: WindowReading): SpoutWindow {
  return {
    spanMs: reading.spanMs,
    duplicates: reading.count(counters.duplicates),
    complete: summarize(reading.latencies(counters.completeMs)),
    streams: figuresByName(counters.streams, reading),
  };
}

function boltWindow(counters: BoltCounters, slots: number, reading: WindowReading): BoltWindow {
  const availableMs = reading.spanMs * slots;
  return {
    spanMs: reading.spanMs,
    execute: summarize(reading.latencies(counters.executeMs)),
    process: summarize(reading.latencies(counters.processMs)),
    capacity: availableMs > 0 ? reading.count(counters.executeMsTotal) / availableMs : 0,
    executed: reading.count(counters.executed),
    ticks: reading.count(counters.ticks),
    ticksMissed: reading.count(counters.ticksMissed),
    inputs: figuresByName(counters.inputs, reading),
    outlets: figuresByName(counters.outlets, reading),
  };
}

function inEveryWindow<T>(
  { clock, statistics }: ReportParts,
  read: (reading: WindowReading) => T,
): Record<WindowName, T> {
  const nowMs = clock.nowMs();
  return Object.fromEntries(
    WINDOWS.map((window) => [window, read(statistics.windows.read(window, nowMs))]),
  ) as Record<WindowName, T>;
}

function figuresByName<C extends object>(
  byName: ReadonlyMap<string, C>,
  reading: WindowReading,
): Record<string, Figures<C>> {
  return Object.fromEntries(Array.from(byName, ([name, counters]) => [name, figures(counters, reading)]));
}

function figures<C extends object>(counters: C, reading: WindowReading): Figures<C> {
  const entries = Object.entries(counters) as [string, Counter][];
  return Object.fromEntries(entries.map(([name, counter]) => [name, reading.count(counter)])) as Figures<C>;
}
