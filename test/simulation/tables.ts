/**
 * The tables `orders` and `attempts` of the schema, with what its keys, constraints and triggers enforce. Rows are kept
 * as the read statement gives them: times in whole milliseconds, under the column's name with `_ms`.
 */
import { RefusedByDatabase } from '../../src/adapters/postgres/database-error.ts';
import type { AttemptRow as ReadAttempt, OrderRow as ReadOrder } from '../../src/adapters/postgres/rows.ts';
import type { AuditedState } from '../../src/domain/audit.ts';
import type { OrderStatus } from '../../src/domain/order-states.ts';
import { AuditTable } from './audit-table.ts';

/** A fact of the write statement's JSON array, as rows.ts makes it. */
export type FactRow = Readonly<Record<string, string | number | boolean | null | undefined>> & {
  readonly order_id: string;
  readonly fact: string;
};

export interface OrderRow {
  readonly [column: string]: unknown;
  readonly order_id: string;
  readonly status: OrderStatus;
  readonly status_reason: string | null;
  readonly amount_minor: string;
  readonly currency: string;
  readonly generation: number;
  readonly version: number;
  readonly gateway_reference: string | null;
  readonly notified_at_ms: number | null;
  readonly retry_at_ms: number | null;
}

export interface AttemptRow {
  readonly [column: string]: unknown;
  readonly order_id: string;
  readonly generation: number;
  readonly idempotency_key: string;
  readonly claim: number;
  readonly owner: number;
  readonly state: 'open' | 'approved' | 'declined' | 'review';
  readonly lease_until_ms: number | null;
  readonly key_used_since_ms: number | null;
  resolve_due_at_ms: number | null;
  readonly void_state: 'due' | 'confirmed' | 'refused' | null;
  readonly void_reference: string | null;
  readonly gateway_reference: string | null;
  /** Until when a resolver has it. */
  takenUntilMs: number;
}

/** What a trigger or a check of the schema refuses: the domain's rules never lead there. */
export class ForbiddenWrite extends Error {}

export class Tables {
  readonly orders = new Map<string, OrderRow>();
  /** By order and generation. */
  readonly attempts = new Map<string, AttemptRow>();
  readonly audit = new AuditTable();
  readonly alarms: string[] = [];
  /** `received -> authorizing`, ...: how often each was taken. */
  readonly edges = new Map<string, number>();
  /** Told of each attempt that is written over. */
  onAttempt: (before: AttemptRow, after: AttemptRow) => void = () => undefined;
  /** Told of each order that is written over. */
  onOrder: (before: OrderRow, after: OrderRow, fact: FactRow) => void = () => undefined;
  /** The attempt that has a reference. */
  readonly #ofReference = new Map<string, string>();

  attemptOf(orderId: string): AttemptRow | undefined {
    const order = this.orders.get(orderId);
    return order && this.attempts.get(`${orderId} ${order.generation}`);
  }

  /** As the read statement joins it. */
  read(orderId: string, nowMs: number): object {
    const order = this.orders.get(orderId);
    if (order === undefined) return { order_id: orderId, now_ms: nowMs, version: null };
    return joinedRow(order, this.attempts.get(`${orderId} ${order.generation}`), nowMs);
  }

  /** A stored order with the attempt of its generation. */
  joined(order: OrderRow): ReadOrder {
    return joinedRow(order, this.attemptOf(order.order_id), 0);
  }

  earlierAttemptsOf({
    order_id: orderId,
    generation,
  }: OrderRow): (ReadAttempt & { readonly generation: number })[] {
    const earlier = Array.from({ length: generation - 1 }, (_, at) =>
      this.attempts.get(`${orderId} ${at + 1}`),
    );
    return earlier.flatMap((attempt) =>
      attempt === undefined ? [] : [attempt as unknown as ReadAttempt & AttemptRow],
    );
  }

