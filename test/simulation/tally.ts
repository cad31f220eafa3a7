/** What many runs came to, as plain numbers that threads can send to each other. */
import { FAULTS, type Fault, type Site } from './faults.ts';
import type { RunResult, Violation } from './simulation.ts';

export interface Failure {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly struck: readonly Fault[];
}

export interface Tally {
  seeds: number;
  orders: number;
  kills: number;
  events: number;
  /** `<site> <kind>`: how often it struck. */
  readonly faults: Record<string, number>;
  readonly edges: Record<string, number>;
  readonly errorClasses: Record<string, number>;
  /** `<command>: <what it came to>`. */
  readonly commands: Record<string, number>;
  readonly failures: Failure[];
}

export function emptyTally(): Tally {
  return {
    seeds: 0,
    orders: 0,
    kills: 0,
    events: 0,
    faults: {},
    edges: {},
    errorClasses: {},
    commands: {},
    failures: [],
  };
}

export function addRun(tally: Tally, result: RunResult): void {
  tally.seeds += 1;
  tally.orders += result.orders;
  tally.kills += result.kills;
  tally.events += result.events;
  for (const { site, kind } of result.struck) count(tally.faults, `${site} ${kind}`, 1);
  for (const [edge, times] of result.edges) count(tally.edges, edge, times);
  for (const [errorClass, times] of result.errorClasses) count(tally.errorClasses, errorClass, times);
  for (const [came, times] of result.commands) count(tally.commands, came, times);
  const { seed, struck, violations } = result;
  if (violations.length > 0) tally.failures.push({ seed, violations, struck });
}

export function addTally(tally: Tally, other: Tally): void {
  tally.seeds += other.seeds;
  tally.orders += other.orders;
  tally.kills += other.kills;
  tally.events += other.events;
  for (const part of ['faults', 'edges', 'errorClasses', 'commands'] as const) {
    for (const [name, times] of Object.entries(other[part])) count(tally[part], name, times);
  }
  tally.failures.push(...other.failures);
}

/**
 * What a simulation that means something has had: every kind of fault, every edge of the states, every error class, and operators
 * whose commands did something.
 */
export function missingFrom(tally: Tally, atLeast: number): string[] {
  const kinds = (Object.keys(FAULTS) as Site[]).flatMap((site) =>
    FAULTS[site].map((kind) => `${site} ${kind}`),
  );
  return [
    ...rare(tally.faults, kinds, atLeast).map((name) => `fault ${name}`),
    ...rare(tally.edges, EDGES, atLeast).map((name) => `edge ${name}`),
    ...rare(tally.errorClasses, ERROR_CLASSES, atLeast).map((name) => `error class ${name}`),
    ...rare(tally.commands, COMMANDS, atLeast).map((name) => `command ${name}`),
  ];
}

function rare(times: Readonly<Record<string, number>>, names: readonly string[], atLeast: number): string[] {
  return names.filter((name) => (times[name] ?? 0) < atLeast).map((name) => `${name} (${times[name] ?? 0})`);
}

function count(times: Record<string, number>, name: string, by: number): void {
  times[name] = (times[name] ?? 0) + by;
}

/** Changes of an order's status, those to itself included: another claim, a mark, a place in a schedule. */
const EDGES: readonly string[] = [
  'new -> authorizing',
  'new -> denied',
  'received -> authorizing',
  'received -> received',
  'received -> denied',
  'received -> authorization-unknown',
  'authorizing -> authorizing',
  'authorizing -> received',
  'authorizing -> authorization-unknown',
  'authorizing -> ready-to-ship',
  'authorizing -> denied',
  'authorizing -> review',
  'authorization-unknown -> authorization-unknown',
  'authorization-unknown -> received',
  'authorization-unknown -> ready-to-ship',
  'authorization-unknown -> denied',
  'authorization-unknown -> review',
  'ready-to-ship -> ready-to-ship',
  'denied -> denied',
  'denied -> received',
  'review -> ready-to-ship',
  'review -> denied',
  'review -> review',
];

/** Of tuple trees that fail. */
const ERROR_CLASSES: readonly string[] = [
  'ambiguous',
  'bad_gateway',
  'breaker_open',
  'claimed_elsewhere',
  'configuration',
  'connection_lost',
  'database',
  'nacked',
  'no_answer',
  'not_sent',
  'pending',
  'proxy_page',
  'publisher_unavailable',
  'rate_limited',
  'server_error',
  'soft_decline',
  'timeout',
  'unreadable_answer',
  'unroutable',
];

/** What operators' commands must have come to, besides being run at all. */
const COMMANDS: readonly string[] = [
  'replay: published',
  'replay: closed',
  'replay: gave up',
  'replay-twice: published',
  'go on: published',
  'resolve: done',
  'resolve: busy',
  'resolve: refused',
  'settle: done',
  'reopen: done',
  'reopen: refused',
  'resend: done',
  'last reconcile: settled',
];
