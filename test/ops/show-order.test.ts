import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { showOrder } from '../../src/ops/show-order.ts';
import type { OrderHistory, OrderRecord } from '../../src/ports/order-history.ts';
import { cli } from '../cli/fake-context.ts';

const record: OrderRecord = {
  order: {
    orderId: '1234',
    customerId: '5678',
    amountMinor: 4223n,
    currency: 'USD',
    fingerprint: 'fingerprint',
    cardBrand: 'visa',
    cardLast4: '4242',
    status: 'ready-to-ship',
    statusReason: undefined,
    generation: 1,
    attempts: 1,
    attempt: undefined,
    gatewayReference: 'pi_1',
    authorizationExpiresAtMs: undefined,
    decidedAtMs: 1_700_000_000_000,
    notifiedAtMs: undefined,
    retryAtMs: undefined,
    retryUntilMs: undefined,
    version: 3,
  },
  attempts: [
    {
      idempotencyKey: 'order-1234-1',
      claim: 1,
      owner: 7,
      leaseUntilMs: undefined,
      keyUsedSinceMs: 1_700_000_000_000,
      maybeSent: true,
      state: 'approved',
      declineClass: undefined,
      inquiries: 0,
      resolveDueMs: undefined,
      voiding: undefined,
      generation: 1,
      gatewayReference: 'pi_1',
      lastOutcome: 'approved',
      detail: undefined,
      createdAtMs: 1_700_000_000_000,
      updatedAtMs: 1_700_000_001_000,
    },
  ],
  events: [
    {
      happenedAtMs: 1_700_000_001_000,
      fact: 'outcome',
      generation: 1,
      claim: 1,
      worker: 7,
      statusBefore: 'authorizing',
      statusAfter: 'ready-to-ship',
      outcome: 'approved',
      detail: undefined,
      alarm: 'look at this',
    },
  ],
  seenAtMs: 1_699_999_999_000,
  updatedAtMs: 1_700_000_001_000,
  parkings: [
    {
      parkedId: '17',
      parkedAtMs: 1_700_000_000_500,
      firstSeenMs: 1_699_999_999_000,
      reason: 'replays_exhausted',
      class: 'exhausted',
      error: 'no answer\nfor long',
      attempts: 20,
      state: 'replayed',
      closedAtMs: 1_700_000_000_700,
    },
  ],
  actions: [
    {
      happenedAtMs: 1_700_000_000_600,
      actor: 'anna@ops',
      action: 'parked replay',
      reason: 'gateway is back',
    },
  ],
  readAtMs: 1_700_000_002_000,
  livingWorkers: new Set(),
};

function historyOf(stored: OrderRecord | undefined): OrderHistory {
  return {
    show: () => Promise.resolve(stored),
    countsByStatus: () => assert.fail('not asked for'),
    countDecidedUnnotified: () => assert.fail('not asked for'),
    list: () => assert.fail('not asked for'),
  };
}

function show(args: readonly string[], stored: OrderRecord | undefined) {
  return ordersCommand(['show', ...args], stored);
}

function ordersCommand(args: readonly string[], stored: OrderRecord | undefined) {
  const history = { ...historyOf(stored), close: () => Promise.resolve() };
  const parts = { orderHistory: () => Promise.resolve(() => Promise.resolve(history)) };
  return cli(['orders', ...args], { parts });
}

