/**
 * What will happen in a run, decided before it begins: the same for the same number of orders and seed, as far as real
 * processes allow (a blow waits for the one before it on the same target to be over).
 */
import { nextBelow, nextFraction, seededRandom, type RandomSource } from '../../src/topology/random.ts';
import { OPERATORS_ACTS, type Blow, type BlowKind, type OperatorsAct } from './blows.ts';

export const WORKERS = 3;

export interface TimedBlow {
  readonly atMs: number;
  readonly blow: Blow;
}

export interface Plan {
  readonly orders: number;
  readonly seed: number;
  /** Over how long the orders are published, and the blows fall. */
  readonly stormMs: number;
  readonly blows: readonly TimedBlow[];
}

/** How many orders there are for each blow of a kind: 5,000 orders see over a hundred workers killed. */
const ORDERS_PER_BLOW: Readonly<Record<BlowKind, number>> = {
  'worker killed': 45,
  'worker ended': 200,
  'worker frozen': 250,
  'broker cut': 200,
  'database cut': 300,
  'database crashed': 420,
  'leader killed': 1_700,
  'node killed': 2_500,
  'node isolated': 5_000,
  'memory alarm': 2_500,
  'disk alarm': 2_500,
  zombie: 2_500,
  'replay killed': 1_200,
  'lot replayed': 1_200,
  'lot replayed by two': 1_200,
  'unknowns resolved': 1_200,
  'announcements resent': 1_200,
  'intake paused': 1_200,
};

/** The least of each kind, in a run of any size. */
const LEAST: Partial<Record<BlowKind, number>> = {
  'worker killed': 3,
  'worker ended': 1,
  'worker frozen': 1,
  zombie: 1,
  'broker cut': 2,
  'database cut': 1,
  'database crashed': 1,
  'leader killed': 1,
  'memory alarm': 1,
  'disk alarm': 1,
  'replay killed': 1,
  'lot replayed': 1,
  'lot replayed by two': 1,
  'unknowns resolved': 1,
  'announcements resent': 1,
  'intake paused': 1,
};

/** How long a zombie is: its connections are given up, its claims taken over, its orders decided by others. */
export const ZOMBIE_MS = 40_000;

const ORDERS_PER_SECOND = 26;
const SHORTEST_STORM_MS = 15_000;

export function planOf(orders: number, seed: number): Plan {
  const random = seededRandom(seed);
  const stormMs = Math.max(SHORTEST_STORM_MS, Math.round((orders / ORDERS_PER_SECOND) * 1_000));
  const blows = (Object.keys(ORDERS_PER_BLOW) as BlowKind[]).flatMap((kind) => {
    const times = Math.max(LEAST[kind] ?? 0, Math.round(orders / ORDERS_PER_BLOW[kind]));
    return Array.from({ length: times }, (_, index) => ({
      // Spread over the storm, each somewhere in its own share of it.
      atMs: Math.round(((index + placeOf(kind, random)) * stormMs) / times),
      blow: blowOf(kind, random),
    }));
  });
  const spread = awayFromZombies(blows);
  return { orders, seed, stormMs, blows: spread.toSorted((one, other) => one.atMs - other.atMs) };
}

/** What would strike a zombie strikes another worker: else it would all come at once when the zombie is awake. */
function awayFromZombies(blows: readonly TimedBlow[]): TimedBlow[] {
  const zombiesAt = (atMs: number): number[] =>
    blows.flatMap(({ atMs: fromMs, blow }) =>
      blow.kind === 'zombie' && atMs >= fromMs && atMs < fromMs + blow.forMs ? blow.worker : [],
    );
  return blows.map(({ atMs, blow }) => {
    const zombies = zombiesAt(atMs);
    if (!('worker' in blow) || blow.kind === 'zombie' || !zombies.includes(blow.worker))
      return { atMs, blow };
    const others = Array.from({ length: WORKERS }, (_, worker) => worker);
    const worker = others.find((each) => !zombies.includes(each)) ?? blow.worker;
    return { atMs, blow: { ...blow, worker } };
  });
}

/** In 0..1. A replay is killed before others empty the lot; a zombie wakes while there is still something to spoil. */
function placeOf(kind: BlowKind, random: RandomSource): number {
  const place = nextFraction(random);
  if (kind === 'replay killed' || kind === 'zombie') return place * 0.1;
  return isOperators(kind) ? 0.2 + place * 0.8 : place;
}

function isOperators(kind: BlowKind): kind is OperatorsAct['kind'] {
  const kinds: readonly BlowKind[] = OPERATORS_ACTS;
  return kinds.includes(kind);
}

function blowOf(kind: BlowKind, random: RandomSource): Blow {
  const worker = nextBelow(random, WORKERS);
  const node = nextBelow(random, 3);
  switch (kind) {
    case 'worker killed':
    case 'worker ended':
    case 'broker cut':
    case 'database cut':
      return { kind, worker };
    case 'zombie':
      return { kind, worker, forMs: ZOMBIE_MS };
    case 'worker frozen':
      // One in four for longer than its lease.
      return { kind, worker, forMs: nextBelow(random, 4) === 0 ? 5_000 : 300 + nextBelow(random, 1_500) };
    case 'database crashed':
    case 'leader killed':
      return { kind, downMs: nextBelow(random, 2_000) };
    case 'node killed':
      return { kind, node, downMs: nextBelow(random, 3_000) };
    case 'node isolated':
      return { kind, node, forMs: 2_000 + nextBelow(random, 3_000) };
    case 'memory alarm':
    case 'disk alarm':
      return { kind, node, forMs: 1_500 + nextBelow(random, 1_500) };
    case 'replay killed':
    case 'lot replayed':
    case 'lot replayed by two':
    case 'unknowns resolved':
    case 'announcements resent':
      return { kind };
    case 'intake paused':
      return { kind, forMs: 500 + nextBelow(random, 1_500) };
  }
}
