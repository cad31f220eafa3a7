/**
 * Rows of the order book and values of the domain: the only place where one becomes the other.
 *
 * Amounts travel as text both ways, so that 64 bits stay exact whatever type parsers the process has set. Times are
 * whole milliseconds since the epoch here and timestamptz there; on their way they are numbers, as texts cost more to
 * write and to read than all other columns.
 */
import { auditEntry, type AuditedState, type OperatorCommand } from '../../domain/audit.ts';
import type {
  Attempt,
  Decision,
  OrderFact,
  OrderStatus,
  StoredOrder,
  Voiding,
} from '../../domain/order-states.ts';
import type { OrderId } from '../../domain/order.ts';
import type { AuthorizationOutcome, InquiryOutcome } from '../../domain/outcome.ts';

/** Select list of an AttemptRow, for `cardauth.attempts a`. */
export const ATTEMPT_COLUMNS = `
  a.idempotency_key, a.claim, a.owner, ${asMs('a.lease_until')}, ${asMs('a.key_used_since')}, a.maybe_sent, a.state,
  a.decline_class, a.inquiries, ${asMs('a.resolve_due_at')}, a.void_reference, a.void_state, a.void_tries`;

/** Select list of an OrderRow, for `cardauth.orders o` left-joined with `cardauth.attempts a`. */
export const ORDER_COLUMNS = `
  o.customer_id, o.status, o.status_reason, o.amount_minor::text, o.currency, o.fingerprint, o.card_brand,
  o.card_last4, o.generation, o.attempts, o.gateway_reference, ${asMs('o.authorization_expires_at')},
  ${asMs('o.decided_at')}, ${asMs('o.notified_at')}, ${asMs('o.retry_at')}, ${asMs('o.retry_until')}, o.version,
  ${ATTEMPT_COLUMNS}`;

/**
 * Stands for `cardauth.orders` where only orders are asked for that have no decision or no announcement: few beside the
 * others, and listed by (created_at, order_id).
 */
export const UNFINISHED_ORDERS = `(
      select * from cardauth.unfinished_orders join cardauth.orders using (created_at, order_id)
    )`;

/** Reads a timestamptz as milliseconds, under its own name with `_ms` added. */
export function asMs(column: string): string {
  const name = column.slice(column.lastIndexOf('.') + 1);
  return `(extract(epoch from ${column}) * 1000)::float8 as ${name}_ms`;
}

export type OrderRow = OrderOnlyRow & (AttemptRow | { readonly idempotency_key: null });

interface OrderOnlyRow {
  readonly order_id: string;
  readonly customer_id: string;
  readonly status: OrderStatus;
  readonly status_reason: string | null;
  readonly amount_minor: string;
  readonly currency: string;
  readonly fingerprint: string;
  readonly card_brand: string | null;
  readonly card_last4: string | null;
  readonly generation: number;
  readonly attempts: number;
  readonly gateway_reference: string | null;
  readonly authorization_expires_at_ms: number | null;
  readonly decided_at_ms: number | null;
  readonly notified_at_ms: number | null;
  readonly retry_at_ms: number | null;
  readonly retry_until_ms: number | null;
  readonly version: number;
}

/** All null on an order whose generation has no attempt yet. */
export interface AttemptRow {
  readonly idempotency_key: string;
  readonly claim: number;
  readonly owner: number;
  readonly lease_until_ms: number | null;
  readonly key_used_since_ms: number | null;
  readonly maybe_sent: boolean;
  readonly state: Attempt['state'];
  readonly decline_class: Attempt['declineClass'] | null;
  readonly inquiries: number;
  readonly resolve_due_at_ms: number | null;
  readonly void_reference: string | null;
  readonly void_state: Voiding['state'] | null;
  readonly void_tries: number;
}

export function storedOrder(row: OrderRow): StoredOrder {
  return {
    orderId: row.order_id,
    customerId: row.customer_id,
    amountMinor: BigInt(row.amount_minor),
    currency: row.currency,
    fingerprint: row.fingerprint,
    cardBrand: row.card_brand ?? undefined,
    cardLast4: row.card_last4 ?? undefined,
    status: row.status,
    statusReason: row.status_reason ?? undefined,
    generation: row.generation,
    attempts: row.attempts,
    attempt: row.idempotency_key === null ? undefined : storedAttempt(row),
    gatewayReference: row.gateway_reference ?? undefined,
    authorizationExpiresAtMs: wholeMs(row.authorization_expires_at_ms),
    decidedAtMs: wholeMs(row.decided_at_ms),
    notifiedAtMs: wholeMs(row.notified_at_ms),
    retryAtMs: wholeMs(row.retry_at_ms),
    retryUntilMs: wholeMs(row.retry_until_ms),
    version: row.version,
  };
}

