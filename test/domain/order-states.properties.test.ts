import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  decide,
  INQUIRY_WAITS_MS,
  isTerminal,
  type Decision,
  type OrderFact,
  type StoredOrder,
} from '../../src/domain/order-states.ts';
import type { AuthorizationOutcome, InquiryOutcome, VoidOutcome } from '../../src/domain/outcome.ts';
import {
  inquired,
  KEY_REUSED,
  KEY_WINDOW_MS,
  LEASE_MS,
  NO_VERDICTS,
  OTHER_TERMS,
  OUTCOMES,
  outcomeOf,
  PARTIAL,
  reopened,
  RETRY_WAITS_MS,
  settled,
  START_MS,
  TERMS,
  VOID_OUTCOMES,
  voided,
} from './order-histories.ts';

/**
 * Random lives of one order: workers claim it, die, freeze and come back late, and their outcomes arrive in any
 * order and more than once. Beside the order runs the truth that the machine cannot see: which claims' requests may
 * be at the gateway.
 */
type Event =
  | { readonly kind: 'claim' | 'refuse' | 'claim other content'; readonly worker: number }
  /** To the request that was made as number `request`, from 0; -1 for the latest. */
  | { readonly kind: 'outcome'; readonly request: number; readonly outcome: AuthorizationOutcome }
  | { readonly kind: 'notified'; readonly status: 'ready-to-ship' | 'denied' }
  | { readonly kind: 'parked' | 'resolve' }
  | { readonly kind: 'inquired'; readonly age: number; readonly outcome: InquiryOutcome }
  | { readonly kind: 'voided'; readonly outcome: VoidOutcome }
  | { readonly kind: 'operator settles'; readonly reference: string | undefined }
  | { readonly kind: 'operator reopens' | 'operator resends' | 'operator looks' }
  | { readonly kind: 'operator asked'; readonly outcome: InquiryOutcome }
  | { readonly kind: 'worker dies'; readonly worker: number }
  | { readonly kind: 'time passes'; readonly ms: number };

const worker = fc.integer({ min: 1, max: 3 });
const outcome = fc.oneof(
  { weight: 2, arbitrary: fc.constant(OUTCOMES.approved) },
  { weight: 2, arbitrary: fc.constant(OUTCOMES.declined) },
  { weight: 3, arbitrary: fc.constant(OUTCOMES.declinedSoftly) },
  { weight: 4, arbitrary: fc.constant(OUTCOMES.unavailable) },
  { weight: 4, arbitrary: fc.constant(OUTCOMES.unknown) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<AuthorizationOutcome[]>(
      OUTCOMES.contradicted,
      OUTCOMES.rejected,
      PARTIAL,
      KEY_REUSED,
    ),
  },
);
/** Of the same authorization; "not found" most of all, since the gateway's search lags. */
const answer = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom<InquiryOutcome[]>(OUTCOMES.approved, OUTCOMES.declined) },
  { weight: 6, arbitrary: fc.constantFrom<InquiryOutcome[]>(...Object.values(NO_VERDICTS)) },
);
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('claim' as const), worker }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('outcome' as const), request: fc.nat(5), outcome }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('refuse' as const, 'claim other content' as const), worker }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('notified' as const), status: fc.constantFrom('ready-to-ship' as const, 'denied' as const) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom('parked' as const, 'resolve' as const, 'resolve' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('inquired' as const), age: fc.nat(1), outcome: answer }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('voided' as const), outcome: fc.constantFrom<VoidOutcome[]>(...Object.values(VOID_OUTCOMES)) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('worker dies' as const), worker }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('operator settles' as const), reference: fc.constantFrom('pi_1', 'pi_2', undefined) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('operator reopens' as const, 'operator reopens' as const, 'operator resends' as const, 'operator looks' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('operator asked' as const), outcome: answer }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('time passes' as const), ms: fc.constantFrom(1000, LEASE_MS, ...RETRY_WAITS_MS, KEY_WINDOW_MS / 2, KEY_WINDOW_MS) }) },
); // prettier-ignore

