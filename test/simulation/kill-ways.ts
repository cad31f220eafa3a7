/** The ways that one order can take: what is written on each of them differs. */
import type { Fault, FaultKind, Site } from './faults.ts';
import type { Fate } from './gateway.ts';
import { VERSIONS } from './versions.ts';
import type { WorkerSettings } from './worker.ts';

export interface Way {
  readonly name: string;
  readonly fate: Fate;
  readonly plan: readonly Fault[];
  readonly settings: WorkerSettings;
}

const [PATIENT, HASTY] = VERSIONS;
/** When an operator comes: after all that workers do by themselves. */
const LATER_MS = 60_000;

export const WAYS: readonly Way[] = [
  { name: 'approved', fate: 'approved', plan: [], settings: PATIENT },
  { name: 'declined', fate: 'declined hard', plan: [], settings: PATIENT },
  {
    name: 'a hopeless card, refused before any gateway',
    fate: 'approved',
    plan: [planned('upstream', 'hopeless-card')],
    settings: PATIENT,
  },
  {
    name: 'no order: parked',
    fate: 'approved',
    plan: [planned('upstream', 'unreadable')],
    settings: PATIENT,
  },
  {
    name: 'declined for now, waits in level queues, then approved',
    fate: 'softly, then approved',
    plan: [],
    settings: HASTY,
  },
  {
    name: 'unknown, parked, resolved by asking',
    fate: 'approved',
    plan: [planned('gateway.authorize', 'server-error-after')],
    settings: HASTY,
  },
  {
    name: 'partly approved: given back',
    fate: 'approved',
    plan: [planned('gateway.authorize', 'partial')],
    settings: PATIENT,
  },
  {
    name: 'announced nowhere, parked, replayed by an operator',
    fate: 'approved',
    plan: [planned('world', 'downstream-unbound', 0, 100_000), planned('operator', 'replay', LATER_MS)],
    settings: HASTY,
  },
  {
    name: 'declined, reopened by an operator, declined again',
    fate: 'declined hard',
    plan: [planned('operator', 'reopen', LATER_MS)],
    settings: PATIENT,
  },
  {
    name: 'in review, settled by an operator, given back',
    fate: 'approved',
    plan: [planned('gateway.authorize', 'wrong-amount'), planned('operator', 'settle', LATER_MS)],
    settings: PATIENT,
  },
  {
    name: 'announced once more by an operator',
    fate: 'approved',
    plan: [planned('operator', 'resend', LATER_MS)],
    settings: PATIENT,
  },
];

function planned(site: Site, kind: FaultKind, atMs?: number, ms = 101): Fault {
  return { site, nth: 1, kind, ms, ...(atMs === undefined ? {} : { atMs }) };
}
