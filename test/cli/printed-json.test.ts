import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MoneyParts } from '../../src/cli/money-parts.ts';
import type { Fleet, Parts } from '../../src/cli/parts.ts';
import type { WorkerRecord } from '../../src/ports/worker-reports.ts';
import {
  claimBy,
  DEAD,
  NO_VERDICTS,
  orderAfter,
  outcomeOf,
  OUTCOMES,
  SELF,
  START_MS,
} from '../domain/order-histories.ts';
import { cli, workerEnv, type CliWorld } from './fake-context.ts';

const unknown = orderAfter([claimBy(), 0, DEAD], [outcomeOf(OUTCOMES.unknown, 1), 0, DEAD]);
const approved = orderAfter([claimBy(), 0, SELF], [outcomeOf(OUTCOMES.approved, 1), 0, SELF]);

const worker: WorkerRecord = {
  ...{ worker: 7, isAlive: true, host: 'a', pid: 12, version: '1.2.3' },
  ...{ startedAtMs: START_MS, seenAtMs: START_MS },
  report: {
    ...{ state: 'running', inFlight: 1, replaysWaiting: 0, ordersPerSecond: 0.1, holds: ['operator'] },
    oldest: { orderId: '1234', ageMs: 1, remainingMs: 2, component: 'authorize', phase: 'claim' },
    gateways: [{ name: 'stripe', valve: 'probing', mostInWork: 1, because: 'HTTP 503' }],
    dependencies: [{ name: 'database', unavailableBecause: null }],
    errors: [{ errorClass: 'database', component: 'authorize', count: 3 }],
  },
};
const paused = { isPaused: true, last: { actor: 'anna', reason: 'r', atMs: START_MS } };
const byStatus = {
  ...{ received: 0, authorizing: 0, 'authorization-unknown': 1, review: 0, 'ready-to-ship': 1, denied: 0 },
};
const close = () => Promise.resolve();

const fleet = {
  intake: {
    state: () => Promise.resolve(paused),
    pause: () => Promise.resolve({ outcome: 'changed', state: paused }),
    resume: () => Promise.resolve({ outcome: 'unchanged', state: { isPaused: false, last: undefined } }),
  },
  workers: { list: () => Promise.resolve([worker, { ...worker, worker: 8, isAlive: false }]) },
  overview: {
    unfinished: () =>
      Promise.resolve({
        byStatus: { 'authorization-unknown': { count: 1, oldest: { orderId: '1234', ageMs: 5 } } },
        ...{ parked: 2, overdueRetries: 0 },
      }),
    books: () =>
      Promise.resolve({
        ...{ received: 2, byStatus, approved: 1, contradictory: 0, approvedNotified: 0 },
        ...{ approvedToBeNotified: 1, asked: 1, askedApproved: 1, askedOnceApproved: 1 },
      }),
  },
} satisfies Fleet;

const queues = [
  { role: 'orders', queue: 'orders', ready: 3, consumers: 1, problem: undefined },
  { role: 'parked', queue: 'cardauth.parked', ready: undefined, consumers: undefined, problem: 'is missing' },
];

const action = {
  ...{ id: '17', happenedAtMs: START_MS, actor: 'anna', action: 'pause', subject: 'intake' },
  ...{ reason: 'r', commandId: 'c', before: { paused: false, by: ['x', null, 1] }, after: undefined },
};

const book = { apply: () => Promise.resolve({ order: approved, next: { step: 'nothing' } }), close };

const money = {
  openAttentionLists: () => ({
    withoutVerdict: () =>
      Promise.resolve([
        { orderId: '1234', sinceMs: START_MS, order: unknown, lastOutcome: 'unknown', detail: 'no answer' },
        { orderId: '1235', sinceMs: START_MS, order: approved, lastOutcome: undefined, detail: undefined },
      ]),
    unannounced: () => Promise.resolve([{ orderId: '1234', sinceMs: START_MS, order: approved }]),
    close,
  }),
  openVerdictBook: () => book,
  openAnnouncementBook: () => book,
  openNotifier: () => Promise.resolve({ notify: close, close }),
  openInquiry: () => ({ lookup: () => Promise.resolve(NO_VERDICTS.unanswered), close }),
  openReconciliationBook: () => ({
    ordersOf: () => Promise.resolve([]),
    approvals: async function* () {
      await Promise.resolve();
      yield { ...approved, decidedAtMs: START_MS };
    },
    keep: close,
    close,
  }),
  openGatewayHolds: () => ({
    name: 'stripe',
    list: async function* () {
      await Promise.resolve();
      yield {
        ...{ reference: 'pi_9', orderId: '99', idempotencyKey: 'order-99-1', amountMinor: 1n },
        ...{ currency: 'USD', state: 'held', createdAtMs: START_MS },
      };
    },
    close,
  }),
} as unknown as MoneyParts;

