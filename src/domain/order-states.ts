/**
 * The life of an order: every status, every fact that can be learned about it, and what follows, in one pure and
 * total function, `decide(stored order, fact) -> (next order, what to do now)`.
 *
 *     received -> authorizing -> ready-to-ship | denied | authorization-unknown | review
 *
 * - `ready-to-ship` and `denied` are terminal: whatever comes later changes nothing but is reported.
 * - A status says what is known, not who works on it: a resend of an unknown authorization is claimed with a
 *   lease, and its status stays `authorization-unknown` until a verdict is there.
 * - The idempotency key belongs to the order's generation and never changes on a fault.
 * - A soft decline that is to be tried again leaves the order `received`, with its attempt declined: nothing is charged
 *   and nothing is decided, so nobody is told. It is claimed again when its time has come, as the next generation.
 * - Notification is a fact beside the status (`notifiedAtMs`).
 *
 * test/domain/order-states.test.ts prints the status x fact table and compares it.
 */
import type {
  Approved,
  AuthorizationOutcome,
  Contradicted,
  Declined,
  InquiryOutcome,
  Unanswered,
  Undecided,
  VoidOutcome,
} from './outcome.ts';
import type { DecisionParkReason, OrderTerms } from './order.ts';
import { nextTry, type SoftDeclineRetry } from './soft-declines.ts';

export type TerminalStatus = 'ready-to-ship' | 'denied';
export type OrderStatus = 'received' | 'authorizing' | 'authorization-unknown' | 'review' | TerminalStatus;

export interface StoredOrder extends OrderTerms {
  readonly status: OrderStatus;
  readonly statusReason: string | undefined;
  readonly generation: number;
  /** Claims made for this order, over all generations. */
  readonly attempts: number;
  readonly attempt: Attempt | undefined;
  readonly gatewayReference: string | undefined;
  /** Until when the approved hold can be captured, where the gateway says so. */
  readonly authorizationExpiresAtMs: number | undefined;
  readonly decidedAtMs: number | undefined;
  readonly notifiedAtMs: number | undefined;
  /** Declined softly, and not to be claimed again before; undefined when it does not wait for that. */
  readonly retryAtMs: number | undefined;
  /** When its tries after soft declines end; set by the first of those, and then for good. */
  readonly retryUntilMs: number | undefined;
  /** Raised by every write; a write of an older version is refused. */
  readonly version: number;
}

/** The one authorization attempt of the order's generation; claims take turns on it, all with the same key. */
export interface Attempt {
  readonly idempotencyKey: string;
  /** Number of the claim that holds it; an answer to an older claim must not reopen anything. */
  readonly claim: number;
  /** The worker session that holds it. */
  readonly owner: number;
  /** Until when the claim is respected while its owner lives; undefined when no claim is held. */
  readonly leaseUntilMs: number | undefined;
  /** Before the first send under this key, so at or before the gateway's own count; undefined: proven never sent. */
  readonly keyUsedSinceMs: number | undefined;
  /** A request may have reached the gateway without its answer being recorded. */
  readonly maybeSent: boolean;
  readonly state: 'open' | 'approved' | 'declined' | 'review';
  /** Decline class, for policies and people. */
  readonly declineClass: 'hard' | 'soft' | 'unknown' | undefined;
  /** How often the gateway was asked what became of it and had no verdict: the place in the schedule. */
  readonly inquiries: number;
  /**
   * When the resolver looks at the order next, message or no message: to ask the gateway while there is no verdict, to
   * give a hold back, to announce a decision that nobody may be left to announce. undefined: nothing to do for it.
   */
  readonly resolveDueMs: number | undefined;
  /** A hold that must not stand. */
  readonly voiding: Voiding | undefined;
}

export interface Voiding {
  readonly reference: string;
  readonly state: 'due' | 'confirmed' | 'refused';
  /** Requests that brought no confirmation. */
  readonly tries: number;
}

/** What was learned about an order. */
export type OrderFact =
  /** A message asks for the order to be authorized; with it the order is admitted and the attempt claimed. */
  | { readonly kind: 'claim'; readonly terms: OrderTerms }
  /** A message carries the order with card data that no gateway could use. */
  | { readonly kind: 'refuse'; readonly terms: OrderTerms; readonly reason: 'invalid_card_data' }
  /** What claim number `claim` of `generation` came to at the gateway. */
  | {
      readonly kind: 'outcome';
      readonly generation: number;
      readonly claim: number;
      readonly outcome: AuthorizationOutcome;
    }
  /** Downstream confirmed the notification of this status and generation. */
  | { readonly kind: 'notified'; readonly generation: number; readonly status: TerminalStatus }
  /** The message was handed to a person. */
  | { readonly kind: 'parked'; readonly reason: string }
  /** The resolver comes by. */
  | { readonly kind: 'resolve' }
  /** What the gateway said of `generation` when it was asked; `inquiry`: which place of the schedule that was. */
  | {
      readonly kind: 'inquired';
      readonly generation: number;
      readonly inquiry: number;
      readonly outcome: InquiryOutcome;
    }
  /** What came of giving the hold `reference` back. */
  | {
      readonly kind: 'voided';
      readonly generation: number;
      readonly reference: string;
      readonly outcome: VoidOutcome;
    };

