import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { demoOrders } from '../../src/demo/orders.ts';
import type { ApprovalEntry } from '../../src/simulator/ledger.ts';
import type { LoggedRequest } from '../../src/simulator/request-log.ts';
import type { Evidence, EventRow } from './evidence.ts';
import type { JournalEntry } from './publisher-process.ts';
import type { Receipt } from './receiver-process.ts';
import type { WireEvent } from './wire-watch.ts';

type Changeable<T> = { -readonly [K in keyof T]: T[K] };
/** Evidence whose lists may be changed in a test. */
export type Draft = {
  -readonly [K in keyof Evidence]: Evidence[K] extends readonly (infer Item)[]
    ? Changeable<Item>[]
    : Evidence[K];
};

const ORDERS = 40;
const START_MS = Date.parse('2026-01-01T00:00:00Z');

/** What a run would leave behind in which nothing went wrong, and no blow fell. */
export function idealEvidence(): Draft {
  const folder = mkdtempSync(join(tmpdir(), 'cardauth-evidence-'));
  const draft: Draft = {
    folder,
    plan: { orders: ORDERS, seed: 1, stormMs: 1_000, blows: [] },
    secrets: { 'API key': 'sk_test_of_the_ideal_run' },
    approvals: [],
    voids: [],
    requests: [],
    journal: [],
    receipts: [],
    wire: [],
    orders: [],
    attempts: [],
    events: [],
    audit: [],
    batches: [],
    members: [],
    operators: [],
    orphans: [],
    probes: [],
    parkedRows: [],
    parked: [],
    queues: [{ name: 'orders', messages: 0 }],
    blows: [],
    exits: [{ atMs: START_MS, worker: 0, code: 0, signal: null, sent: 'SIGTERM' }],
    logs: [],
  };
  for (const [index, order] of demoOrders(ORDERS).entries()) {
    const { messageId, orderId, expected, kind } = order;
    const time = clock(START_MS + index * 1_000);
    draft.journal.push({ atMs: time(0), messageId, orderId, outcome: 'confirmed' } as JournalEntry);
    draft.wire.push(wireEvent(time(1), 'delivered', messageId));
    if (expected === 'parked' || orderId === undefined) {
      draft.parked.push({
        messageId,
        headers: { 'cardauth-park-order-id': orderId },
        body: '',
      });
      draft.wire.push(wireEvent(time(2), 'confirmed', messageId, 'cardauth.parked'));
    } else if (!draft.orders.some((stored) => stored.order_id === orderId)) {
      decide(
        draft,
        { orderId, status: expected, sent: kind !== 'hopeless card', amountMinor: Number(order.amountMinor) },
        time,
      );
    }
    draft.wire.push(wireEvent(time(9), 'acked', messageId));
  }
  operate(draft, START_MS + ORDERS * 1_000);
  writeFileSync(join(folder, 'worker-0.log'), draft.logs.map(({ text }) => text).join('\n'));
  return draft;
}

/** A replay that was typed twice, of an order that was decided before, a pause, and two reconciliations. */
function operate(draft: Draft, startMs: number): void {
  const at = (seconds: number): string => new Date(startMs + seconds * 1_000).toISOString();
  const entry = { actor: 'anna', reason: 'a storm', before: { state: 'before' }, after: { state: 'after' } };
  const replay = { ...entry, command_id: 'replay-1', action: 'parked replay', happened_at: at(1) };
  draft.audit.push(
    { ...replay, audit_id: 1, subject: 'batch:b-1', before: null },
    { ...replay, audit_id: 2, subject: 'parked:p-1' },
    { ...entry, audit_id: 3, command_id: 'pause-1', action: 'pause', subject: 'intake', happened_at: at(2) },
  );
  draft.batches.push({ batch_id: 'b-1', command_id: 'replay-1', state: 'done' });
  draft.members.push({
    batch_id: 'b-1',
    park_id: 'p-1',
    order_id: '20',
    state: 'published',
    settled_at: at(1),
  });
  const typed = (seconds: number, args: string[], commandId: string, printed: unknown[] = []): void => {
    draft.operators.push({
      atMs: startMs + seconds * 1_000,
      tookMs: 100,
      args,
      commandId,
      exitCode: 0,
      printed,
    });
  };
  typed(1, ['parked', 'replay'], 'replay-1');
  typed(2, ['parked', 'replay'], 'replay-1');
  typed(2, ['pause'], 'pause-1', [{ outcome: 'changed' }]);
  typed(3, ['reconcile'], 'reconcile-1', [{ differences: [] }]);
  typed(4, ['reconcile'], 'reconcile-2', [{ differences: [] }]);
  draft.probes.push(
    { about: 'audit log', what: 'delete', answer: '42501' },
    { about: 'configuration', what: 'a long lease', answer: '78' },
  );
}

export function discard({ folder }: Draft): void {
  rmSync(folder, { recursive: true });
}

function decide(
  draft: Draft,
  order: { orderId: string; status: 'ready-to-ship' | 'denied'; sent: boolean; amountMinor: number },
  time: (ms: number) => number,
): void {
  const { orderId, status, sent, amountMinor } = order;
  const key = `order-${orderId}-1`;
  const reference = status === 'ready-to-ship' ? `pi_${orderId}` : null;
  const event = (
    atMs: number,
    fact: string,
    version: number,
    before: string | null,
    after: string,
  ): EventRow => ({
    event_id: draft.events.length + 1,
    order_id: orderId,
    happened_at: new Date(atMs).toISOString(),
    fact,
    version,
    status_before: before,
    status_after: after,
  });
  if (sent) {
    draft.events.push(event(time(2), 'claim', 1, null, 'authorizing'));
    draft.requests.push({
      at: new Date(time(3)).toISOString(),
      method: 'POST',
      path: '/v1/payment_intents',
      orderId,
      idempotencyKey: key,
      nth: 1,
      fault: null,
      status: 200,
      replayed: false,
      state: 'answered',
    } satisfies LoggedRequest);
    draft.attempts.push({ order_id: orderId, generation: 1, idempotency_key: key });
    draft.events.push(event(time(4), 'outcome', 2, 'authorizing', status));
  } else draft.events.push(event(time(4), 'refuse', 1, null, status));
  if (reference !== null) {
    draft.approvals.push({
      kind: 'approval',
      orderId,
      authorizationId: reference,
      idempotencyKey: key,
      amountMinor,
      currency: 'usd',
      fault: null,
    } as ApprovalEntry);
  }
  const version = sent ? 3 : 2;
  draft.events.push(event(time(6), 'notified', version, status, status));
  draft.orders.push({
    order_id: orderId,
    status,
    amount_minor: amountMinor,
    currency: 'USD',
    gateway_reference: reference,
    generation: 1,
    version,
    notified_at: new Date(time(6)).toISOString(),
  });
  draft.receipts.push({
    atMs: time(5),
    eventId: `order-${orderId}-${status}-1`,
    correlationId: orderId,
    routingKey: `order.${status}`,
    body: { orderId, status, amountMinor: String(amountMinor), currency: 'USD', authorizationId: reference },
  } satisfies Receipt);
}

export function wireEvent(
  atMs: number,
  what: WireEvent['what'],
  messageId: string | undefined,
  routingKey?: string,
): WireEvent {
  return { atMs, worker: 0, what, messageId, ...(routingKey !== undefined && { routingKey }) };
}

function clock(startMs: number): (ms: number) => number {
  return (ms) => startMs + ms * 10;
}