export function storedAttempt(row: AttemptRow): Attempt {
  return {
    idempotencyKey: row.idempotency_key,
    claim: row.claim,
    owner: row.owner,
    leaseUntilMs: wholeMs(row.lease_until_ms),
    keyUsedSinceMs: wholeMs(row.key_used_since_ms),
    maybeSent: row.maybe_sent,
    state: row.state,
    declineClass: row.decline_class ?? undefined,
    inquiries: row.inquiries,
    resolveDueMs: wholeMs(row.resolve_due_at_ms),
    voiding: storedVoiding(row),
  };
}

function storedVoiding(row: AttemptRow): Voiding | undefined {
  if (row.void_reference === null || row.void_state === null) return undefined;
  return { reference: row.void_reference, state: row.void_state, tries: row.void_tries };
}

export function wholeMs(ms: number | null): number | undefined {
  return ms === null ? undefined : Math.round(ms);
}

export interface FactOfOrder {
  readonly orderId: OrderId;
  readonly fact: OrderFact;
  /** For the history, where the fact itself does not say it. */
  readonly remark?: string | undefined;
  /** The operator's command that the fact comes of. */
  readonly command?: OperatorCommand | undefined;
}

/** A decided fact on its way into the tables: what it found, what it was, what it led to. */
export interface DecidedFact extends FactOfOrder {
  readonly before: StoredOrder | undefined;
  readonly decision: Decision;
  /** The worker session that learned it. */
  readonly worker: number;
}

/** Whether the fact leaves a trace: a changed order, an alarm, the handing over to a person, an operator's command. */
export function leavesTrace({ before, fact, decision, command }: DecidedFact): boolean {
  if (command !== undefined) return !['refused', 'wait'].includes(decision.next.step);
  return decision.order !== before || decision.alarm !== undefined || fact.kind === 'parked';
}

/** Column list of a FactRow, for json_to_recordset. Times are milliseconds, see `asTime`. */
export const FACT_ROW_COLUMNS = `
  order_id text, changed boolean, customer_id text, status text, status_reason text, amount_minor bigint,
  currency text, fingerprint text, card_brand text, card_last4 text, gateway_reference text, generation int,
  attempts int, decided_at float8, notified_at float8, version int,
  retry_at float8, retry_until float8,
  attempt_changed boolean, idempotency_key text, attempt_reference text, claim int, owner int,
  lease_until float8, key_used_since float8, maybe_sent boolean, state text, decline_class text,
  authorization_expires_at float8, inquiries int, resolve_due_at float8, void_reference text,
  void_state text, void_tries int,
  fact text, fact_claim int, status_before text, worker int, outcome text, detail text, alarm text,
  command_id text, actor text, action text, reason text, subject text, audit_before jsonb, audit_after jsonb`;

/** Select list item that writes the milliseconds of a FactRow into its timestamptz. */
export function asTime(column: string): string {
  return `to_timestamp(${column} / 1000)`;
}

/**
 * One row of the JSON array that the write statement takes: order, attempt and event side by side. One literal: put
 * together from parts it has more fields than V8 keeps in an object that is quick to make and to read.
 */
export function factRow(decided: DecidedFact): object {
  const { orderId, before, fact, decision, command } = decided;
  const { order: after, alarm } = decision;
  // One that did not change is not written: its columns would only have to be read again.
  const attempt = after?.attempt === before?.attempt ? undefined : after?.attempt;
  const row = {
    order_id: orderId,
    changed: after !== before,
    customer_id: after?.customerId,
    status: after?.status,
    status_reason: forPeople(after?.statusReason),
    amount_minor: after?.amountMinor.toString(),
    currency: after?.currency,
    fingerprint: after?.fingerprint,
    card_brand: after?.cardBrand,
    card_last4: after?.cardLast4,
    gateway_reference: after?.gatewayReference,
    generation: after?.generation,
    attempts: after?.attempts,
    authorization_expires_at: after?.authorizationExpiresAtMs,
    decided_at: after?.decidedAtMs,
    notified_at: after?.notifiedAtMs,
    retry_at: after?.retryAtMs,
    retry_until: after?.retryUntilMs,
    version: after?.version,
    attempt_changed: attempt !== undefined,
    attempt_reference: attempt && referenceOfAttempt(fact, before, after),
    idempotency_key: attempt?.idempotencyKey,
    claim: attempt?.claim,
    owner: attempt?.owner,
    lease_until: attempt?.leaseUntilMs,
    key_used_since: attempt?.keyUsedSinceMs,
    maybe_sent: attempt?.maybeSent,
    state: attempt?.state,
    decline_class: attempt?.declineClass,
    inquiries: attempt?.inquiries,
    resolve_due_at: attempt?.resolveDueMs,
    void_reference: attempt?.voiding?.reference,
    void_state: attempt?.voiding?.state,
    void_tries: attempt && (attempt.voiding?.tries ?? 0),
    fact: fact.kind,
    fact_claim: fact.kind === 'outcome' ? fact.claim : after?.attempt?.claim,
    status_before: before?.status,
    worker: decided.worker,
    outcome: outcomeOfFact(fact),
    detail: forPeople(decided.remark ?? detailOf(fact, decision)),
    alarm: forPeople(alarm),
  };
  return command === undefined ? row : { ...row, ...auditColumns(decided, command) };
}