/** What the decision depends on besides the order and the fact. */
export interface DecisionContext {
  /** The system of record's clock, milliseconds since the epoch. */
  readonly nowMs: number;
  /** The worker session that learned the fact. */
  readonly worker: number;
  /** Whether a worker session still holds its lock. */
  readonly isAlive: (worker: number) => boolean;
  readonly leaseMs: number;
  /** How long after its first use a key may be sent again. */
  readonly keyWindowMs: number;
  /** Waits before the first, second, ... inquiry of an order without a verdict; after the last one a person looks. */
  readonly inquiryWaitsMs: readonly number[];
  /** Whether and when soft declines are tried again; undefined: never. */
  readonly softDeclineRetry?: SoftDeclineRetry | undefined;
}

/** What the one who brought the fact does now. */
export type NextStep =
  /** Ask the gateway, with this key; then bring the outcome of this claim. */
  | {
      readonly step: 'charge';
      readonly idempotencyKey: string;
      readonly generation: number;
      readonly claim: number;
    }
  /** Ask the gateway what became of the authorization, without charging anything; then bring the answer. */
  | {
      readonly step: 'inquire';
      readonly idempotencyKey: string;
      readonly generation: number;
      readonly inquiry: number;
      /** The gateway's id of it, where it is known. */
      readonly reference: string | undefined;
    }
  /** Give the hold back, under a key of its own; then bring the answer. */
  | {
      readonly step: 'void';
      readonly idempotencyKey: string;
      readonly generation: number;
      readonly reference: string;
    }
  /** The order is decided: announce it. */
  | { readonly step: 'announce' }
  /** Somebody else is at it: come back later. */
  | { readonly step: 'wait'; readonly retryAfterMs: number }
  /** Not decided: try again later. */
  | {
      readonly step: 'retry';
      readonly errorClass: string;
      readonly retryAfterMs?: number;
      readonly detail: string;
    }
  | { readonly step: 'park'; readonly reason: DecisionParkReason; readonly detail: string }
  | { readonly step: 'nothing' };

export interface Decision {
  /** The order after the fact; undefined when there is none, the same object when nothing changed. */
  readonly order: StoredOrder | undefined;
  readonly next: NextStep;
  /** Something that must never happen has happened; a person should be told. */
  readonly alarm: string | undefined;
}

export function decide(order: StoredOrder | undefined, fact: OrderFact, context: DecisionContext): Decision {
  switch (fact.kind) {
    case 'claim':
      return order === undefined ? admitAndClaim(fact.terms, context) : claim(order, fact.terms, context);
    case 'refuse':
      return order === undefined
        ? admitAndDeny(fact.terms, fact.reason, context)
        : refuse(order, fact, context);
    case 'outcome':
      return recordOutcome(order, fact, context);
    case 'notified':
      return markNotified(order, fact, context);
    case 'parked':
      return notePlace(order, context);
    case 'resolve':
      return resolve(order, context);
    case 'inquired':
      return recordInquiry(order, fact, context);
    case 'voided':
      return recordVoid(order, fact, context);
  }
}

// --- claim -------------------------------------------------------------------------------------------------------

function admitAndClaim(terms: OrderTerms, context: DecisionContext): Decision {
  return holdClaim(admitted(terms), context);
}

function claim(order: StoredOrder, terms: OrderTerms, context: DecisionContext): Decision {
  if (order.fingerprint !== terms.fingerprint) return conflict(order);
  switch (order.status) {
    case 'ready-to-ship':
    case 'denied':
      return unchanged(order, { step: 'announce' });
    case 'review':
      return unchanged(order, parkForReview(order.statusReason ?? 'review'));
    case 'received':
    case 'authorizing':
    case 'authorization-unknown':
      return claimOpenAttempt(order, context);
  }
}

function claimOpenAttempt(order: StoredOrder, context: DecisionContext): Decision {
  const { attempt } = order;
  if (attempt === undefined) return holdClaim(order, context);
  if (attempt.state === 'declined') return claimNextTry(order, context);

  const leftMs = leaseLeftMs(attempt, context);
  if (leftMs > 0) return unchanged(order, { step: 'wait', retryAfterMs: leftMs });

  // An unreleased lease here is a dead, frozen or interrupted owner's: its request may be anywhere.
  const interrupted = attempt.leaseUntilMs !== undefined;
  const maybeSent = attempt.maybeSent || interrupted;
  if (keyIsTooOld(attempt, context)) {
    const detail =
      'the idempotency key is too old to be sent again, and no verdict is known: the gateway is asked';
    const next = {
      ...withAttempt(order, {
        maybeSent,
        state: 'review',
        leaseUntilMs: undefined,
        resolveDueMs: earlier(attempt.resolveDueMs, context.nowMs),
      }),
      ...reviewed('key_window_passed'),
    };
    return changed(order, next, { step: 'park', reason: 'key_window_passed', detail });
  }
  return holdClaim(withAttempt(order, { maybeSent }), context);
}

