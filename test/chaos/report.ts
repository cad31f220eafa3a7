import type { Evidence } from './evidence.ts';
import type { Finding } from './finding.ts';
import type { BlowKind } from './blows.ts';
import { ALL_INVARIANTS, SHOWN_ELSEWHERE } from './shown-elsewhere.ts';

/** What is printed in the end: as a table for people, as one JSON object with `--json`. */
export interface Report {
  readonly orders: number;
  readonly seed: number;
  readonly commit: string;
  readonly durationMs: number;
  /** In which world the figures hold. */
  readonly faultModel: string;
  readonly workersKilled: number;
  readonly blows: Readonly<Partial<Record<BlowKind, number>>>;
  readonly gatewayFaults: number;
  readonly faultKinds: number;
  readonly deliveries: number;
  /** Messages that the broker forgot with a dead consumer, see orphans.ts. */
  readonly orphaned: number;
  /** What operators typed, and how many of these commands were killed half way. */
  readonly operatorCommands: number;
  readonly operatorsKilled: number;
  /** Parked orders that operators put back. */
  readonly replayed: number;
  readonly approvals: number;
  readonly chargedTwice: Share;
  readonly lost: Share;
  readonly findings: readonly Finding[];
  /** Of invariants; that the storm was none is not counted here. */
  readonly violations: number;
  /** Every planned blow fell, and every kind of fault was met. */
  readonly wasStorm: boolean;
}

/** `count` of `of`; the share is below `upperBound` (0..1) with a confidence of 95 %, where nothing was counted. */
export interface Share {
  readonly count: number;
  readonly of: number;
  readonly upperBound: number | undefined;
}

export const FAULT_MODEL =
  'The database keeps what it commits, a majority of the broker nodes keeps what it confirms, the gateway keeps its ' +
  'keys; processes die and freeze, connections break, replies are lost, late or lies, operators act at any time.';

export function reportOf(
  evidence: Evidence,
  findings: readonly Finding[],
  about: { readonly commit: string; readonly durationMs: number },
): Report {
  const { approvals, blows, exits, members, operators, plan, requests, wire } = evidence;
  const fallen: Partial<Record<BlowKind, number>> = {};
  for (const { kind, failed } of blows) if (failed === undefined) fallen[kind] = (fallen[kind] ?? 0) + 1;
  const faults = requests.flatMap(({ fault }) => fault ?? []);
  const named = (id: string): Finding | undefined => findings.find((finding) => finding.id === id);
  return {
    ...about,
    orders: plan.orders,
    seed: plan.seed,
    faultModel: FAULT_MODEL,
    workersKilled: exits.filter(({ signal }) => signal === 'SIGKILL').length,
    blows: fallen,
    gatewayFaults: faults.length,
    faultKinds: new Set(faults).size,
    deliveries: wire.filter(({ what }) => what === 'delivered').length,
    orphaned: evidence.orphans.reduce((sum, { messages }) => sum + messages, 0),
    operatorCommands: operators.length,
    operatorsKilled: operators.filter(({ exitCode }) => exitCode === null).length,
    replayed: members.filter(({ state }) => state === 'published').length,
    approvals: approvals.length,
    // Of the orders that were sent to the gateway; of the messages that the broker confirmed.
    chargedTwice: share(named('I1')?.violations.length ?? 0, named('I6')?.cases ?? 0),
    lost: share(named('I9')?.violations.length ?? 0, named('I9')?.cases ?? 0),
    findings,
    violations: count(findings.filter(({ id }) => id !== 'storm')),
    wasStorm: count(findings.filter(({ id }) => id === 'storm')) === 0,
  };
}

/** "0 of n" says something about the true share only with its bound (rule of three). */
function share(counted: number, of: number): Share {
  return { count: counted, of, upperBound: counted === 0 && of > 0 ? Math.min(1, 3 / of) : undefined };
}

function count(findings: readonly Finding[]): number {
  return findings.reduce((sum, { violations }) => sum + violations.length, 0);
}

const MOST_SHOWN = 5;

export function asTable(report: Report): string {
  const { blows, commit, durationMs, orders, seed } = report;
  const facts: readonly (readonly [string, string | number])[] = [
    ['messages published', orders],
    ['workers killed', report.workersKilled],
    ...Object.entries(blows).filter(([kind]) => kind !== 'worker killed'),
    ['faults at the gateway', `${report.gatewayFaults} of ${report.faultKinds} kinds`],
    ['deliveries', report.deliveries],
    ['orphaned by the broker', report.orphaned],
    ['commands of operators', `${report.operatorCommands}, ${report.operatorsKilled} of them killed`],
    ['parked orders replayed', report.replayed],
    ['approvals at the gateway', report.approvals],
    ['charged twice', inWords(report.chargedTwice)],
    ['lost', inWords(report.lost)],
    ['duration', `${Math.round(durationMs / 1_000)} s`],
    ['seed, commit', `${seed}, ${commit}`],
  ];
  const lines = facts.map(([name, value]) => `  ${name.padEnd(28)} ${String(value)}\n`);
  const elsewhere = ALL_INVARIANTS.flatMap((id) => notSeen(id, report.findings));
  const checked = [...report.findings.filter(({ cases }) => cases > 0).map(asLines), ...elsewhere];
  return `\n${lines.join('')}\n${checked.join('')}\n  ${report.faultModel}\n${verdict(report)}`;
}

function inWords({ count: counted, of, upperBound }: Share): string {
  const bound = upperBound === undefined ? '' : `, 95 % upper bound ${(100 * upperBound).toPrecision(2)} %`;
  return `${counted} of ${of}${bound}`;
}

/** An invariant that this storm had no case of. */
function notSeen(id: string, findings: readonly Finding[]): string[] {
  if (findings.some((finding) => finding.id === id && finding.cases > 0)) return [];
  const [file, name] = SHOWN_ELSEWHERE[id] ?? [];
  const where = file === undefined ? 'no case of it in this storm' : `shown in ${file}: ${String(name)}`;
  return [`  --  ${id.padEnd(8)} ${'0'.padStart(7)}  ${where}\n`];
}

function asLines({ id, title, cases, violations }: Finding): string {
  const mark = violations.length === 0 ? 'ok ' : 'NO ';
  const shown = violations.slice(0, MOST_SHOWN).map((violation) => `          - ${violation}\n`);
  const more =
    violations.length > MOST_SHOWN ? `          - and ${violations.length - MOST_SHOWN} more\n` : '';
  return `  ${mark} ${id.padEnd(8)} ${String(cases).padStart(7)}  ${title}\n${shown.join('')}${more}`;
}

function verdict({ violations, wasStorm }: Report): string {
  const held = violations === 0 ? 'Every invariant holds.' : `${violations} violations.`;
  return wasStorm ? `  ${held}\n` : `  ${held} But what was planned did not all happen.\n`;
}