function auditColumns({ orderId, before, decision }: DecidedFact, command: OperatorCommand): object {
  const states = { before: auditedState(before), after: auditedState(decision.order) };
  const entry = auditEntry({ ...command, subject: `order:${orderId}`, ...states });
  const { commandId, actor, action, reason, subject } = entry;
  const columns = { command_id: commandId, actor, action, reason, subject };
  return { ...columns, audit_before: entry.before, audit_after: entry.after };
}

function auditedState(order: StoredOrder | undefined): AuditedState | undefined {
  if (order === undefined) return undefined;
  return {
    status: order.status,
    statusReason: order.statusReason ?? null,
    generation: order.generation,
    attemptState: order.attempt?.state ?? null,
    gatewayReference: order.gatewayReference ?? null,
    notifiedAt: isoTime(order.notifiedAtMs) ?? null,
    version: order.version,
  };
}

/** The reference belongs to the attempt that this fact settles, not to an earlier generation's. */
function referenceOfAttempt(
  fact: OrderFact,
  before: StoredOrder | undefined,
  after: StoredOrder | undefined,
): string | undefined {
  if (isOfEarlierGeneration(fact, after)) return undefined;
  const isNew = after?.gatewayReference !== before?.gatewayReference;
  // An approved attempt is approved under the order's reference, and no row without one is even proposed.
  return isNew || after?.attempt?.state === 'approved' ? after?.gatewayReference : undefined;
}

function isOfEarlierGeneration(fact: OrderFact, order: StoredOrder | undefined): boolean {
  return fact.kind === 'outcome' && order !== undefined && fact.generation !== order.generation;
}

function isoTime(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

function outcomeOfFact(fact: OrderFact): string | undefined {
  switch (fact.kind) {
    case 'outcome':
    case 'inquired':
      return outcomeName(fact.outcome);
    case 'voided':
      return `void: ${fact.outcome.kind}`;
    case 'settled':
      return `settled: ${fact.as.kind}`;
    default:
      return undefined;
  }
}

/** `approved`, `declined: card_declined`, `unknown: no_answer`, ... */
function outcomeName(outcome: AuthorizationOutcome | InquiryOutcome): string {
  switch (outcome.kind) {
    case 'unanswered':
      return 'unanswered';
    case 'approved':
      return 'approved';
    case 'declined':
    case 'contradicted':
      return `${outcome.kind}: ${outcome.reason}`;
    case 'rejected':
      return 'rejected';
    case 'unavailable':
    case 'unknown':
    case 'undecided':
      return `${outcome.kind}: ${outcome.cause}`;
  }
}

function detailOf(fact: OrderFact, decision: Decision): string | undefined {
  if (fact.kind === 'parked') return fact.reason;
  if (fact.kind === 'refuse') return fact.reason;
  if (fact.kind === 'voided') {
    return 'detail' in fact.outcome ? `${fact.reference}: ${fact.outcome.detail}` : fact.reference;
  }
  if (fact.kind === 'settled') {
    const means = fact.isCheckedAtGateway ? 'the gateway does not contradict' : 'the gateway was not asked';
    return fact.as.kind === 'approved' ? `${fact.as.reference}, ${means}` : means;
  }
  if (fact.kind === 'outcome' || fact.kind === 'inquired') {
    const { outcome } = fact;
    switch (outcome.kind) {
      case 'declined':
      case 'rejected':
        return outcome.code;
      case 'unavailable':
      case 'unknown':
      case 'undecided':
      case 'unanswered':
        return outcome.detail;
      case 'approved':
      case 'contradicted':
        return outcome.reference;
    }
  }
  return decision.next.step === 'park' ? decision.next.detail : undefined;
}

const LONGEST_TEXT = 500;

/** A text that only people read, made storable: one line, bounded, without what PostgreSQL refuses in text. */
function forPeople(text: string | undefined): string | undefined {
  return text?.slice(0, LONGEST_TEXT).replace(/[\p{Cc}\p{Cs}]/gu, ' ');
}