  /** One statement: all of it, or nothing. Gives the orders that were of the version that was decided upon. */
  write(facts: readonly FactRow[], nowMs: number): readonly { readonly order_id: string }[] {
    const taken = facts.filter((fact) => fact['changed'] === true && this.#isOfItsVersion(fact));
    const ids = new Set(taken.map(({ order_id: orderId }) => orderId));
    const written = facts.filter(
      (fact) => fact['attempt_changed'] === true && (fact['changed'] !== true || ids.has(fact.order_id)),
    );
    const audited = facts.filter(
      (fact) =>
        typeof fact['command_id'] === 'string' && (fact['changed'] !== true || ids.has(fact.order_id)),
    );
    for (const fact of audited) this.audit.refuseTwice(String(fact['command_id']), String(fact['subject']));
    for (const fact of taken) this.#checkOrder(fact, written.includes(fact));
    for (const fact of written) this.#checkAttempt(fact);
    for (const fact of taken) this.#writeOrder(fact);
    for (const fact of written) this.#writeAttempt(fact);
    for (const fact of audited) this.audit.add(auditOf(fact), nowMs);
    for (const { changed, order_id: orderId, alarm } of facts) {
      if (typeof alarm === 'string' && (changed !== true || ids.has(orderId)))
        this.alarms.push(`${orderId}: ${alarm}`);
    }
    return taken.map(({ order_id }) => ({ order_id }));
  }

  takeDue(most: number, holdMs: number, nowMs: number): readonly { readonly order_id: string }[] {
    const due: AttemptRow[] = [];
    for (const attempt of this.attempts.values()) {
      const { resolve_due_at_ms: dueMs, lease_until_ms: leaseMs, takenUntilMs } = attempt;
      if (dueMs === null || dueMs > nowMs || (leaseMs !== null && leaseMs > nowMs) || takenUntilMs > nowMs)
        continue;
      due.push(attempt);
    }
    due.sort((one, other) => Number(one.resolve_due_at_ms) - Number(other.resolve_due_at_ms));
    return due.slice(0, most).map((attempt) => {
      attempt.takenUntilMs = nowMs + holdMs;
      const isOwn = attempt.generation === this.orders.get(attempt.order_id)?.generation;
      if (!isOwn && attempt.void_state !== 'due') attempt.resolve_due_at_ms = null;
      return { order_id: attempt.order_id };
    });
  }

  #isOfItsVersion(fact: FactRow): boolean {
    const before = this.orders.get(fact.order_id);
    return before === undefined || before.version === Number(fact['version']) - 1;
  }

  #checkOrder(fact: FactRow, hasAttempt: boolean): void {
    const before = this.orders.get(fact.order_id);
    const { status, generation } = fact;
    if (
      status === 'ready-to-ship' &&
      before?.status !== status &&
      !(hasAttempt && fact['state'] === 'approved')
    ) {
      throw new ForbiddenWrite(`${fact.order_id} becomes ready to ship without its approved attempt`);
    }
    if (before === undefined) return;
    if (Number(generation) < before.generation)
      throw new ForbiddenWrite(`${fact.order_id}: its generation falls`);
    const isFinal =
      before.status === 'ready-to-ship' || (before.status === 'denied' && before.generation === generation);
    if (
      isFinal &&
      (status !== before.status || (status === 'ready-to-ship' && before.generation !== generation))
    ) {
      throw new ForbiddenWrite(`${fact.order_id} was ${before.status} and becomes ${String(status)}`);
    }
    if (
      before.notified_at_ms !== null &&
      msOf(fact['notified_at']) !== before.notified_at_ms &&
      before.generation === generation
    ) {
      throw new ForbiddenWrite(`${fact.order_id} is marked as notified twice`);
    }
    if (before['fingerprint'] !== fact['fingerprint'] || before.amount_minor !== fact['amount_minor']) {
      throw new ForbiddenWrite(`${fact.order_id}: what it is about changes`);
    }
  }

  #checkAttempt(fact: FactRow): void {
    const before = this.attempts.get(`${fact.order_id} ${String(fact['generation'])}`);
    this.#checkReference(fact);
    if (fact['idempotency_key'] !== `order-${fact.order_id}-${String(fact['generation'])}`) {
      throw new ForbiddenWrite(`${fact.order_id}: its key is ${String(fact['idempotency_key'])}`);
    }
    if (fact['state'] === 'open' || fact['state'] === 'approved') {
      for (const other of this.attempts.values()) {
        const isOther = other.order_id === fact.order_id && other.generation !== fact['generation'];
        if (isOther && (other.state === 'open' || other.state === 'approved')) {
          throw new ForbiddenWrite(`${fact.order_id} has two attempts that are open or approved`);
        }
      }
    }
    if (before === undefined) return;
    if (Number(fact['claim']) < before.claim)
      throw new ForbiddenWrite(`${fact.order_id}: its claim number falls`);
    if (before['maybe_sent'] === true && fact['maybe_sent'] !== true) {
      throw new ForbiddenWrite(`${fact.order_id}: that it may have been sent is forgotten`);
    }
    if ((before.state === 'approved' || before.state === 'declined') && fact['state'] !== before.state) {
      throw new ForbiddenWrite(
        `${fact.order_id}: its attempt was ${before.state} and becomes ${String(fact['state'])}`,
      );
    }
    if (before.void_reference !== null && before.void_reference !== fact['void_reference']) {
      throw new ForbiddenWrite(`${fact.order_id}: a hold that was to be voided is forgotten`);
    }
  }

  #checkReference(fact: FactRow): void {
    const reference = textOf(fact['attempt_reference']);
    const owner = reference === null ? undefined : this.#ofReference.get(reference);
    if (owner !== undefined && owner !== `${fact.order_id} ${String(fact['generation'])}`)
      throw new RefusedByDatabase('23505', 'attempts_gateway_reference_key');
  }

  #writeOrder(fact: FactRow): void {
    const before = this.orders.get(fact.order_id);
    const edge = `${before?.status ?? 'new'} -> ${String(fact['status'])}`;
    this.edges.set(edge, (this.edges.get(edge) ?? 0) + 1);
    const row = orderRow(fact);
    this.orders.set(fact.order_id, row);
    if (before !== undefined) this.onOrder(before, row, fact);
  }

  #writeAttempt(fact: FactRow): void {
    const id = `${fact.order_id} ${String(fact['generation'])}`;
    const before = this.attempts.get(id);
    const after = attemptRow(fact, before);
    if (before !== undefined) this.onAttempt(before, after);
    this.attempts.set(id, after);
    if (after.gateway_reference !== null) this.#ofReference.set(after.gateway_reference, id);
  }
}