/** A whole try that is declined softly, with its wait; by chance alone the second one would hardly come about. */
const declinedTry: fc.Arbitrary<readonly Event[]> = worker.map((worker) => [
  { kind: 'claim', worker },
  { kind: 'outcome', request: -1, outcome: OUTCOMES.declinedSoftly },
  { kind: 'time passes', ms: Math.max(...RETRY_WAITS_MS) },
]);
/** What nobody knows, until an operator decides it and, after the key's window, wants it tried again. */
const settledTry: fc.Arbitrary<readonly Event[]> = fc.record({ worker, waits: fc.boolean() }).map(({ worker, waits }) => [
  { kind: 'claim', worker },
  { kind: 'outcome', request: -1, outcome: OUTCOMES.unknown },
  { kind: 'operator settles', reference: undefined },
  ...(waits ? [{ kind: 'time passes', ms: KEY_WINDOW_MS + 3_600_001 } as const] : []),
  { kind: 'operator reopens' },
  { kind: 'claim', worker },
]); // prettier-ignore
const life: fc.Arbitrary<Event[]> = fc
  .array(
    fc.oneof(
      { weight: 9, arbitrary: event.map((one) => [one]) },
      { weight: 3, arbitrary: declinedTry },
      { weight: 1, arbitrary: settledTry },
    ),
    {
      maxLength: 30,
      size: 'max',
    },
  )
  .map((parts) => parts.flat());

/** One claim's request, as the gateway sees it. */
interface Request {
  readonly generation: number;
  readonly claim: number;
  readonly claimedAtMs: number;
  /** Undefined while it is out; each claim has one outcome, which may be brought several times. */
  outcome: AuthorizationOutcome | undefined;
}

/** Lives the events and calls `observe` after each fact. */
function live(events: readonly Event[], observe: (step: Step) => void): void {
  let nowMs = START_MS;
  let order: StoredOrder | undefined;
  const dead = new Set<number>();
  /** The session that worker n runs now; a worker that died comes back with another one. */
  const sessions = new Map<number, number>();
  const requests: Request[] = [];
  const givenBack = new Set<string>();
  const over = new Set<number>();
  const isAlive = (session: number) => !dead.has(session);

  for (const event of events) {
    if (event.kind === 'time passes') nowMs += event.ms;
    if (event.kind === 'worker dies') {
      const session = sessions.get(event.worker) ?? event.worker;
      dead.add(session);
      sessions.set(event.worker, session + 10);
    }
    const fact = factOf(event, requests, order, givenBack);
    if (fact === undefined) continue;

    const before = order;
    const session = 'worker' in event ? (sessions.get(event.worker) ?? event.worker) : 1;
    const context = {
      nowMs,
      worker: session,
      isAlive,
      leaseMs: LEASE_MS,
      keyWindowMs: KEY_WINDOW_MS,
      inquiryWaitsMs: INQUIRY_WAITS_MS,
      softDeclineRetry: { waitsMs: RETRY_WAITS_MS },
    };
    const decision = decide(before, fact, context);
    order = decision.order;
    if (event.kind === 'outcome' && fact.kind === 'outcome') {
      const request = requests.at(event.request);
      if (request !== undefined) request.outcome = fact.outcome;
    }
    const voiding = order?.attempt?.voiding;
    if (voiding?.state === 'confirmed') givenBack.add(voiding.reference);
    if (voiding?.state === 'confirmed') over.add(order?.generation ?? 0);
    if ((fact.kind === 'outcome' || fact.kind === 'inquired') && fact.outcome.kind === 'declined')
      over.add(fact.generation);
    observe({ before, fact, decision, requests, givenBack, over, nowMs, session, isAlive });
    if (decision.next.step === 'charge') {
      const { generation, claim } = decision.next;
      requests.push({ generation, claim, claimedAtMs: nowMs, outcome: undefined });
    }
  }
}

interface Step {
  readonly before: StoredOrder | undefined;
  readonly fact: OrderFact;
  readonly decision: Decision;
  /** In the order in which they were made; before a charge of this step. */
  readonly requests: readonly Request[];
  /** Holds that the gateway has confirmed to be given back. */
  readonly givenBack: ReadonlySet<string>;
  /** Generations that the gateway has declined, or whose hold it has given back. */
  readonly over: ReadonlySet<number>;
  readonly nowMs: number;
  /** Who learned the fact. */
  readonly session: number;
  readonly isAlive: (session: number) => boolean;
}

