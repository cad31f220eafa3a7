import {
  decide,
  type DecisionContext,
  type OrderFact,
  type StoredOrder,
} from '../../src/domain/order-states.ts';
import type { AttemptOfGeneration } from '../../src/domain/money-moved.ts';
import { claimBy, contextAt, DEAD, inquired, KEY_WINDOW_MS, LEASE_MS, NO_VERDICTS, outcomeOf, OUTCOMES, PARTIAL, RETRY_WAITS_MS, SELF, TERMS, VOID_OUTCOMES, voided } from './order-histories.ts'; // prettier-ignore

/** What the machine cannot see: requests that may have reached the gateway, and holds it spoke of. */
export interface Truth {
  /** Some request may hold money at the gateway: it is out, or its answer was no verdict, or a hold was named and not given back. */
  readonly mayHoldMoney: boolean;
  readonly holdWasNamed: boolean;
  readonly alarmed: boolean;
}

export interface ReachableOrder {
  readonly order: StoredOrder | undefined;
  /** Of earlier generations. */
  readonly attempts: readonly AttemptOfGeneration[];
  readonly truth: Truth;
  readonly context: DecisionContext;
  readonly path: readonly string[];
  /** What the worker would do if the message came again now. */
  readonly onReplay: string;
}

const DEPTH = 5;

/** Every state that up to five facts in a row lead to, each with a history that leads there. */
export function reachableOrders(): readonly ReachableOrder[] {
  const seen = new Map<string, Place>();
  let edge: Place[] = [START];
  seen.set(nameOf(START), START);
  for (let depth = 0; depth < DEPTH; depth++) {
    edge = edge.flatMap((place) => MOVES.flatMap((move) => move(place) ?? []));
    edge = edge.filter((place) => !seen.has(nameOf(place)) && seen.set(nameOf(place), place));
  }
  return [...seen.values()].map(reached);
}

/** A request is one claim's; what is known of it changes when its answer comes. */
interface Request {
  readonly generation: number;
  readonly claim: number;
  readonly is: 'out' | 'never sent' | 'unclear';
}

interface Place {
  readonly order: StoredOrder | undefined;
  readonly attempts: readonly AttemptOfGeneration[];
  readonly sinceStartMs: number;
  readonly requests: readonly Request[];
  /** Generations whose key was answered with a verdict of no charge: all of its requests hold nothing. */
  readonly declined: readonly number[];
  readonly holds: readonly string[];
  readonly givenBack: readonly string[];
  readonly alarmed: boolean;
  readonly path: readonly string[];
}

const START: Place = {
  order: undefined,
  attempts: [],
  sinceStartMs: 0,
  requests: [],
  declined: [],
  holds: [],
  givenBack: [],
  alarmed: false,
  path: [],
};

type Move = (place: Place) => Place | undefined;

const MOVES: readonly Move[] = [
  ...[0, LEASE_MS, RETRY_WAITS_MS[0], KEY_WINDOW_MS + 1].flatMap((waitMs): Move[] => [
    (place) => charged(learn(place, `claim after ${waitMs} ms`, claimBy(), SELF, waitMs)),
    (place) => charged(learn(place, `claim after ${waitMs} ms by one that dies`, claimBy(), DEAD, waitMs)),
  ]),
  (place) => learn(place, 'refuse', { kind: 'refuse', terms: TERMS, reason: 'invalid_card_data' }),
  ...[...Object.values(OUTCOMES), PARTIAL].map(
    (outcome): Move =>
      (place) =>
        answer(place, outcome),
  ),
  ...[OUTCOMES.approved, OUTCOMES.declined, ...Object.values(NO_VERDICTS)].map(
    (outcome): Move =>
      (place) =>
        inquiry(place, outcome),
  ),
  ...(['ready-to-ship', 'denied'] as const).map(
    (status): Move =>
      (place) =>
        place.order?.status === status
          ? learn(place, `notified ${status}`, {
              kind: 'notified',
              generation: place.order.generation,
              status,
            })
          : undefined,
  ),
  ...[VOID_OUTCOMES.voided, VOID_OUTCOMES.refused].map(
    (outcome): Move =>
      (place) =>
        giveBack(place, outcome),
  ),
];

