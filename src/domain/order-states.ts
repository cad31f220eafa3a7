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
import type { Approved, AuthorizationOutcome, Contradicted, Declined } from './outcome.ts';
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
  | { readonly kind: 'parked'; readonly reason: string };

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
      // Where the message waits is no state of the order; the history keeps it.
      return unchanged(order, { step: 'nothing' });
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
      'the idempotency key is too old to be sent again, and no verdict is known: ask the gateway';
    const next = {
      ...withAttempt(order, { maybeSent, state: 'review', leaseUntilMs: undefined }),
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
      return unchanged(order, { step: 'announce' }, contradictionOfDenial(fact.outcome));
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
      return changed(order, approved(order, outcome.reference, context), { step: 'announce' });
    case 'declined':
      return recordDecline(order, outcome, context);
    case 'contradicted':
      return changed(
        order,
        {
          ...giveToReview(order, outcome.reason),
          gatewayReference: outcome.reference ?? order.gatewayReference,
        },
        parkForReview(outcome.reason),
        `the gateway's answer contradicts the order: ${outcome.reason}`,
      );
    case 'rejected':
      return changed(
        order,
        giveToReview(order, `rejected: ${outcome.code}`),
        parkForReview(`rejected: ${outcome.code}`),
      );
    case 'unavailable':
      return releaseUnsent(order, attempt, fact.claim, outcome);
    case 'unknown':
      return releaseUnknown(order, attempt, fact.claim, outcome);
  }
}

function recordDecline(order: StoredOrder, outcome: Declined, context: DecisionContext): Decision {
  const declined: StoredOrder = {
    ...withAttempt(order, { state: 'declined', declineClass: outcome.class, leaseUntilMs: undefined }),
    gatewayReference: outcome.reference ?? order.gatewayReference,
  };
  const { softDeclineRetry, nowMs } = context;
  const soFar = { declines: order.generation, untilMs: order.retryUntilMs };
  const next = softDeclineRetry && nextTry(outcome, soFar, softDeclineRetry, nowMs);
  if (next === undefined) {
    return changed(order, denied(declined, outcome.reason, context), { step: 'announce' });
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
  // Proven never sent: the key's window has not begun.
  return changed(
    order,
    { ...withAttempt(order, { leaseUntilMs: undefined, keyUsedSinceMs: undefined }), status: 'received' },
    next,
  );
}

function releaseUnknown(
  order: StoredOrder,
  attempt: Attempt,
  claimNumber: number,
  outcome: Extract<AuthorizationOutcome, { kind: 'unknown' }>,
): Decision {
  const next = retry(outcome.cause, outcome);
  if (claimNumber !== attempt.claim) {
    return attempt.maybeSent
      ? unchanged(order, next)
      : changed(order, withAttempt(order, { maybeSent: true }), next);
  }
  return changed(
    order,
    { ...withAttempt(order, { leaseUntilMs: undefined, maybeSent: true }), status: 'authorization-unknown' },
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
  outcome: AuthorizationOutcome,
  context: DecisionContext,
): Decision {
  if (outcome.kind === 'approved' || outcome.kind === 'contradicted') {
    return stopTrying(order, outcome, `after the decline of generation ${order.generation}`);
  }
  return unchanged(order, waitForNextTry(order, context));
}

/** A late answer to an earlier try; no generation but the current one can be claimed. */
function hearOfOtherGeneration(order: StoredOrder, fact: OutcomeFact): Decision {
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
function neverClaimed(order: StoredOrder | undefined, outcome: AuthorizationOutcome): Decision {
  const reference =
    'reference' in outcome ? ` (${outcome.kind}, ${outcome.reference ?? 'without a reference'})` : '';
  const what = `an outcome${reference} for an order that was never claimed`;
  return unchanged(order, comeBack(what), what);
}

function contradictionOfApproval(order: StoredOrder, outcome: AuthorizationOutcome): string | undefined {
  if (outcome.kind === 'approved' && outcome.reference !== order.gatewayReference) {
    return `a second approval (${outcome.reference}) of an order approved as ${order.gatewayReference ?? 'unknown'}`;
  }
  if (outcome.kind === 'declined')
    return 'a decline came after the approval was recorded; the approval stands';
  if (outcome.kind === 'contradicted') return `${contradiction(outcome)} came after the approval`;
  return undefined;
}

function contradictionOfDenial(outcome: AuthorizationOutcome): string | undefined {
  if (outcome.kind === 'approved')
    return `an approval (${outcome.reference}) came after the order was denied: void it`;
  if (outcome.kind === 'contradicted') return `${contradiction(outcome)} came after the denial`;
  return undefined;
}

/** It stays in review, but money at the gateway goes on record: the alarm alone could be missed. */
function hearInReview(order: StoredOrder, outcome: AuthorizationOutcome): Decision {
  const next = parkForReview(order.statusReason ?? 'review');
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
  return changed(order, { ...order, notifiedAtMs: context.nowMs }, { step: 'nothing' });
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
    decidedAtMs: undefined,
    notifiedAtMs: undefined,
    retryAtMs: undefined,
    retryUntilMs: undefined,
    version: 0,
  };
}

function approved(order: StoredOrder, reference: string, context: DecisionContext): StoredOrder {
  return {
    ...withAttempt(order, { state: 'approved', leaseUntilMs: undefined }),
    status: 'ready-to-ship',
    statusReason: undefined,
    gatewayReference: reference,
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

function giveToReview(order: StoredOrder, reason: string): StoredOrder {
  return { ...withAttempt(order, { state: 'review', leaseUntilMs: undefined }), ...reviewed(reason) };
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

/** Decided: only the announcement is left. */
export function isTerminal(order: StoredOrder): order is StoredOrder & { readonly status: TerminalStatus } {
  return order.status === 'ready-to-ship' || order.status === 'denied';
}