function factOf(
  event: Event,
  requests: readonly Request[],
  order: StoredOrder | undefined,
  givenBack: ReadonlySet<string>,
): OrderFact | undefined {
  const generation = order?.generation ?? 1;
  switch (event.kind) {
    case 'claim':
      return { kind: 'claim', terms: TERMS };
    case 'claim other content':
      return { kind: 'claim', terms: OTHER_TERMS };
    case 'refuse':
      return { kind: 'refuse', terms: TERMS, reason: 'invalid_card_data' };
    case 'outcome': {
      const request = requests.at(event.request);
      return request && outcomeOf(request.outcome ?? event.outcome, request.claim, request.generation);
    }
    case 'notified':
      return { kind: 'notified', generation, status: event.status };
    case 'parked':
      return { kind: 'parked', reason: 'replays_exhausted' };
    case 'resolve':
      return { kind: 'resolve' };
    case 'inquired':
      return inquired(event.outcome, (order?.attempt?.inquiries ?? 0) - event.age, generation);
    case 'voided':
      return voided(event.outcome, order?.attempt?.voiding?.reference ?? 'pi_1', generation);
    case 'operator settles':
      return settled(event.reference, generation);
    case 'operator reopens':
      // The gateway was asked first.
      return requests.some((request) => holdsMoney(request, givenBack)) ? undefined : reopened(generation);
    case 'operator resends':
      return { kind: 'resend' };
    case 'operator looks':
      return { kind: 'resolve', atOnce: true };
    case 'operator asked': {
      const fact = inquired(event.outcome, order?.attempt?.inquiries ?? 0, generation);
      return fact.kind === 'inquired' ? { ...fact, atOnce: true } : fact;
    }
    case 'worker dies':
    case 'time passes':
      return undefined;
  }
}

function always(invariant: (step: Step) => void, numRuns = 2000): void {
  fc.assert(
    fc.property(life, (events) => {
      live(events, invariant);
    }),
    { numRuns },
  );
}