// Written out, so that all rows have one shape: an object that grows column by column is slow to read and to copy.
function orderRow(fact: FactRow): OrderRow {
  return {
    order_id: fact.order_id,
    customer_id: fact['customer_id'] ?? null,
    status: fact['status'] as OrderStatus,
    status_reason: textOf(fact['status_reason']),
    amount_minor: String(fact['amount_minor']),
    currency: String(fact['currency']),
    fingerprint: fact['fingerprint'] ?? null,
    card_brand: fact['card_brand'] ?? null,
    card_last4: fact['card_last4'] ?? null,
    gateway_reference: textOf(fact['gateway_reference']),
    generation: Number(fact['generation']),
    attempts: fact['attempts'] ?? null,
    version: Number(fact['version']),
    authorization_expires_at_ms: msOf(fact['authorization_expires_at']),
    decided_at_ms: msOf(fact['decided_at']),
    notified_at_ms: msOf(fact['notified_at']),
    retry_at_ms: msOf(fact['retry_at']),
    retry_until_ms: msOf(fact['retry_until']),
  };
}

function joinedRow(
  order: OrderRow,
  attempt: AttemptRow | undefined,
  nowMs: number,
): ReadOrder & { readonly now_ms: number } {
  const row = {
    order_id: order.order_id,
    customer_id: order['customer_id'],
    status: order.status,
    status_reason: order.status_reason,
    amount_minor: order.amount_minor,
    currency: order.currency,
    fingerprint: order['fingerprint'],
    card_brand: order['card_brand'],
    card_last4: order['card_last4'],
    gateway_reference: order.gateway_reference,
    generation: order.generation,
    attempts: order['attempts'],
    version: order.version,
    authorization_expires_at_ms: order['authorization_expires_at_ms'],
    decided_at_ms: order['decided_at_ms'],
    notified_at_ms: order.notified_at_ms,
    retry_at_ms: order.retry_at_ms,
    retry_until_ms: order['retry_until_ms'],
    idempotency_key: attempt?.idempotency_key ?? null,
    claim: attempt?.claim ?? null,
    owner: attempt?.owner ?? null,
    maybe_sent: attempt?.['maybe_sent'] ?? null,
    state: attempt?.state ?? null,
    decline_class: attempt?.['decline_class'] ?? null,
    inquiries: attempt?.['inquiries'] ?? null,
    void_reference: attempt?.void_reference ?? null,
    void_state: attempt?.void_state ?? null,
    void_tries: attempt?.['void_tries'] ?? null,
    lease_until_ms: attempt?.lease_until_ms ?? null,
    key_used_since_ms: attempt?.key_used_since_ms ?? null,
    resolve_due_at_ms: attempt?.resolve_due_at_ms ?? null,
    now_ms: nowMs,
  };
  return row as unknown as ReadOrder & { readonly now_ms: number };
}

function auditOf(fact: FactRow) {
  const text = (column: string): string => String(fact[column]);
  const state = (column: string) => fact[column] as unknown as AuditedState | undefined;
  return {
    commandId: text('command_id'),
    actor: text('actor'),
    action: text('action'),
    reason: text('reason'),
    subject: text('subject'),
    before: state('audit_before'),
    after: state('audit_after'),
  };
}

function attemptRow(fact: FactRow, before: AttemptRow | undefined): AttemptRow {
  return {
    order_id: fact.order_id,
    generation: Number(fact['generation']),
    idempotency_key: String(fact['idempotency_key']),
    claim: Number(fact['claim']),
    owner: Number(fact['owner']),
    maybe_sent: fact['maybe_sent'] ?? null,
    state: fact['state'] as AttemptRow['state'],
    decline_class: fact['decline_class'] ?? null,
    inquiries: fact['inquiries'] ?? null,
    void_reference: textOf(fact['void_reference']),
    void_state: (fact['void_state'] ?? null) as AttemptRow['void_state'],
    void_tries: fact['void_tries'] ?? null,
    lease_until_ms: msOf(fact['lease_until']),
    key_used_since_ms: msOf(fact['key_used_since']),
    resolve_due_at_ms: msOf(fact['resolve_due_at']),
    gateway_reference: textOf(fact['attempt_reference']) ?? before?.gateway_reference ?? null,
    takenUntilMs: before?.takenUntilMs ?? 0,
  };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function msOf(time: unknown): number | null {
  return typeof time === 'number' ? time : null;
}
