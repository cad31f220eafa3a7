/**
 * What can go wrong, and where: a fault is data, so that a run can be repeated, taken apart and stored.
 *
 * A *site* is a place where a worker and the world outside of it meet: one remote call of a kind. Calls are counted by
 * site, and a fault names the one that it strikes. A call has a request leg, an effect and a reply leg, and most faults
 * say which of them they hit. Faults of the site `world` strike at a time instead of at a call.
 */
import { nextBelow, nextFraction, type RandomSource } from '../../src/topology/random.ts';

/** Faults that every remote call can have. */
const EVERY_CALL = [
  /** The connection breaks before the request has arrived. */
  'cut-before',
  /** The connection breaks when it has been done: its reply is lost. */
  'cut-after',
  /** The request is late, and may outlive whoever sent it. */
  'late-request',
  'late-reply',
  'kill-before',
  'kill-after',
  /** SIGSTOP, or a blocked event loop. */
  'stop-before',
  'stop-after',
] as const;

export const FAULTS = {
  'database.read': [...EVERY_CALL, 'no-answer', 'refused'],
  'database.living': [...EVERY_CALL, 'no-answer'],
  'database.write': [...EVERY_CALL, 'no-answer', 'no-answer-after', 'collision', 'refused'],
  'database.take': [...EVERY_CALL, 'no-answer'],
  'database.probe': ['cut-before', 'no-answer', 'read-only', 'kill-before'],
  /** Parked orders, replays and reconciliations. */
  'database.operator': [...EVERY_CALL, 'no-answer', 'no-answer-after', 'refused'],
  'database.session': ['cut-before', 'no-answer', 'kill-before', 'kill-after'],
  'database.heartbeat': ['no-answer', 'session-lost', 'session-lost-unnoticed'],
  'gateway.authorize': [
    ...EVERY_CALL,
    'not-sent',
    'no-answer',
    'no-answer-after',
    /** Deciding takes long, and the key is in use meanwhile. */
    'slow',
    'garbled',
    'bad-gateway',
    'bad-gateway-after',
    'server-error',
    'server-error-after',
    'twice',
    'rate-limited',
    'misconfigured',
    'proxy-page',
    'pending',
    'wrong-amount',
    'wrong-currency',
    'partial',
    'rejected',
  ],
  'gateway.lookup': [...EVERY_CALL, 'no-answer', 'search-lags'],
  'gateway.void': [...EVERY_CALL, 'no-answer'],
  'gateway.list': ['cut-before', 'cut-after', 'kill-before', 'kill-after', 'no-answer'],
  'broker.dial': ['refused', 'no-answer', 'kill-before'],
  'broker.call': ['cut-before', 'cut-after', 'no-answer', 'channel-error', 'late-reply', 'kill-before'],
  'broker.deliver': [
    'cut-before',
    'cut-after',
    'consumer-cancelled',
    'channel-error',
    'kill-after',
    'stop-after',
  ],
  'broker.ack': ['cut-before', 'cut-after', 'channel-error', 'late-request', 'kill-before', 'kill-after'],
  'broker.announce': [
    ...EVERY_CALL,
    'nacked',
    'unroutable',
    'channel-error',
    'channel-error-after',
    'no-confirm',
  ],
  'broker.copy': [
    ...EVERY_CALL,
    'nacked',
    'unroutable',
    'channel-error',
    'channel-error-after',
    'no-confirm',
  ],
  'broker.park': [
    ...EVERY_CALL,
    'nacked',
    'unroutable',
    'channel-error',
    'channel-error-after',
    'no-confirm',
  ],
  upstream: ['twice', 'again-later', 'conflicting', 'unreadable', 'hopeless-card'],
  world: [
    'kill',
    /** The machine is gone without a word: broker and database notice much later. */
    'vanish',
    'terminate',
    'stop',
    'wall-clock',
    'broker-restart',
    'broker-away',
    'broker-alarm',
    'queue-moved',
    'database-restart',
    'database-away',
    'database-clock',
    'gateway-away',
    'gateway-misconfigured',
    'gateway-rate-limit',
    'downstream-unbound',
  ],
  /** No faults, but commands that are run at a time like the world's. */
  operator: [
    'replay',
    'replay-twice',
    'replay-by-two',
    'replay-killed',
    'resolve',
    'settle',
    'reopen',
    'resend',
    'reconcile',
    'pause',
  ],
} as const;

export type Site = keyof typeof FAULTS;
export type FaultKind = (typeof FAULTS)[Site][number];
export type CallSite = Exclude<Site, 'world' | 'upstream' | 'operator'>;

export interface Fault {
  readonly site: Site;
  /** Which call of the site, from 1 on; of the world: which one it strikes, modulo how many there are. */
  readonly nth: number;
  readonly kind: FaultKind;
  /** For how long, or by how much, milliseconds. */
  readonly ms: number;
  /** When, of the world's; milliseconds since the start. */
  readonly atMs?: number;
}

