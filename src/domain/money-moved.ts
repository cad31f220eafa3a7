/**
 * "Has money moved?": what is known of the money behind an order, and so what may be done about it. Asked before every
 * replay and by everyone who explains an order (users design, section 4).
 *
 * It says less rather than too much: "no" only where the gateway said so, or where a request provably never left.
 */
import { isTerminal, type Attempt, type StoredOrder, type Voiding } from './order-states.ts';

export type MoneyVerdict =
  /** The system of record never heard of the order: no claim, so no request. */
  | { readonly kind: 'nothing-known' }
  /** Admitted; whatever was tried provably never reached the gateway. */
  | { readonly kind: 'not-sent' }
  /** A living worker has claimed it and may be asking the gateway right now. */
  | { readonly kind: 'in-flight'; readonly leaseUntilMs: number }
  /** Sent, or maybe sent, and no verdict was ever seen. `reference`: what the gateway named so far. */
  | { readonly kind: 'unknown'; readonly reference: string | undefined }
  /** Sent and declined; it will be tried again under a new key, not before `retryAtMs`. */
  | { readonly kind: 'declined-for-now'; readonly retryAtMs: number; readonly isDue: boolean }
  /** Sent; the gateway refused the request itself, for no fault of the card. */
  | { readonly kind: 'rejected'; readonly reason: string }
  | ({ readonly kind: 'denied-unannounced' } & Denial)
  | ({ readonly kind: 'denied-announced' } & Denial)
  | ({ readonly kind: 'approved-unannounced' } & Approval)
  | ({ readonly kind: 'approved-announced' } & Approval)
  /** A hold exists, or existed, that no order may ship on. */
  | {
      readonly kind: 'unwanted-hold';
      readonly reference: string;
      /** `due`: the worker is giving it back; `refused`: the gateway would not; `confirmed`: it is given back. */
      readonly voiding: Voiding['state'];
      /** The order is denied, and nobody was told yet. */
      readonly isUnannounced: boolean;
    }
  /** The gateway named money that does not fit the order: another amount, currency, order, or more than one hold. */
  | { readonly kind: 'contradicted'; readonly reason: string; readonly reference: string | undefined };

interface Denial {
  readonly reason: string;
  /** false: its card data was unusable, the gateway was never asked. */
  readonly wasSent: boolean;
}

interface Approval {
  readonly reference: string;
  readonly amountMinor: bigint;
  readonly currency: string;
}

/** An attempt of any generation of the order. */
export type AttemptOfGeneration = Attempt & { readonly generation: number };

export interface VerdictContext {
  /** The system of record's clock, milliseconds since the epoch. */
  readonly nowMs: number;
  /** Whether a worker session still holds its lock. */
  readonly isAlive: (worker: number) => boolean;
}

/** What may be done: its name is the name of the action that a replay would be. */
export type NextAction =
  /** Put the message back: it is charged, once. */
  | 'authorize'
  /** Send the notification; no new charge. */
  | 'announce'
  /** Ask the gateway before anything else: by the same key, or by an inquiry. */
  | 'ask-gateway'
  /** A worker is at it, or its time has not come: look again later. */
  | 'wait'
  | 'nothing'
  /** A person decides. */
  | 'review';

/** `attempts`: of all generations, in any order; the current one may be among them or not. */
export function verdictOf(
  order: StoredOrder | undefined,
  attempts: readonly AttemptOfGeneration[],
  context: VerdictContext,
): MoneyVerdict {
  if (order === undefined) return { kind: 'nothing-known' };
  const earlier = attempts.filter(({ generation }) => generation < order.generation);
  return earlierHold(earlier) ?? unwantedHold(order) ?? verdictByStatus(order, earlier, context);
}

export function nextActionOf(verdict: MoneyVerdict): NextAction {
  switch (verdict.kind) {
    case 'nothing-known':
    case 'not-sent':
      return 'authorize';
    case 'declined-for-now':
      return verdict.isDue ? 'authorize' : 'wait';
    case 'in-flight':
      return 'wait';
    case 'unknown':
      return 'ask-gateway';
    case 'approved-unannounced':
    case 'denied-unannounced':
      return 'announce';
    case 'approved-announced':
    case 'denied-announced':
      return 'nothing';
    case 'unwanted-hold':
      if (verdict.isUnannounced) return 'announce';
      return verdict.voiding === 'due' ? 'wait' : 'review';
    case 'rejected':
    case 'contradicted':
      return 'review';
  }
}