/** It was declined softly: a new generation, with a key of its own, once its time has come. */
function claimNextTry(order: StoredOrder, context: DecisionContext): Decision {
  if (context.softDeclineRetry === undefined) {
    return changed(order, denied(order, 'card_declined', context), { step: 'announce' });
  }
  if ((order.retryAtMs ?? 0) > context.nowMs) return unchanged(order, waitForNextTry(order, context));
  const nextTryOfIt: StoredOrder = {
    ...order,
    generation: order.generation + 1,
    attempt: undefined,
    gatewayReference: undefined,
    statusReason: undefined,
    retryAtMs: undefined,
  };
  return holdClaim(nextTryOfIt, context);
}

/** Milliseconds for which somebody else's claim is still to be respected. */
function leaseLeftMs(attempt: Attempt, context: DecisionContext): number {
  if (attempt.leaseUntilMs === undefined) return 0;
  // Its own earlier claim: a worker asks again only after that run has ended. The key makes a late answer harmless.
  if (attempt.owner === context.worker) return 0;
  if (!context.isAlive(attempt.owner)) return 0;
  return Math.max(0, attempt.leaseUntilMs - context.nowMs);
}

function keyIsTooOld(attempt: Attempt, context: DecisionContext): boolean {
  return attempt.keyUsedSinceMs !== undefined && context.nowMs - attempt.keyUsedSinceMs > context.keyWindowMs;
}

function holdClaim(order: StoredOrder, context: DecisionContext): Decision {
  const { generation, orderId } = order;
  const previous = order.attempt;
  const attempt: Attempt = {
    idempotencyKey: previous?.idempotencyKey ?? `order-${orderId}-${generation}`,
    claim: (previous?.claim ?? 0) + 1,
    owner: context.worker,
    leaseUntilMs: context.nowMs + context.leaseMs,
    keyUsedSinceMs: previous?.keyUsedSinceMs ?? context.nowMs,
    maybeSent: previous?.maybeSent ?? false,
    state: 'open',
    declineClass: undefined,
    inquiries: previous?.inquiries ?? 0,
    resolveDueMs: previous?.resolveDueMs ?? context.nowMs + context.leaseMs + firstWaitMs(context),
    voiding: undefined,
  };
  const next: StoredOrder = {
    ...order,
    attempt,
    attempts: order.attempts + 1,
    status: order.status === 'authorization-unknown' ? 'authorization-unknown' : 'authorizing',
  };
  const { idempotencyKey, claim: number } = attempt;
  return changed(order, next, { step: 'charge', idempotencyKey, generation, claim: number });
}

// --- refuse ------------------------------------------------------------------------------------------------------

function admitAndDeny(terms: OrderTerms, reason: string, context: DecisionContext): Decision {
  const order = admitted(terms);
  return changed(order, denied(order, reason, context), { step: 'announce' });
}

function refuse(
  order: StoredOrder,
  fact: { terms: OrderTerms; reason: string },
  context: DecisionContext,
): Decision {
  if (order.fingerprint !== fact.terms.fingerprint) return conflict(order);
  switch (order.status) {
    case 'ready-to-ship':
    case 'denied':
      return unchanged(order, { step: 'announce' });
    case 'received':
      if (order.attempt?.maybeSent === true && order.attempt.state !== 'declined')
        return unchanged(order, parkForReview('the card data was usable before and is not now'));
      // An attempt that was never sent ends with the order: left open, it would block the next generation's.
      return changed(order, denied(withAttempt(order, { state: 'declined' }), fact.reason, context), {
        step: 'announce',
      });
    case 'authorizing':
    case 'authorization-unknown':
      return unchanged(order, parkForReview('the card data was usable before and is not now'));
    case 'review':
      return unchanged(order, parkForReview(order.statusReason ?? 'review'));
  }
}

// --- outcome -----------------------------------------------------------------------------------------------------

type OutcomeFact = Extract<OrderFact, { kind: 'outcome' }>;