function learn(place: Place, name: string, fact: OrderFact, worker = SELF, waitMs = 0): Place {
  const sinceStartMs = place.sinceStartMs + waitMs;
  const { order, alarm } = decide(place.order, fact, contextAt(sinceStartMs, worker));
  const { attempt, generation = 0 } = place.order ?? {};
  const isNextGeneration = attempt !== undefined && order !== undefined && order.generation > generation;
  return {
    ...place,
    order,
    sinceStartMs,
    attempts: isNextGeneration ? [...place.attempts, { ...attempt, generation }] : place.attempts,
    alarmed: place.alarmed || alarm !== undefined,
    path: [...place.path, name],
  };
}

/** A claim lets a request out, if it was given. */
function charged(place: Place): Place {
  const { order, requests } = place;
  const claim = order?.attempt?.claim ?? 0;
  const generation = order?.generation ?? 0;
  const isNew = !requests.some((one) => one.claim === claim && one.generation === generation);
  const isHeld = order?.attempt?.leaseUntilMs !== undefined;
  return isNew && isHeld ? { ...place, requests: [...requests, { generation, claim, is: 'out' }] } : place;
}

/** The answer to the oldest request that has none. */
function answer(place: Place, outcome: Parameters<typeof outcomeOf>[0]): Place | undefined {
  const asked = place.requests.find(({ is }) => is === 'out');
  if (asked === undefined) return undefined;
  const { generation, claim } = asked;
  const after = learn(place, `${outcome.kind} (claim ${claim})`, outcomeOf(outcome, claim, generation));
  const is = outcome.kind === 'unknown' ? 'unclear' : unsentOrUnclear(outcome);
  const requests = place.requests.map((one) => (one === asked ? { ...one, is } : one));
  return verdict({ ...after, requests }, generation, outcome);
}

function unsentOrUnclear(outcome: Parameters<typeof outcomeOf>[0]): Request['is'] {
  const isUnsent = outcome.kind === 'unavailable' && outcome.cause !== 'proxy_page';
  // A rejected request holds nothing.
  return isUnsent || outcome.kind === 'rejected' ? 'never sent' : 'unclear';
}

function inquiry(place: Place, outcome: Parameters<typeof inquired>[0]): Place | undefined {
  const { order, requests } = place;
  // What was never sent is not known to the gateway.
  const isKnown = requests.some(({ is }) => is !== 'never sent');
  if (order?.attempt === undefined || !isKnown) return undefined;
  const fact = inquired(outcome, order.attempt.inquiries, order.generation);
  return verdict(learn(place, `inquired: ${outcome.kind}`, fact), order.generation, outcome);
}

function verdict(place: Place, generation: number, outcome: { kind: string; reference?: string }): Place {
  if (outcome.kind === 'declined') return { ...place, declined: [...place.declined, generation] };
  if (outcome.kind !== 'approved' && outcome.kind !== 'contradicted') return place;
  return { ...place, holds: [...place.holds, outcome.reference ?? 'unnamed'] };
}

function giveBack(place: Place, outcome: Parameters<typeof voided>[0]): Place | undefined {
  const { order, givenBack } = place;
  const voiding = order?.attempt?.voiding;
  if (order === undefined || voiding === undefined) return undefined;
  const { reference } = voiding;
  const after = learn(place, outcome.kind, voided(outcome, reference, order.generation));
  return outcome.kind === 'voided' ? { ...after, givenBack: [...givenBack, reference] } : after;
}

function reached(place: Place): ReachableOrder {
  const { order, attempts, path, alarmed, holds, givenBack, declined, requests } = place;
  const context = contextAt(place.sinceStartMs);
  // The gateway decides a key once: after its verdict, its other requests hold nothing of their own.
  const decided = [...declined, ...(holds.length > 0 ? requests.map(({ generation }) => generation) : [])];
  const isOpen = requests.some(({ is, generation }) => is !== 'never sent' && !decided.includes(generation));
  const isHeld = holds.some((reference) => !givenBack.includes(reference));
  return {
    order,
    attempts,
    path,
    context,
    truth: { mayHoldMoney: isOpen || isHeld, holdWasNamed: holds.length > 0, alarmed },
    onReplay: decide(order, claimBy(), context).next.step,
  };
}

/** What makes a difference; versions and the way there do not. */
function nameOf(place: Place): string {
  const text = (_key: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value);
  return JSON.stringify({ ...place, path: [], order: { ...place.order, version: 0 } }, text);
}