describe('whatever happens to an order', () => {
  test('a decided order never changes but in the note that it was announced, unless a denied one is reopened', () => {
    always(({ before, fact, decision }) => {
      if (before === undefined || !isTerminal(before)) return;
      if (fact.kind === 'reopened' && decision.order !== before) {
        assert.equal(before.status, 'denied');
        return;
      }
      const { notifiedAtMs, version, attempt } = decision.order ?? assert.fail('the order is gone');
      assert.deepEqual(decision.order, { ...before, notifiedAtMs, version, attempt });
      const { voiding, resolveDueMs } = attempt ?? {};
      // Without one it may get one that was never sent: for its place in the resolver's schedule.
      if (before.attempt === undefined && attempt !== undefined) {
        const { state, maybeSent, keyUsedSinceMs } = attempt;
        assert.deepEqual([state, maybeSent, keyUsedSinceMs], ['declined', false, undefined]);
      } else assert.deepEqual(attempt, before.attempt && { ...before.attempt, voiding, resolveDueMs });
      if (before.notifiedAtMs !== undefined) assert.equal(notifiedAtMs, before.notifiedAtMs);
    });
  });

  test('its key is that of its generation, whatever happens', () => {
    always(({ decision: { order, next } }) => {
      if (order?.attempt === undefined) return;
      assert.equal(order.attempt.idempotencyKey, `order-1234-${order.generation}`);
      if (next.step !== 'charge') return;
      assert.equal(next.generation, order.generation);
      assert.equal(next.idempotencyKey, order.attempt.idempotencyKey);
    });
  });

  test('a new generation is an operator’s, or begins with a claim, after a soft decline, when its wait is over, and not too often', () => {
    always(({ before, fact, decision: { order }, nowMs }) => {
      const generation = before?.generation ?? 1;
      if (order === undefined || order.generation === generation) return;
      assert.equal(order.generation, generation + 1);
      if (fact.kind === 'reopened') return;
      assert.ok(generation <= RETRY_WAITS_MS.length);
      assert.equal(fact.kind, 'claim');
      assert.equal(before?.status, 'received');
      assert.deepEqual([before.attempt?.state, before.attempt?.declineClass], ['declined', 'soft']);
      assert.ok((before.retryAtMs ?? Infinity) <= nowMs);
      assert.ok(
        nowMs - (before.attempt?.keyUsedSinceMs ?? 0) >= (RETRY_WAITS_MS[generation - 1] ?? Infinity),
      );
    });
  });

  test('no try is made after money was heard of, unless it was given back', () => {
    always(({ decision: { next }, requests, givenBack }) => {
      if (next.step !== 'charge') return;
      assert.ok(!requests.some((request) => holdsMoney(request, givenBack)));
    });
  });

  test('no try is made while an earlier one may still arrive at the gateway', () => {
    always(({ decision: { next }, requests, over, nowMs }) => {
      if (next.step !== 'charge') return;
      for (const { generation, outcome, claimedAtMs } of requests) {
        const mayArrive = outcome === undefined || outcome.kind === 'unknown';
        if (!mayArrive || generation === next.generation || over.has(generation)) continue;
        assert.ok(nowMs - claimedAtMs > 3_600_000, `a request of generation ${generation} may be on its way`);
        const first = requests.find((request) => request.generation === generation)?.claimedAtMs ?? nowMs;
        assert.ok(nowMs - first > KEY_WINDOW_MS, `the key of generation ${generation} may be sent again`);
      }
    });
  });

  test('what an operator is refused changes nothing', () => {
    always(({ before, decision: { order, next, alarm } }) => {
      if (next.step !== 'refused') return;
      assert.equal(order, before);
      assert.equal(alarm, undefined);
    });
  });

  test('an operator settles what has no verdict, and nothing else', () => {
    always(({ before, fact, decision: { order, next } }) => {
      if (fact.kind !== 'settled' || order === before) return;
      assert.ok(before?.status === 'authorization-unknown' || before?.status === 'review');
      assert.equal(next.step, 'announce');
      assert.equal(order?.status, fact.as.kind === 'approved' ? 'ready-to-ship' : 'denied');
      // Nobody may be left to announce it, and money on record must not stay with a denied order.
      assert.notEqual(order.attempt?.resolveDueMs, undefined);
      if (fact.as.kind === 'declined' && before.gatewayReference !== undefined) {
        assert.equal(order.attempt?.voiding?.reference, before.gatewayReference);
      }
    });
  });

  test('it waits for its next try as "received", without being announced', () => {
    always(({ decision: { order, next } }) => {
      if (order === undefined) return;
      const waits = order.status === 'received' && order.attempt?.state === 'declined';
      assert.equal(order.retryAtMs !== undefined, waits);
      if (!waits) return;
      assert.ok(!['announce', 'charge', 'wait'].includes(next.step), next.step);
      assert.equal(order.statusReason, 'soft_decline_retry');
      assert.equal(order.decidedAtMs, undefined);
    });
  });

  test('its terms never change', () => {
    always(({ before, decision: { order } }) => {
      const kept = (of: StoredOrder) => [
        of.orderId,
        of.customerId,
        of.amountMinor,
        of.currency,
        of.fingerprint,
      ];
      if (before !== undefined) assert.deepEqual(kept(order ?? assert.fail('gone')), kept(before));
    });
  });

  test('its version rises by one with every change and never without', () => {
    always(({ before, decision: { order } }) => {
      if (order === before) return;
      assert.equal(order?.version, (before?.version ?? 0) + 1);
    });
  });

  test('a charge follows only on a fresh claim that the order records, under a lease', () => {
    always(({ before, decision: { order, next }, nowMs }) => {
      if (next.step !== 'charge') return;
      assert.notEqual(order, before);
      const isNextTry = next.generation !== (before?.generation ?? 1);
      assert.equal(next.claim, isNextTry ? 1 : (before?.attempt?.claim ?? 0) + 1);
      assert.equal(order?.attempt?.claim, next.claim);
      assert.equal(order.attempts, (before?.attempts ?? 0) + 1);
      assert.equal(order.attempt.state, 'open');
      assert.equal(order.attempt.leaseUntilMs, nowMs + LEASE_MS);
      assert.ok(order.status === 'authorizing' || order.status === 'authorization-unknown');
    });
  });

  test('its attempt is open while it is undecided, and never afterwards', () => {
    always(({ decision: { order } }) => {
      if (order?.attempt === undefined) return;
      const states = {
        received: ['open', 'declined'],
        authorizing: ['open'],
        'authorization-unknown': ['open'],
        review: ['review', 'declined'],
        'ready-to-ship': ['approved'],
        denied: ['declined'],
      }[order.status];
      assert.ok(
        states.includes(order.attempt.state),
        `${order.status} with an attempt ${order.attempt.state}`,
      );
    });
  });

  test('a request that may be out is never forgotten', () => {
    always(({ before, decision: { order }, requests }) => {
      if (before?.attempt?.maybeSent === true && before.generation === order?.generation)
        assert.equal(order.attempt?.maybeSent, true);
      if (order?.attempt?.state !== 'open') return;
      const { claim, maybeSent, leaseUntilMs } = order.attempt;
      const ofIts = requests.filter(({ generation }) => generation === order.generation);
      const others = ofIts.filter((request) => request.claim !== claim);
      if (others.some(mayBeAtGateway)) assert.ok(maybeSent, 'another claim may have sent');
      const own = ofIts.find((request) => request.claim === claim);
      if (own !== undefined && mayBeAtGateway(own)) {
        assert.ok(maybeSent || leaseUntilMs !== undefined, 'its own claim may have sent');
      }
    });
  });

  test('"received" means that nothing was sent, or all of it declined, and that its key’s window has not begun', () => {
    always(({ decision: { order }, requests }) => {
      if (order?.status !== 'received' || order.attempt?.state === 'declined') return;
      assert.ok(
        !requests.some((request) => request.generation === order.generation && mayBeAtGateway(request)),
      );
      assert.equal(order.attempt?.keyUsedSinceMs, undefined);
    });
  });

  test('it is denied only by a decline, or before anything was sent', () => {
    always(({ before, fact, decision: { order }, requests }) => {
      if (order?.status !== 'denied' || before?.status === 'denied') return;
      if (fact.kind === 'settled') assert.equal(fact.as.kind, 'declined');
      else if (fact.kind === 'outcome' || fact.kind === 'inquired')
        assert.equal(fact.outcome.kind, 'declined');
      else {
        assert.equal(fact.kind, 'refuse');
        if (before?.attempt?.state === 'declined') return;
        const ofIts = requests.filter(({ generation }) => generation === order.generation);
        assert.ok(!ofIts.some(mayBeAtGateway), 'denied while a request may be out');
      }
    });
  });

  test('it is ready to ship only by an approval, and has its reference', () => {
    always(({ before, fact, decision: { order } }) => {
      if (order?.status !== 'ready-to-ship' || before?.status === 'ready-to-ship') return;
      if (fact.kind !== 'outcome' && fact.kind !== 'inquired' && fact.kind !== 'settled')
        assert.fail(fact.kind);
      const verdict = fact.kind === 'settled' ? fact.as : fact.outcome;
      assert.ok(verdict.kind === 'approved');
      assert.equal(order.gatewayReference, verdict.reference);
    });
  });

  test('an approval is never forgotten: it is on the order, or the order was decided without it and an alarm rings', () => {
    always(({ before, fact, decision: { order, alarm } }) => {
      if ((fact.kind !== 'outcome' && fact.kind !== 'inquired') || fact.outcome.kind !== 'approved') return;
      const { reference } = fact.outcome;
      if (order?.gatewayReference === reference || order?.attempt?.voiding?.reference === reference) return;
      assert.match(alarm ?? '', new RegExp(reference));
      if (before?.attempt === undefined) return;
      assert.ok(before.status === 'denied' || before.gatewayReference !== undefined, 'not on the order');
    });
  });

  test('money that contradicts the order rings an alarm that names it', () => {
    always(({ before, fact, decision: { order, alarm } }) => {
      if (fact.kind !== 'outcome' || fact.outcome.kind !== 'contradicted') return;
      if (fact.outcome.reference === undefined || before?.gatewayReference === fact.outcome.reference) return;
      assert.ok(alarm !== undefined, `silent in ${before?.status ?? 'none'}`);
      assert.ok(
        order?.gatewayReference === fact.outcome.reference || alarm.includes(fact.outcome.reference),
        alarm,
      );
    });
  });

  test('what has no verdict is looked at again, until a person does', () => {
    always(({ decision: { order } }) => {
      if (order?.attempt === undefined) return;
      const { status, statusReason, attempt } = order;
      if (status === 'authorizing' || status === 'authorization-unknown') {
        assert.notEqual(attempt.resolveDueMs, undefined);
      }
      if (status === 'received') assert.equal(attempt.resolveDueMs, undefined);
      assert.ok(attempt.inquiries <= INQUIRY_WAITS_MS.length || statusReason !== 'not_resolved');
    });
  });

  test('asking decides nothing but a verdict, and charges nothing', () => {
    always(({ before, fact, decision: { order, next } }) => {
      if (fact.kind !== 'inquired' && fact.kind !== 'resolve' && fact.kind !== 'voided') return;
      assert.notEqual(next.step, 'charge');
      if (fact.kind === 'resolve') assert.equal(order, before);
      const isVerdict = fact.kind === 'inquired' && ['approved', 'declined'].includes(fact.outcome.kind);
      if (!isVerdict && order !== undefined && isTerminal(order)) assert.equal(before?.status, order.status);
    });
  });

  test('a hold that must not stand is due until the gateway has confirmed or refused, and never one that ships', () => {
    always(({ before, fact, decision: { order } }) => {
      const [then, now] = [before?.attempt?.voiding, order?.attempt?.voiding];
      if (now?.state === 'due') assert.notEqual(order?.attempt?.resolveDueMs, undefined);
      if (now !== undefined) assert.notEqual(order?.attempt?.state, 'approved');
      if (fact.kind === 'reopened' && order !== before) {
        assert.ok(then === undefined || then.state === 'confirmed');
        return;
      }
      if (then !== undefined) assert.equal(now?.reference, then.reference);
      if (then?.state === 'due' && now?.state !== 'due') {
        assert.ok(fact.kind === 'voided' && fact.outcome.kind !== 'unanswered');
      }
      if (then === undefined && now !== undefined) {
        assert.ok(order?.status === 'denied' || order?.statusReason === 'partial_approval');
      }
    });
  });

  test('no key is sent again after its window', () => {
    always(({ decision: { next }, requests, nowMs }) => {
      if (next.step !== 'charge') return;
      for (const request of requests) {
        if (request.generation === next.generation && mayBeAtGateway(request))
          assert.ok(nowMs - request.claimedAtMs <= KEY_WINDOW_MS);
      }
    });
  });

  test('another live worker’s claim is left alone until its lease is over, a dead one’s is not', () => {
    always(({ before, fact, decision: { order, next }, nowMs, isAlive, session }) => {
      if (fact.kind !== 'claim' || before?.attempt?.leaseUntilMs === undefined) return;
      const { owner, leaseUntilMs } = before.attempt;
      const held = owner !== session && isAlive(owner) && leaseUntilMs > nowMs;
      if (next.step === 'charge') assert.ok(!held, 'charged against a live claim');
      if (next.step !== 'wait') return;
      assert.ok(held, 'waits for nobody');
      assert.equal(order, before);
      assert.equal(next.retryAfterMs, leaseUntilMs - nowMs);
      assert.ok(next.retryAfterMs > 0 && next.retryAfterMs <= LEASE_MS);
    });
  });
});