/** Decides what goes wrong, counts calls, and keeps what went wrong as a plan that does the same again. */
export interface Faults {
  /** To be asked once for every call. */
  at(site: CallSite | 'upstream'): Fault | undefined;
  /** The world's, and what operators do. */
  readonly timed: readonly Fault[];
  /** From now on nothing goes wrong any more. */
  heal(): void;
  /** Everything that struck, the world's included. */
  readonly struck: readonly Fault[];
  /** How many calls each site had before it healed. */
  readonly calls: ReadonlyMap<Site, number>;
}

/** What is given strikes, and nothing else. */
export function plannedFaults(plan: readonly Fault[]): Faults {
  const planned = new Map(plan.map((fault) => [`${fault.site} ${fault.nth}`, fault]));
  return counting(
    plan.filter(({ site }) => site === 'world' || site === 'operator'),
    (site, nth) => planned.get(`${site} ${nth}`),
  );
}

/** Any half of the kinds, at random; more of them at the gateway, which is called least and matters most. */
export function randomFaults(
  random: RandomSource,
  faultyForMs: number,
  { areOperatorsBusy = false } = {},
): Faults {
  const rates = new Map<Site, { readonly rate: number; readonly kinds: readonly FaultKind[] }>();
  const intensity = [0.3, 1, 1, 2][nextBelow(random, 4)] ?? 1;
  for (const site of Object.keys(FAULTS) as Site[]) {
    const kinds = FAULTS[site].filter(() => nextFraction(random) < 0.5);
    rates.set(site, { rate: kinds.length === 0 ? 0 : RATES[site] * intensity, kinds });
  }
  const kindsOfWorld = rates.get('world')?.kinds ?? [];
  const strikes = kindsOfWorld.length === 0 ? 0 : nextBelow(random, 5);
  const ofTheWorld = Array.from({ length: strikes }, (): Fault => {
    const kind = oneOf(kindsOfWorld, random);
    const atMs = Math.floor(nextFraction(random) * faultyForMs);
    return { site: 'world', nth: nextBelow(random, 8), kind, ms: spanOf(kind, random), atMs };
  });
  return counting([...ofTheWorld, ...commands(random, faultyForMs, areOperatorsBusy)], (site, nth) => {
    const { rate = 0, kinds = [] } = rates.get(site) ?? {};
    if (rate === 0 || nextFraction(random) >= rate) return undefined;
    const kind = oneOf(kinds, random);
    return { site, nth, kind, ms: spanOf(kind, random) };
  });
}

/** Some commands come when everything works again. */
const LATER_MS = 20_000;

/** In some of the runs, or in all; anywhere in the time of faults, and a little after it. */
function commands(random: RandomSource, faultyForMs: number, areBusy: boolean): Fault[] {
  const few = nextFraction(random) < 0.6 ? 0 : 1 + nextBelow(random, 4);
  const count = areBusy ? 4 + few : few;
  return Array.from({ length: count }, (): Fault => {
    const kind = oneOf(FAULTS.operator, random);
    // Rather late: there is more to be done for them then.
    const atMs = Math.floor(Math.sqrt(nextFraction(random)) * (faultyForMs + LATER_MS));
    return { site: 'operator', nth: nextBelow(random, 8), kind, ms: spanOf(kind, random), atMs };
  });
}

const RATES: Readonly<Record<Site, number>> = {
  'database.read': 0.02,
  'database.living': 0.05,
  'database.write': 0.04,
  'database.take': 0.02,
  'database.probe': 0.05,
  'database.operator': 0.03,
  'database.session': 0.05,
  'database.heartbeat': 0.01,
  'gateway.authorize': 0.3,
  'gateway.lookup': 0.2,
  'gateway.void': 0.2,
  'gateway.list': 0.6,
  'broker.dial': 0.1,
  'broker.call': 0.004,
  'broker.deliver': 0.03,
  'broker.ack': 0.05,
  'broker.announce': 0.08,
  'broker.copy': 0.08,
  'broker.park': 0.08,
  upstream: 0.15,
  world: 0,
  operator: 0,
};

/** How long what takes long takes: mostly seconds, sometimes longer than a lease. */
function spanOf(kind: FaultKind, random: RandomSource): number {
  const draw = nextFraction(random);
  switch (kind) {
    case 'wall-clock':
      return ([-25 * 3_600_000, -3_600_000, 3_600_000] as const)[Math.floor(draw * 3)] ?? 0;
    case 'database-clock':
      return Math.floor((draw - 0.5) * 10_000);
    case 'again-later':
      return Math.floor(draw ** 2 * 400_000);
    default:
      return Math.floor(20 + draw ** 3 * 45_000);
  }
}

export function oneOf<T>(things: readonly T[], random: RandomSource): T {
  return things[nextBelow(random, things.length)] as T;
}

function counting(timed: readonly Fault[], decide: (site: Site, nth: number) => Fault | undefined): Faults {
  const calls = new Map<Site, number>();
  const struck: Fault[] = [...timed];
  let isHealed = false;
  return {
    timed,
    struck,
    calls,
    at(site) {
      if (isHealed) return undefined;
      const nth = (calls.get(site) ?? 0) + 1;
      calls.set(site, nth);
      const fault = decide(site, nth);
      if (fault !== undefined) struck.push(fault);
      return fault;
    },
    heal() {
      isHealed = true;
    },
  };
}
