import type { Evidence } from './evidence.ts';
import type { Finding } from './finding.ts';
import type { BlowKind } from './plan.ts';

/** What is printed in the end: as a table for people, as one JSON object with `--json`. */
export interface Report {
  readonly orders: number;
  readonly seed: number;
  readonly commit: string;
  readonly durationMs: number;
  readonly workersKilled: number;
  readonly blows: Readonly<Partial<Record<BlowKind, number>>>;
  readonly gatewayFaults: number;
  readonly faultKinds: number;
  readonly deliveries: number;
  readonly approvals: number;
  readonly chargedTwice: number;
  readonly lost: number;
  readonly findings: readonly Finding[];
  /** Of invariants; that the storm was none is not counted here. */
  readonly violations: number;
  /** Every planned blow fell, and every kind of fault was met. */
  readonly wasStorm: boolean;
}

export function reportOf(
  evidence: Evidence,
  findings: readonly Finding[],
  about: { readonly commit: string; readonly durationMs: number },
): Report {
  const { approvals, blows, exits, plan, requests, wire } = evidence;
  const fallen: Partial<Record<BlowKind, number>> = {};
  for (const { kind, failed } of blows) if (failed === undefined) fallen[kind] = (fallen[kind] ?? 0) + 1;
  const faults = requests.flatMap(({ fault }) => fault ?? []);
  const violationsOf = (id: string): number =>
    findings.find((finding) => finding.id === id)?.violations.length ?? 0;
  return {
    ...about,
    orders: plan.orders,
    seed: plan.seed,
    workersKilled: exits.filter(({ signal }) => signal === 'SIGKILL').length,
    blows: fallen,
    gatewayFaults: faults.length,
    faultKinds: new Set(faults).size,
    deliveries: wire.filter(({ what }) => what === 'delivered').length,
    approvals: approvals.length,
    chargedTwice: violationsOf('I1'),
    lost: violationsOf('I9'),
    findings,
    violations: count(findings.filter(({ id }) => id !== 'storm')),
    wasStorm: count(findings.filter(({ id }) => id === 'storm')) === 0,
  };
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
    ['approvals at the gateway', report.approvals],
    ['charged twice', bound(report.chargedTwice, casesOf(report, 'I6'))],
    ['lost', bound(report.lost, casesOf(report, 'I9'))],
    ['duration', `${Math.round(durationMs / 1_000)} s`],
    ['seed, commit', `${seed}, ${commit}`],
  ];
  const lines = facts.map(([name, value]) => `  ${name.padEnd(28)} ${String(value)}\n`);
  return `\n${lines.join('')}\n${report.findings.map(asLines).join('')}\n${verdict(report)}`;
}

/** "0 of n" says something about the true share only with its bound (rule of three). */
function bound(count: number, of: number): string {
  return count > 0 ? `${count} of ${of}` : `0 of ${of}, 95 % upper bound ${(300 / of).toPrecision(2)} %`;
}

/** How many orders were charged (I6), how many messages were confirmed (I9). */
function casesOf({ findings }: Report, id: string): number {
  return findings.find((finding) => finding.id === id)?.cases ?? 0;
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