test('the random lives are not idle: every status, step and kind of change occurs', () => {
  const seen = new Set<string>();
  always(({ before, fact, decision: { order, next }, requests }) => {
    seen.add(`step ${next.step}`).add(`status ${order?.status ?? 'none'}`);
    if (next.step === 'charge' && before?.status === 'authorization-unknown') seen.add('resend');
    if (next.step === 'charge' && before?.attempt?.leaseUntilMs !== undefined) seen.add('takeover');
    if (requests.length >= 4) seen.add('four requests');
    if (next.step === 'charge' && next.generation === 3) seen.add('third try');
    if (before?.generation === 3 && before.status !== 'denied' && order?.status === 'denied')
      seen.add('tries used up');
    if (order?.statusReason === 'money_after_decline') seen.add('money after a decline');
    if (next.step === 'park') seen.add(`park ${next.reason}`);
    if (order?.attempt?.voiding !== undefined) seen.add(`void ${order.attempt.voiding.state}`);
    if (before?.status === 'review' && order?.status === 'ready-to-ship') seen.add('resolved from review');
    if (fact.kind === 'settled' && order !== before) seen.add(`settled as ${fact.as.kind}`);
    if (fact.kind === 'reopened' && order !== before) seen.add('reopened');
    if (next.step === 'charge' && before?.statusReason === 'reopened') seen.add('charged after reopening');
  }, 25_000);
  const expected = [
    ...['charge', 'announce', 'wait', 'retry', 'park', 'nothing', 'inquire', 'void', 'refused'].map((step) => `step ${step}`),
    ...['received', 'authorizing', 'authorization-unknown', 'review', 'ready-to-ship', 'denied'].map((status) => `status ${status}`),
    'resend', 'takeover', 'four requests', 'third try', 'tries used up', 'money after a decline', 'park order_conflict', 'park review', 'park key_window_passed',
    'void due', 'void confirmed', 'void refused', 'resolved from review',
    'settled as approved', 'settled as declined', 'reopened', 'charged after reopening',
  ]; // prettier-ignore
  assert.deepEqual(
    expected.filter((one) => !seen.has(one)),
    [],
  );
});

/** Money was heard of, and not that it was given back. */
function holdsMoney({ outcome }: Request, givenBack: ReadonlySet<string>): boolean {
  if (outcome?.kind !== 'approved' && outcome?.kind !== 'contradicted') return false;
  return outcome.reference !== undefined && !givenBack.has(outcome.reference);
}

/** Sent, or out without an answer: only a proof that it was not sent says otherwise. */
function mayBeAtGateway(request: Request): boolean {
  return request.outcome?.kind !== 'unavailable';
}
