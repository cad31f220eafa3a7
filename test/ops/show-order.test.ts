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
  const history = { ...historyOf(stored), close: () => Promise.resolve() };
  const parts = { orderHistory: () => Promise.resolve(() => Promise.resolve(history)) };
  return cli(['orders', 'show', ...args], { parts });
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
    assert.match(stdout, /^status +ready-to-ship$/m);
    assert.match(stdout, /^ {2}1\. order-1234-1 {2}approved {2}approved$/m);
    assert.match(stdout, /outcome {2}authorizing -> ready-to-ship {2}approved {2}ALARM: look at this$/m);
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