describe('showOrder', () => {
  it('gives amounts as text, times as ISO 8601, nothing as null, and no fingerprint', async () => {
    const view = await showOrder(historyOf(record), '1234');
    assert.deepEqual(JSON.parse(JSON.stringify(view)), {
      orderId: '1234',
      status: 'ready-to-ship',
      statusReason: null,
      customerId: '5678',
      amountMinor: '4223',
      currency: 'USD',
      card: 'visa ...4242',
      gatewayReference: 'pi_1',
      generation: 1,
      attempts: 1,
      decidedAt: '2023-11-14T22:13:20.000Z',
      notifiedAt: null,
      retryAt: null,
      seenAt: '2023-11-14T22:13:19.000Z',
      updatedAt: '2023-11-14T22:13:21.000Z',
      money: {
        verdict: 'approved-unannounced',
        moved: 'yes',
        nextAction: 'announce',
        reference: 'pi_1',
        reason: null,
      },
      explanation:
        'Order 1234 (42.23 USD) was approved on 2023-11-14 22:13 UTC, the amount is held as pi_1, but downstream ' +
        'was not told yet; its history has an alarm that a person must look at; next, the notification is to be ' +
        'sent, with no new charge.',
      authorizations: [
        {
          generation: 1,
          idempotencyKey: 'order-1234-1',
          state: 'approved',
          claim: 1,
          maybeSent: true,
          gatewayReference: 'pi_1',
          lastOutcome: 'approved',
          detail: null,
          createdAt: '2023-11-14T22:13:20.000Z',
          updatedAt: '2023-11-14T22:13:21.000Z',
        },
      ],
      events: [
        {
          at: '2023-11-14T22:13:21.000Z',
          fact: 'outcome',
          statusBefore: 'authorizing',
          statusAfter: 'ready-to-ship',
          generation: 1,
          outcome: 'approved',
          detail: null,
          alarm: 'look at this',
          worker: 7,
        },
      ],
      parked: [
        {
          parkedId: '17',
          at: '2023-11-14T22:13:20.500Z',
          firstSeenAt: '2023-11-14T22:13:19.000Z',
          reason: 'replays_exhausted',
          class: 'exhausted',
          error: 'no answer\nfor long',
          attempts: 20,
          state: 'replayed',
          closedAt: '2023-11-14T22:13:20.700Z',
        },
      ],
      operatorActions: [
        {
          at: '2023-11-14T22:13:20.600Z',
          actor: 'anna@ops',
          action: 'parked replay',
          reason: 'gateway is back',
        },
      ],
    });
  });

  it('shows an order that was only parked', async () => {
    const view = await showOrder(historyOf({ ...record, order: undefined }), 'x');
    assert.deepEqual([view?.orderId, view?.status, view?.events.length], ['x', null, 1]);
  });
});

describe('cardauth orders show', () => {
  it('prints text for people', async () => {
    const { exitCode, stdout } = await show(['1234'], record);
    assert.equal(exitCode, 0);
    assert.match(stdout, /^Order 1234 \(42\.23 USD\) was approved/);
    assert.match(stdout, /^status +ready-to-ship$/m);
    assert.match(stdout, /^money +approved-unannounced: held yes, next announce$/m);
    assert.match(stdout, /^ {2}1\. order-1234-1 {2}approved {2}1 claim {2}approved \(pi_1\)$/m);
    const history = stdout.split('history (UTC)\n')[1];
    assert.equal(
      history,
      '  2023-11-14 22:13:20.500  parked after 20 replays  replays_exhausted  no answer for long\n' +
        '  2023-11-14 22:13:20.600  operator anna@ops: parked replay  "gateway is back"\n' +
        '  2023-11-14 22:13:20.700  parked copy replayed  replays_exhausted\n' +
        '  2023-11-14 22:13:21.000  outcome  authorizing -> ready-to-ship  approved  ALARM: look at this\n',
    );
  });

  it('prints one JSON document', async () => {
    const { stdout } = await show(['1234', '--json'], record);
    assert.equal((JSON.parse(stdout) as { orderId: string }).orderId, '1234');
  });

  it('fails when nothing is known, and refuses what cannot be an id', async () => {
    const unknown = await show(['1234'], undefined);
    assert.deepEqual([unknown.exitCode, unknown.stdout], [1, '']);
    assert.match(unknown.stderr, /nothing is known of order 1234/);
    assert.equal((await show(['12 34'], record)).exitCode, 2);
    assert.equal((await show(['x'.repeat(129)], record)).exitCode, 2);
  });
});

describe('cardauth orders explain', () => {
  it('prints one line, or the verdict as JSON', async () => {
    const text = await ordersCommand(['explain', '1234'], record);
    assert.equal(text.exitCode, 0);
    assert.match(text.stdout, /^Order 1234 .*, with no new charge\.\n$/);
    assert.equal(text.stdout.split('\n').length, 2);
    const json = await ordersCommand(['explain', '1234', '--json'], record);
    assert.equal(
      (JSON.parse(json.stdout) as { money: { verdict: string } }).money.verdict,
      'approved-unannounced',
    );
  });

  it('fails when nothing is known, and refuses what cannot be an id', async () => {
    const unknown = await ordersCommand(['explain', '1234'], undefined);
    assert.deepEqual([unknown.exitCode, unknown.stdout], [1, '']);
    assert.equal((await ordersCommand(['explain', '12 34'], record)).exitCode, 2);
  });

  it('says of a parked message that was no good order that upstream must send it anew', async () => {
    const [parking] = record.parkings;
    assert.ok(parking);
    const parkings = [
      { ...parking, class: 'input', reason: 'amount_format', state: 'parked', closedAtMs: undefined },
    ];
    const { stdout } = await ordersCommand(['explain', '1234'], {
      ...record,
      order: undefined,
      events: [],
      parkings,
    });
    assert.match(
      stdout,
      /never taken in.*parked since 2023-11-14 22:13 UTC \(amount_format\).*upstream is to send it/,
    );
  });
});