function recordOutcome(
  order: StoredOrder | undefined,
  fact: OutcomeFact,
  context: DecisionContext,
): Decision {
  if (order?.attempt === undefined) return neverClaimed(order, fact.outcome);
  if (fact.generation !== order.generation) return hearOfOtherGeneration(order, fact);
  switch (order.status) {
    case 'received':
      if (order.attempt.state === 'declined') return hearBetweenTries(order, fact.outcome, context);
      return settleAttempt(order, order.attempt, fact, context);
    case 'authorizing':
    case 'authorization-unknown':
      return settleAttempt(order, order.attempt, fact, context);
    case 'ready-to-ship':
      return unchanged(order, { step: 'announce' }, contradictionOfApproval(order, fact.outcome));
    case 'denied':
      return hearAfterDenial(order, order.attempt, fact.outcome, { step: 'announce' }, context);
    case 'review':
      return hearInReview(order, fact.outcome);
  }
}

function settleAttempt(
  order: StoredOrder,
  attempt: Attempt,
  fact: OutcomeFact,
  context: DecisionContext,
): Decision {
  const { outcome } = fact;
  switch (outcome.kind) {
    case 'approved':
    case 'declined':
    case 'contradicted':
      return settle(order, attempt, outcome, context);
    case 'rejected':
      return changed(
        order,
        giveToReview(order, `rejected: ${outcome.code}`),
        parkForReview(`rejected: ${outcome.code}`),
      );
    case 'unavailable':
      return releaseUnsent(order, attempt, fact.claim, outcome);
    case 'unknown':
      return releaseUnknown(order, attempt, fact.claim, outcome, context);
  }
}

/** A verdict, whether it came as the answer to the authorization or to a question about it. */
function settle(
  order: StoredOrder,
  attempt: Attempt,
  outcome: Approved | Declined | Contradicted,
  context: DecisionContext,
): Decision {
  switch (outcome.kind) {
    case 'approved':
      return changed(order, approved(order, outcome, context), { step: 'announce' });
    case 'declined':
      return recordDecline(order, attempt, outcome, context);
    case 'contradicted':
      return changed(
        order,
        {
          ...giveToReview(order, outcome.reason, followUp(outcome, context)),
          gatewayReference: outcome.reference ?? order.gatewayReference,
        },
        parkForReview(outcome.reason),
        `the gateway's answer contradicts the order: ${outcome.reason}`,
      );
  }
}

/**
 * What can be done about a contradiction without a person: a part of the amount is given back, since it may never be
 * shipped on; behind a reused key may be the order's own first request, so the gateway is asked. Money in another
 * amount, currency or name is left as it is.
 */
function followUp({ reason, reference }: Contradicted, context: DecisionContext): Partial<Attempt> {
  if (reason === 'partial_approval' && reference !== undefined) return voidNow(reference, context);
  if (reason === 'key_reused') return { resolveDueMs: context.nowMs + firstWaitMs(context) };
  return {};
}

function voidNow(reference: string, { nowMs }: DecisionContext): Partial<Attempt> {
  return { voiding: { reference, state: 'due', tries: 0 }, resolveDueMs: nowMs };
}

function recordDecline(
  order: StoredOrder,
  attempt: Attempt,
  outcome: Declined,
  context: DecisionContext,
): Decision {
  const declined: StoredOrder = {
    ...withAttempt(order, {
      state: 'declined',
      declineClass: outcome.class,
      leaseUntilMs: undefined,
      resolveDueMs: undefined,
    }),
    gatewayReference: outcome.reference ?? order.gatewayReference,
  };
  const { softDeclineRetry, nowMs } = context;
  const soFar = { declines: order.generation, untilMs: order.retryUntilMs };
  const next = softDeclineRetry && nextTry(outcome, soFar, softDeclineRetry, nowMs);
  if (next === undefined) {
    const resolveDueMs = announcementDueMs(attempt, context);
    return changed(order, denied(withAttempt(declined, { resolveDueMs }), outcome.reason, context), {
      step: 'announce',
    });
  }
  const waiting: StoredOrder = {
    ...declined,
    status: 'received',
    statusReason: 'soft_decline_retry',
    retryAtMs: next.atMs,
    retryUntilMs: next.untilMs,
  };
  return changed(order, waiting, waitForNextTry(waiting, context));
}

function waitForNextTry({ retryAtMs = 0 }: StoredOrder, { nowMs }: DecisionContext): NextStep {
  const detail = `declined softly, to be tried again from ${new Date(retryAtMs).toISOString()} on`;
  return { step: 'retry', errorClass: 'soft_decline', retryAfterMs: Math.max(0, retryAtMs - nowMs), detail };
}

function releaseUnsent(
  order: StoredOrder,
  attempt: Attempt,
  claimNumber: number,
  outcome: Extract<AuthorizationOutcome, { kind: 'unavailable' }>,
): Decision {
  const next = retry(outcome.cause, outcome);
  // A newer claim is at work; it alone may release the attempt.
  if (claimNumber !== attempt.claim) return unchanged(order, next);
  if (attempt.maybeSent) {
    return changed(
      order,
      { ...withAttempt(order, { leaseUntilMs: undefined }), status: 'authorization-unknown' },
      next,
    );
  }
  if (outcome.cause === 'proxy_page') {
    // Somebody in between answered: that proves nothing about the gateway, so the key's window goes on.
    const released = withAttempt(order, {
      leaseUntilMs: undefined,
      maybeSent: true,
      resolveDueMs: undefined,
    });
    return changed(order, { ...released, status: 'received' }, next);
  }
  // Proven not charged, and no answer is stored under the key: its window has not begun.
  return changed(
    order,
    {
      ...withAttempt(order, { leaseUntilMs: undefined, keyUsedSinceMs: undefined, resolveDueMs: undefined }),
      status: 'received',
    },
    next,
  );
}