const parts = {
  fleet: () => Promise.resolve(() => ({ ...fleet, close })),
  queueDepths: () => Promise.resolve(() => ({ look: () => Promise.resolve(queues), close })),
  auditTrail: () =>
    Promise.resolve(() =>
      Promise.resolve({ list: () => Promise.resolve({ actions: [action], next: '16' }), close }),
    ),
  orderHistory: () =>
    Promise.resolve(() => Promise.resolve({ show: () => Promise.resolve({ order: approved }), close })),
  money: () => Promise.resolve(money),
} as unknown as Parts;

/** `cli` holds what is printed against the schema; here it is made to print something, with every field there is. */
async function printed(line: string, world: CliWorld = {}): Promise<string> {
  const run = await cli([...line.split(' '), '--json'], { parts, env: workerEnv, ...world });
  assert.doesNotMatch(run.stderr, /^cardauth:/);
  return run.stdout;
}

describe('one document on one line', () => {
  for (const [line, part] of [
    ['audit list', /"next":"16"/],
    ['breaker show', /"valve":"probing"/],
    ['notifications list', /"eventId":"order-1234-ready-to-ship-1"/],
    ['pause --reason r', /"outcome":"changed"/],
    ['reconcile --since 2025-12-31 --until 2026-01-02', /"remaining":2/],
    ['resume --reason r', /"by":null/],
    ['status', /"role":"parked"/],
    ['unknown list', /"lastHeard":null/],
  ] as const) {
    it(`cardauth ${line} --json`, async () => {
      const text = await printed(line);
      assert.match(text, part);
      assert.equal(text.split('\n').length, 2);
    });
  }

  it('cardauth status --json while broker and database are away', async () => {
    const away = () => Promise.reject(new Error('away'));
    const none = {
      fleet: () => Promise.resolve(() => ({ ...fleet, workers: { list: away }, close })),
      queueDepths: () => Promise.resolve(() => ({ look: away, close })),
    } satisfies Parts;
    assert.match(await printed('status', { parts: none }), /"missing":\["database: away","broker: away"\]/);
  });
});

describe('one document a line', () => {
  for (const line of [
    'notifications resend 1 2 --reason r',
    'notifications resend 1 2 --reason r --yes',
    'orders reopen 1 2 --reason r',
    'unknown resolve 1 2 --reason r',
  ]) {
    it(`cardauth ${line} --json`, async () => {
      const lines = (await printed(line)).trimEnd().split('\n');
      const ids = lines.map((text) => (JSON.parse(text) as { orderId: string }).orderId);
      assert.deepEqual(ids.sort(), ['1', '2']);
    });
  }

  it('cardauth unknown resolve --json, of an order that a service fails', async () => {
    const failing = {
      ...money,
      openVerdictBook: () => ({ apply: () => Promise.reject(new Error('no')), close }),
    };
    const text = await printed('unknown resolve 1 --reason r', {
      parts: { ...parts, money: () => Promise.resolve(failing as unknown as MoneyParts) },
    });
    assert.match(text, /"result":"failed"/);
  });

  it('cardauth status --watch --json', async () => {
    const interrupt = new AbortController();
    const looked: string[] = [];
    const look = () => {
      looked.push('once');
      if (looked.length === 2) setImmediate(() => { interrupt.abort(); });
      return Promise.resolve(queues);
    }; // prettier-ignore
    const watched = { ...parts, queueDepths: () => Promise.resolve(() => ({ look, close })) };
    const text = await printed('status --watch', { parts: watched, interrupt: interrupt.signal });
    assert.equal(text.trimEnd().split('\n').length, 2);
  });
});
