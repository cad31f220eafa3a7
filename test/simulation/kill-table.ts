/**
 * Each write to the broker, the database and the gateway on an order's ways, and what becomes of the order when whoever
 * writes is killed just before it, just after it, or never hears that it was done. The worker is started again, an
 * operator takes the command up again, and all invariants are judged.
 */
import type { CallSite, FaultKind } from './faults.ts';
import { WAYS, type Way } from './kill-ways.ts';
import { simulate, type Violation } from './simulation.ts';
import type { Alter } from './worker.ts';

/** A write of a run without kills: the `nth` call of its site. */
export interface Write {
  readonly site: CallSite;
  readonly nth: number;
  /** What is written, in words that are the same in every run. */
  readonly what: string;
}

export interface KillRow {
  readonly way: string;
  readonly write: Write;
  /** What was violated; nothing should be. */
  readonly outcomes: ReadonlyMap<Spoilt, readonly Violation[]>;
}

export type Spoilt = 'killed before' | 'killed after' | 'reply lost';

const SPOILT: Readonly<Record<Spoilt, FaultKind>> = {
  'killed before': 'kill-before',
  'killed after': 'kill-after',
  'reply lost': 'cut-after',
};
const SPOILTS = Object.keys(SPOILT) as readonly Spoilt[];

/** Where writes are made; a new site has to be put here, too. */
const WRITES_AT: Readonly<Record<CallSite, 'all' | 'none' | readonly string[]>> = {
  'broker.ack': 'all',
  'broker.announce': 'all',
  'broker.call': 'none',
  'broker.copy': 'all',
  'broker.deliver': 'none',
  'broker.dial': 'none',
  'broker.park': 'all',
  'database.heartbeat': 'none',
  'database.living': 'none',
  'database.operator': ['open batch', 'hold 1', 'settle members', 'finish batch', 'keep reconciliation'],
  'database.probe': 'none',
  'database.read': 'none',
  'database.session': 'none',
  // That an order is taken is a hold of the resolver's only; each look is another one, whether it finds one or not.
  'database.take': 'none',
  'database.write': 'all',
  'gateway.authorize': 'all',
  'gateway.list': 'none',
  'gateway.lookup': 'none',
  'gateway.void': 'all',
};

export async function killTable(
  options: {
    readonly ways?: readonly Way[];
    readonly alter?: Alter;
    readonly onRow?: (row: KillRow) => void;
  } = {},
): Promise<readonly KillRow[]> {
  const { alter, onRow = () => undefined, ways = WAYS } = options;
  const rows: KillRow[] = [];
  for (const way of ways) {
    for (const write of await writesOf(way)) {
      const outcomes = new Map<Spoilt, readonly Violation[]>();
      for (const spoilt of SPOILTS) outcomes.set(spoilt, await spoiled(way, write, spoilt, alter));
      const row = { way: way.name, write, outcomes };
      onRow(row);
      rows.push(row);
    }
  }
  return rows;
}

/** Long enough for whatever an order waits for. */
const FAULTY_FOR_MS = 300_000;

function run(
  { fate, plan, settings }: Way,
  more: { readonly alter?: Alter; readonly keepTrace?: boolean } = {},
) {
  const oneOrder = { seed: 4, orders: 1, workers: 1, faultyForMs: FAULTY_FOR_MS };
  return simulate({ ...oneOrder, fate, plan, settings, ...more });
}

async function writesOf(way: Way): Promise<readonly Write[]> {
  const { trace } = await run(way, { keepTrace: true });
  const counts = new Map<string, number>();
  const writes: Write[] = [];
  for (const line of trace) {
    if (line.endsWith('world      heals')) break;
    // As network.ts and amqp-channel.ts note a call: when, who, site, what, and its fault.
    const [, site = '', what = ''] =
      /^ *[\d.]+ {2}\S+ +([a-z]+\.[a-z]+) (.*?)(?: {2}! .*)?$/.exec(line) ?? [];
    const nth = (counts.get(site) ?? 0) + 1;
    counts.set(site, nth);
    const written = WRITES_AT[site as CallSite] as (typeof WRITES_AT)[CallSite] | undefined;
    const isWrite = written === 'all' || (Array.isArray(written) && written.includes(what));
    if (isWrite) writes.push({ site: site as CallSite, nth, what });
  }
  return writes;
}

async function spoiled(
  way: Way,
  { nth, site, what }: Write,
  spoilt: Spoilt,
  alter: Alter | undefined,
): Promise<readonly Violation[]> {
  const fault = { site, nth, kind: SPOILT[spoilt], ms: 0 };
  const before = way.plan.filter((each) => each.site !== site || each.nth !== nth);
  const { struck, violations } = await run({ ...way, plan: [...before, fault] }, alter && { alter });
  if (struck.includes(fault)) return violations;
  return [{ invariant: 'not met', what: `${fault.kind} at ${site} ${nth}: ${what}`, atMs: 0 }];
}

export function spoiledBadly(rows: readonly KillRow[]): string[] {
  return rows.flatMap(({ outcomes, way, write }) =>
    [...outcomes].flatMap(([spoilt, violations]) =>
      violations.map(({ invariant, what }) => `${way}: ${write.what}, ${spoilt}: ${invariant} ${what}`),
    ),
  );
}

// --- in words ----------------------------------------------------------------------------------------------------

export function tableInWords(rows: readonly KillRow[]): string {
  const lines: string[] = [
    '# Every write on the ways of one order, and what becomes of the order when it is spoilt.',
    '# Printed by npm run sim -- --kills, and compared by kill-table.test.ts.',
  ];
  for (const [at, row] of rows.entries()) {
    if (rows[at - 1]?.way !== row.way) lines.push('', `${row.way.padEnd(WIDTH)} ${SPOILTS.join('  ')}`);
    lines.push(lineOf(row));
  }
  return `${lines.join('\n')}\n`;
}

const WIDTH = 84;

function lineOf({ outcomes, write: { site, what } }: KillRow): string {
  const cells = SPOILTS.map((spoilt) =>
    (outcomes.get(spoilt)?.[0]?.invariant ?? 'holds').padEnd(spoilt.length),
  );
  return `${`  ${site.padEnd(18)} ${what}`.padEnd(WIDTH)} ${cells.join('  ')}`.trimEnd();
}