function releaseUnknown(
  order: StoredOrder,
  attempt: Attempt,
  claimNumber: number,
  outcome: Extract<AuthorizationOutcome, { kind: 'unknown' }>,
  context: DecisionContext,
): Decision {
  const next = retry(outcome.cause, outcome);
  if (claimNumber !== attempt.claim) {
    return attempt.maybeSent
      ? unchanged(order, next)
      : changed(order, withAttempt(order, { maybeSent: true }), next);
  }
  const resolveDueMs = earlier(attempt.resolveDueMs, context.nowMs + waitMs(attempt, context));
  return changed(
    order,
    {
      ...withAttempt(order, { leaseUntilMs: undefined, maybeSent: true, resolveDueMs }),
      status: 'authorization-unknown',
      gatewayReference: outcome.reference ?? order.gatewayReference,
    },
    next,
  );
}

function retry(errorClass: string, outcome: { retryAfterMs?: number; detail: string }): NextStep {
  const { retryAfterMs, detail } = outcome;
  return { step: 'retry', errorClass, detail, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** Declined, and to be tried again: its request may still be answered a second time. */
function hearBetweenTries(
  order: StoredOrder,
  outcome: AuthorizationOutcome | InquiryOutcome,
  context: DecisionContext,
): Decision {
  if (outcome.kind === 'approved' || outcome.kind === 'contradicted') {
    return stopTrying(order, outcome, `after the decline of generation ${order.generation}`);
  }
  return unchanged(order, waitForNextTry(order, context));
}

/** A late answer to an earlier try; no generation but the current one can be claimed. */
function hearOfOtherGeneration(order: StoredOrder, fact: OutcomeFact | InquiryFact): Decision {
  const { outcome, generation } = fact;
  const money = outcome.kind === 'approved' || outcome.kind === 'contradicted' ? outcome : undefined;
  const when = `for generation ${generation}, when generation ${order.generation} had begun`;
  const alarm = money && `${moneyHeard(money)} came ${when}`;
  switch (order.status) {
    case 'ready-to-ship':
    case 'denied':
      return unchanged(order, { step: 'announce' }, alarm);
    case 'review':
      return money
        ? hearInReview(order, money)
        : unchanged(order, parkForReview(order.statusReason ?? 'review'));
    case 'received':
    case 'authorizing':
    case 'authorization-unknown':
      if (money !== undefined) return stopTrying(order, money, when);
      return unchanged(order, comeBack(`an answer came ${when}`));
  }
}

/** The order may hold money under a key that was declined: another try could charge it twice. */
function stopTrying(order: StoredOrder, money: Approved | Contradicted, when: string): Decision {
  const reason = 'money_after_decline';
  const isOpen = order.attempt?.state === 'open';
  const next: StoredOrder = {
    ...(isOpen ? giveToReview(order, reason) : { ...order, ...reviewed(reason) }),
    retryAtMs: undefined,
    gatewayReference: money.reference ?? order.gatewayReference,
  };
  return changed(order, next, parkForReview(reason), `${moneyHeard(money)} came ${when}`);
}

/** The answer has no place any more: the message comes back and finds the order as it is. */
function comeBack(detail: string): NextStep {
  return { step: 'retry', errorClass: 'stale_answer', detail };
}

/** The order was removed, or restored from an old backup, under the request: claimed anew, the same key finds its answer. */
function neverClaimed(
  order: StoredOrder | undefined,
  outcome: AuthorizationOutcome | InquiryOutcome,
): Decision {
  const reference =
    'reference' in outcome ? ` (${outcome.kind}, ${outcome.reference ?? 'without a reference'})` : '';
  const what = `an outcome${reference} for an order that was never claimed`;
  return unchanged(order, comeBack(what), what);
}

function contradictionOfApproval(
  order: StoredOrder,
  outcome: AuthorizationOutcome | InquiryOutcome,
): string | undefined {
  if (outcome.kind === 'approved' && outcome.reference !== order.gatewayReference) {
    return `a second approval (${outcome.reference}) of an order approved as ${order.gatewayReference ?? 'unknown'}`;
  }
  if (outcome.kind === 'declined')
    return 'a decline came after the approval was recorded; the approval stands';
  if (outcome.kind === 'contradicted') return `${contradiction(outcome)} came after the approval`;
  return undefined;
}

/** Downstream knows the order as denied: a hold that comes up after all is given back. */
function hearAfterDenial(
  order: StoredOrder,
  attempt: Attempt,
  outcome: AuthorizationOutcome | InquiryOutcome,
  next: NextStep,
  context: DecisionContext,
): Decision {
  if (outcome.kind === 'contradicted')
    return unchanged(order, next, `${contradiction(outcome)} came after the denial`);
  if (outcome.kind !== 'approved') return unchanged(order, next);
  const { reference } = outcome;
  if (attempt.voiding?.reference === reference) return unchanged(order, next);
  const alarm = `an approval (${reference}) came after the order was denied`;
  if (attempt.voiding !== undefined)
    return unchanged(order, next, `${alarm}, and not the first one: void it`);
  return changed(order, withAttempt(order, voidNow(reference, context)), next, `${alarm}: it is voided`);
}

/** It stays in review, but money at the gateway goes on record: the alarm alone could be missed. */
function hearInReview(
  order: StoredOrder,
  outcome: AuthorizationOutcome | InquiryOutcome,
  next: NextStep = parkForReview(order.statusReason ?? 'review'),
): Decision {
  if (outcome.kind === 'declined')
    return unchanged(order, next, 'a decline came while the order is in review');
  if (outcome.kind !== 'approved' && outcome.kind !== 'contradicted') return unchanged(order, next);

  const alarm = `${moneyHeard(outcome)} came while the order is in review`;
  if (outcome.reference === undefined || order.gatewayReference !== undefined)
    return unchanged(order, next, alarm);
  return changed(order, { ...order, gatewayReference: outcome.reference }, next, alarm);
}

function moneyHeard(outcome: Approved | Contradicted): string {
  return outcome.kind === 'approved' ? `an approval (${outcome.reference})` : contradiction(outcome);
}

function contradiction({ reason, reference }: Contradicted): string {
  return `a contradicting answer (${reason}, ${reference ?? 'without a reference'})`;
}

// --- notified ----------------------------------------------------------------------------------------------------

function markNotified(
  order: StoredOrder | undefined,
  fact: Extract<OrderFact, { kind: 'notified' }>,
  context: DecisionContext,
): Decision {
  if (order?.status !== fact.status || order.generation !== fact.generation) {
    return unchanged(
      order,
      { step: 'nothing' },
      `announced as ${fact.status}, but it is ${order?.status ?? 'not stored'}`,
    );
  }
  if (order.notifiedAtMs !== undefined) return unchanged(order, { step: 'nothing' });
  const { attempt } = order;
  const isDone = attempt?.resolveDueMs === undefined || attempt.voiding?.state === 'due';
  const after = isDone ? order : withAttempt(order, { resolveDueMs: undefined });
  return changed(order, { ...after, notifiedAtMs: context.nowMs }, { step: 'nothing' });
}

// --- parked -------------------------------------------------------------------------------------------------------

/**
 * Where the message waits is no state of the order; the history keeps it. But with the message the announcement of a
 * decided order may be gone: the resolver sees to that.
 */
function notePlace(order: StoredOrder | undefined, context: DecisionContext): Decision {
  if (order?.attempt === undefined || !isUnannounced(order)) return unchanged(order, { step: 'nothing' });
  const resolveDueMs = earlier(order.attempt.resolveDueMs, context.nowMs + firstWaitMs(context));
  return changed(order, withAttempt(order, { resolveDueMs }), { step: 'nothing' });
}

// --- resolve -----------------------------------------------------------------------------------------------------

/** What the resolver does about an order that is due: it asks, gives back and announces, and never charges. */
function resolve(order: StoredOrder | undefined, { nowMs }: DecisionContext): Decision {
  const attempt = order?.attempt;
  if (order === undefined || attempt?.resolveDueMs === undefined || attempt.resolveDueMs > nowMs)
    return unchanged(order, { step: 'nothing' });
  const { generation } = order;
  const { idempotencyKey, inquiries: inquiry, voiding } = attempt;
  if (voiding?.state === 'due') {
    const { reference } = voiding;
    return unchanged(order, {
      step: 'void',
      idempotencyKey: voidKeyOf(idempotencyKey),
      generation,
      reference,
    });
  }
  if (isTerminal(order)) return unchanged(order, announceUnlessNotified(order));
  const isClaimed = attempt.leaseUntilMs !== undefined && attempt.leaseUntilMs > nowMs;
  if (isClaimed || !isAskedAbout(order)) return unchanged(order, { step: 'nothing' });
  const { gatewayReference: reference } = order;
  return unchanged(order, { step: 'inquire', idempotencyKey, generation, inquiry, reference });
}

function voidKeyOf(idempotencyKey: string): string {
  return `${idempotencyKey}-void`;
}

/** Reasons for a review that the gateway's own word can end. */
const ANSWERABLE: readonly (string | undefined)[] = ['key_window_passed', 'key_reused'];

function isAskedAbout({ status, statusReason }: StoredOrder): boolean {
  return (
    status === 'authorizing' ||
    status === 'authorization-unknown' ||
    (status === 'review' && ANSWERABLE.includes(statusReason))
  );
}

function announceUnlessNotified(order: StoredOrder): NextStep {
  return isUnannounced(order) ? { step: 'announce' } : { step: 'nothing' };
}

function isUnannounced(order: StoredOrder): boolean {
  return isTerminal(order) && order.notifiedAtMs === undefined;
}

// --- inquired ----------------------------------------------------------------------------------------------------

type InquiryFact = Extract<OrderFact, { kind: 'inquired' }>;

/** Whoever settles first, a replay or the resolver, wins; the other finds the order decided. */
function recordInquiry(
  order: StoredOrder | undefined,
  fact: InquiryFact,
  context: DecisionContext,
): Decision {
  const { outcome } = fact;
  if (order?.attempt === undefined) return neverClaimed(order, outcome);
  if (fact.generation !== order.generation) return hearOfOtherGeneration(order, fact);
  switch (order.status) {
    case 'ready-to-ship':
      return unchanged(order, announceUnlessNotified(order), contradictionOfApproval(order, outcome));
    case 'denied':
      return hearAfterDenial(order, order.attempt, outcome, announceUnlessNotified(order), context);
    case 'received':
      if (order.attempt.state === 'declined') return hearBetweenTries(order, outcome, context);
      break;
    case 'authorizing':
    case 'authorization-unknown':
    case 'review':
      break;
  }
  if (order.status === 'review' && !isAskedAbout(order))
    return hearInReview(order, outcome, { step: 'nothing' });
  switch (outcome.kind) {
    case 'approved':
    case 'declined':
    case 'contradicted':
      return settle(order, order.attempt, outcome, context);
    case 'undecided':
    case 'unanswered':
      return askAgain(order, order.attempt, { ...fact, outcome }, context);
  }
}

/** Of two who asked at the same time, the second finds the schedule moved on. */
function askAgain(
  order: StoredOrder,
  attempt: Attempt,
  { inquiry, outcome }: InquiryFact & { readonly outcome: Undecided | Unanswered },
  context: DecisionContext,
): Decision {
  const nothing = { step: 'nothing' } as const;
  if (inquiry !== attempt.inquiries || attempt.resolveDueMs === undefined) return unchanged(order, nothing);
  if (outcome.kind === 'unanswered') {
    const resolveDueMs = context.nowMs + soonMs(inquiry, outcome, context);
    return changed(order, withAttempt(order, { resolveDueMs }), nothing);
  }

  const inquiries = inquiry + 1;
  if (isLastInquiry(order, attempt, outcome, context)) {
    const reason = order.status === 'review' ? order.statusReason : undefined;
    const after = giveToReview(withAttempt(order, { inquiries }), reason ?? 'not_resolved');
    const detail = `no verdict after asking the gateway ${inquiries} times; the last time: ${outcome.detail}`;
    return changed(order, after, parkForReview(detail));
  }
  const resolveDueMs = context.nowMs + waitMs({ inquiries }, context);
  const gatewayReference = order.gatewayReference ?? outcome.reference;
  return changed(order, { ...withAttempt(order, { inquiries, resolveDueMs }), gatewayReference }, nothing);
}

/** A gateway that cannot be asked leaves only the same-key resend, for as long as its window lasts. */
function isLastInquiry(
  order: StoredOrder,
  attempt: Attempt,
  { cause }: Undecided,
  context: DecisionContext,
): boolean {
  return cause === 'cannot_be_asked'
    ? order.status === 'review' || keyIsTooOld(attempt, context)
    : attempt.inquiries + 1 >= context.inquiryWaitsMs.length;
}

// --- voided ------------------------------------------------------------------------------------------------------

function recordVoid(
  order: StoredOrder | undefined,
  fact: Extract<OrderFact, { kind: 'voided' }>,
  context: DecisionContext,
): Decision {
  const voiding = order?.attempt?.voiding;
  if (order === undefined || fact.generation !== order.generation)
    return unchanged(order, { step: 'nothing' });
  const next = announceUnlessNotified(order);
  if (voiding?.reference !== fact.reference || voiding.state !== 'due') return unchanged(order, next);
  const { outcome } = fact;
  const { nowMs } = context;
  const resolveDueMs = isUnannounced(order) ? nowMs + firstWaitMs(context) : undefined;
  switch (outcome.kind) {
    case 'voided':
      return changed(
        order,
        withAttempt(order, { voiding: { ...voiding, state: 'confirmed' }, resolveDueMs }),
        next,
      );
    case 'refused':
      return changed(
        order,
        withAttempt(order, { voiding: { ...voiding, state: 'refused' }, resolveDueMs }),
        next,
        `the hold ${voiding.reference} cannot be voided: ${outcome.detail}`,
      );
    case 'unanswered': {
      const tries = voiding.tries + 1;
      return changed(
        order,
        withAttempt(order, {
          voiding: { ...voiding, tries },
          resolveDueMs: nowMs + soonMs(voiding.tries, outcome, context),
        }),
        next,
      );
    }
  }
}

// --- the resolver's schedule -------------------------------------------------------------------------------------

function waitMs({ inquiries }: Pick<Attempt, 'inquiries'>, { inquiryWaitsMs }: DecisionContext): number {
  return inquiryWaitsMs[inquiries] ?? inquiryWaitsMs.at(-1) ?? 0;
}

function firstWaitMs(context: DecisionContext): number {
  return waitMs({ inquiries: 0 }, context);
}

/** A question that nobody answered is not a place in the schedule, and is put again before long. */
const LONGEST_SILENCE_MS = 300_000;

function soonMs(
  tries: number,
  { retryAfterMs = 0 }: { readonly retryAfterMs?: number },
  context: DecisionContext,
): number {
  return Math.max(retryAfterMs, Math.min(waitMs({ inquiries: tries }, context), LONGEST_SILENCE_MS));
}

/**
 * After an order was without a verdict its message may be gone by the time that one is there: the resolver makes sure
 * that it is announced. Otherwise the message that brought it is still there to do so.
 */
function announcementDueMs(attempt: Attempt, context: DecisionContext): number | undefined {
  const wasUnknown = attempt.maybeSent || attempt.inquiries > 0 || attempt.state === 'review';
  return wasUnknown ? context.nowMs + firstWaitMs(context) : undefined;
}

function earlier(one: number | undefined, other: number): number {
  return Math.min(one ?? other, other);
}

// --- pieces ------------------------------------------------------------------------------------------------------

/** A new order; version 0 says that it is not stored yet. */
function admitted(terms: OrderTerms): StoredOrder {
  return {
    ...terms,
    status: 'received',
    statusReason: undefined,
    generation: 1,
    attempts: 0,
    attempt: undefined,
    gatewayReference: undefined,
    authorizationExpiresAtMs: undefined,
    decidedAtMs: undefined,
    notifiedAtMs: undefined,
    retryAtMs: undefined,
    retryUntilMs: undefined,
    version: 0,
  };
}

function approved(order: StoredOrder, outcome: Approved, context: DecisionContext): StoredOrder {
  const { attempt } = order;
  const resolveDueMs = attempt && announcementDueMs(attempt, context);
  return {
    ...withAttempt(order, { state: 'approved', leaseUntilMs: undefined, resolveDueMs }),
    status: 'ready-to-ship',
    statusReason: undefined,
    gatewayReference: outcome.reference,
    authorizationExpiresAtMs: outcome.expiresAtMs,
    decidedAtMs: context.nowMs,
  };
}

function denied(order: StoredOrder, reason: string, context: DecisionContext): StoredOrder {
  return {
    ...order,
    status: 'denied',
    statusReason: reason,
    decidedAtMs: context.nowMs,
    retryAtMs: undefined,
  };
}

function giveToReview(order: StoredOrder, reason: string, change: Partial<Attempt> = {}): StoredOrder {
  const handedOver = { state: 'review', leaseUntilMs: undefined, resolveDueMs: undefined } as const;
  return { ...withAttempt(order, { ...handedOver, ...change }), ...reviewed(reason) };
}

function reviewed(reason: string): { readonly status: 'review'; readonly statusReason: string } {
  return { status: 'review', statusReason: reason };
}

function withAttempt(order: StoredOrder, change: Partial<Attempt>): StoredOrder {
  return order.attempt === undefined ? order : { ...order, attempt: { ...order.attempt, ...change } };
}

function parkForReview(detail: string): NextStep {
  return { step: 'park', reason: 'review', detail };
}

function conflict(order: StoredOrder): Decision {
  const detail = `order ${order.orderId} is stored with other content; the stored order is unchanged`;
  return unchanged(order, { step: 'park', reason: 'order_conflict', detail });
}

function changed(before: StoredOrder, after: StoredOrder, next: NextStep, alarm?: string): Decision {
  return { order: { ...after, version: before.version + 1 }, next, alarm };
}

function unchanged(order: StoredOrder | undefined, next: NextStep, alarm?: string): Decision {
  return { order, next, alarm };
}

/** Waits before the inquiries of an order without a verdict, unless configured otherwise: 15 s to 24 h. */
export const INQUIRY_WAITS_MS: readonly number[] = [
  15_000, 60_000, 300_000, 1_800_000, 7_200_000, 43_200_000, 86_400_000,
];

/** Decided: only the announcement is left. */
export function isTerminal(order: StoredOrder): order is StoredOrder & { readonly status: TerminalStatus } {
  return order.status === 'ready-to-ship' || order.status === 'denied';
}