/** Whether money of the cardholder is held because of this order, as far as anyone can know. */
export function hasMoneyMoved(verdict: MoneyVerdict): 'yes' | 'no' | 'unknown' {
  switch (verdict.kind) {
    case 'nothing-known':
    case 'not-sent':
    case 'declined-for-now':
    case 'rejected':
    case 'denied-unannounced':
    case 'denied-announced':
      return 'no';
    case 'approved-unannounced':
    case 'approved-announced':
      return 'yes';
    case 'unwanted-hold':
      return verdict.voiding === 'confirmed' ? 'no' : 'yes';
    case 'in-flight':
    case 'unknown':
    case 'contradicted':
      return 'unknown';
  }
}

// --- holds that must not stand -------------------------------------------------------------------------------------

/** A new generation begins only after a proven non-charge: money under an earlier key is for a person. */
function earlierHold(earlier: readonly AttemptOfGeneration[]): MoneyVerdict | undefined {
  for (const { state, voiding } of earlier) {
    const isHeld = state === 'approved' || (voiding !== undefined && voiding.state !== 'confirmed');
    if (isHeld) return { kind: 'contradicted', reason: 'hold_of_earlier_try', reference: voiding?.reference };
  }
  return undefined;
}

/** On a denied order one that is given back is history, and the denial what counts. */
function unwantedHold(order: StoredOrder): MoneyVerdict | undefined {
  const voiding = order.attempt?.voiding;
  if (voiding === undefined || (voiding.state === 'confirmed' && isTerminal(order))) return undefined;
  const isUnannounced = order.status === 'denied' && order.notifiedAtMs === undefined;
  return { kind: 'unwanted-hold', reference: voiding.reference, voiding: voiding.state, isUnannounced };
}

// --- by status -----------------------------------------------------------------------------------------------------

function verdictByStatus(
  order: StoredOrder,
  earlier: readonly AttemptOfGeneration[],
  context: VerdictContext,
): MoneyVerdict {
  switch (order.status) {
    case 'received':
      return whileReceived(order, context);
    case 'authorizing':
    case 'authorization-unknown':
      return inFlight(order, context) ?? unknown(order);
    case 'review':
      return inReview(order);
    case 'ready-to-ship':
      return approved(order);
    case 'denied':
      return denied(order, earlier);
  }
}

function whileReceived(order: StoredOrder, { nowMs }: VerdictContext): MoneyVerdict {
  const { attempt, retryAtMs = 0 } = order;
  if (attempt === undefined) return { kind: 'not-sent' };
  if (attempt.state === 'declined') return { kind: 'declined-for-now', retryAtMs, isDue: retryAtMs <= nowMs };
  return attempt.maybeSent ? unknown(order) : { kind: 'not-sent' };
}

function inFlight({ attempt }: StoredOrder, { nowMs, isAlive }: VerdictContext): MoneyVerdict | undefined {
  const leaseUntilMs = attempt?.leaseUntilMs;
  if (attempt === undefined || leaseUntilMs === undefined) return undefined;
  return leaseUntilMs > nowMs && isAlive(attempt.owner) ? { kind: 'in-flight', leaseUntilMs } : undefined;
}

function unknown({ gatewayReference: reference }: StoredOrder): MoneyVerdict {
  return { kind: 'unknown', reference };
}

/** Reviews that began without any verdict; all others but a rejection began with money that does not fit. */
const WITHOUT_VERDICT: readonly string[] = ['key_window_passed', 'key_reused', 'not_resolved', 'review'];

function inReview(order: StoredOrder): MoneyVerdict {
  const { statusReason: reason = 'review', gatewayReference: reference, attempt } = order;
  if (reason.startsWith('rejected')) {
    // The rejected request may not have been the only one, and an answer that came later may have named money.
    const isProven = attempt?.maybeSent === false && reference === undefined;
    return isProven ? { kind: 'rejected', reason } : unknown(order);
  }
  return WITHOUT_VERDICT.includes(reason) ? unknown(order) : { kind: 'contradicted', reason, reference };
}

function approved(order: StoredOrder): MoneyVerdict {
  const { gatewayReference: reference, amountMinor, currency } = order;
  if (reference === undefined)
    return { kind: 'contradicted', reason: 'approval_without_reference', reference };
  const kind = order.notifiedAtMs === undefined ? 'approved-unannounced' : 'approved-announced';
  return { kind, reference, amountMinor, currency };
}

function denied(order: StoredOrder, earlier: readonly AttemptOfGeneration[]): MoneyVerdict {
  const { statusReason: reason = 'denied', attempt } = order;
  const attempts = attempt === undefined ? earlier : [...earlier, attempt];
  const wasSent =
    reason !== 'invalid_card_data' ||
    attempts.some(({ declineClass, maybeSent }) => declineClass !== undefined || maybeSent);
  const kind = order.notifiedAtMs === undefined ? 'denied-unannounced' : 'denied-announced';
  return { kind, reason, wasSent };
}
