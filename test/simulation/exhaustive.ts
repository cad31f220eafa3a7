/**
 * One order, two workers, and every single fault and every pair of faults that can strike it: each kind at each call
 * that there is, and, with a first fault in place, each kind at each call that there is then.
 */
import { FAULTS, type Fault, type FaultKind, type Site } from './faults.ts';
import { simulate, type RunResult } from './simulation.ts';
import type { Alter } from './worker.ts';

export interface ExhaustiveOptions {
  /** Of the first faults of pairs, every how manieth is tried; undefined: no pairs. */
  readonly everyNthFirst?: number;
  /** Which of them: from 0 on. */
  readonly remainder?: number;
  readonly alter?: Alter;
  readonly onRun: (result: RunResult, plan: readonly Fault[]) => void;
}

/** Any seed does; this one's order comes when both workers have settled down. */
const SCENARIO = { seed: 4, orders: 1, workers: 2, fate: 'approved' } as const;

/** What an order meets on its way; what it takes to get connected comes in singles only. */
const ON_THE_WAY: readonly Site[] = [
  'upstream',
  'broker.deliver',
  'database.read',
  'database.living',
  'database.write',
  'gateway.authorize',
  'gateway.lookup',
  'gateway.void',
  'broker.announce',
  'broker.copy',
  'broker.park',
  'broker.ack',
  'world',
];

export async function exhaust({
  alter,
  everyNthFirst,
  onRun,
  remainder = 0,
}: ExhaustiveOptions): Promise<void> {
  const run = async (plan: readonly Fault[]): Promise<RunResult> => {
    const result = await simulate({ ...SCENARIO, plan, alter });
    onRun(result, plan);
    return result;
  };
  const { calls } = await run([]);
  const everywhere = Object.keys(FAULTS) as Site[];
  for (const single of faultsAt(calls, everywhere)) await run([single]);
  if (everyNthFirst === undefined) return;

  const firsts = faultsAt(calls, ON_THE_WAY);
  const before = new Set<string>();
  for (const [at, first] of firsts.entries()) {
    before.add(nameOf(first));
    if (at % everyNthFirst !== remainder) continue;
    const after = await simulate({ ...SCENARIO, plan: [first], alter });
    for (const second of faultsAt(after.calls, ON_THE_WAY)) {
      // The other way round it has its turn, or had it; and a call can meet one fault only.
      const isTaken = before.has(nameOf(second)) || (second.site === first.site && second.nth === first.nth);
      if (!isTaken) await run([first, second]);
    }
  }
}

/** Each kind of fault at each call of the sites. */
function faultsAt(calls: ReadonlyMap<Site, number>, sites: readonly Site[]): Fault[] {
  return sites.flatMap((site) => {
    if (site === 'world') return ofTheWorld();
    const nths = Array.from({ length: calls.get(site) ?? 0 }, (_, at) => at + 1);
    return nths.flatMap((nth) => FAULTS[site].map((kind): Fault => ({ site, nth, kind, ms: msOf(kind) })));
  });
}

/** Just before, while, and after the order is at work. */
const INSTANTS_MS = [1_000, 3_000, 3_012, 3_030];

function ofTheWorld(): Fault[] {
  return INSTANTS_MS.flatMap((atMs, at) =>
    FAULTS.world.flatMap((kind) =>
      [0, 1].map((who): Fault => ({ site: 'world', nth: 2 * at + who, kind, ms: msOf(kind), atMs })),
    ),
  );
}

/** Longer than a lease, a wall, a deadline: what takes long takes too long. */
function msOf(kind: FaultKind): number {
  if (kind === 'wall-clock') return -25 * 3_600_000;
  if (kind === 'database-clock') return 10_000;
  return kind.startsWith('stop') ? 32_000 : 12_000;
}

function nameOf({ site, nth, kind }: Fault): string {
  return `${site} ${nth} ${kind}`;
}
