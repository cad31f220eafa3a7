/**
 * Whatever leaves an outcome open is brought to an end by the same key or by asking: at most one approval, never a
 * denial that the gateway did not speak, and an announcement also where the message is parked or gone.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { FaultRule, FaultScript } from '../../src/simulator/fault-script.ts';
import { waitFor } from '../support/wait-for.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { newOrderId, openStage, orderJson, suiteOwner, type Environment, type Stage } from './stage.ts';

type Fault = FaultRule['fault'];

/** Asked soon and often; replays are few, so that what only an inquiry can settle is parked before. */
const ENVIRONMENT: Environment = {
  CARDAUTH_GATEWAY_TIMEOUT_MS: '1000',
  CARDAUTH_LEASE_MS: '3000',
  CARDAUTH_MESSAGE_TIMEOUT_MS: '4000',
  CARDAUTH_DRAIN_MS: '3000',
  CARDAUTH_MAX_ATTEMPTS: '2',
  CARDAUTH_INQUIRY_WAITS_MS: '500,1000,2000,3000',
};

interface Row {
  readonly fault: Fault;
  /** For the first request only, or for as long as the test runs. */
  readonly lasts?: 'once' | 'on';
  readonly status: 'ready-to-ship' | 'denied' | 'review';
  readonly approvals: number;
}

const settle = (as: 'approved' | 'declined') => ({ as, afterMs: 1_500 });
const ready = { status: 'ready-to-ship', approvals: 1 } as const;
const ROWS: readonly Row[] = [
  { fault: { kind: 'charge-then-drop' }, ...ready },
  { fault: { kind: 'charge-then-drop' }, lasts: 'on', ...ready },
  { fault: { kind: 'drop-before-charge' }, ...ready },
  { fault: { kind: 'stalled-headers' }, lasts: 'on', ...ready },
  { fault: { kind: 'stalled-body' }, ...ready },
  { fault: { kind: 'cut-body' }, ...ready },
  { fault: { kind: 'empty-body' }, ...ready },
  { fault: { kind: 'garbage' }, lasts: 'on', ...ready },
  { fault: { kind: 'garbage', where: 'body' }, ...ready },
  { fault: { kind: 'html-502' }, ...ready },
  { fault: { kind: 'html-502', charged: true }, lasts: 'on', ...ready },
  { fault: { kind: 'charge-then-500' }, ...ready },
  { fault: { kind: 'cached-500' }, status: 'review', approvals: 0 },
  { fault: { kind: 'pending', settle: settle('approved') }, ...ready },
  { fault: { kind: 'pending', settle: settle('declined') }, status: 'denied', approvals: 0 },
  { fault: { kind: 'pending' }, status: 'review', approvals: 0 },
  { fault: { kind: 'unknown-status', settle: settle('approved') }, ...ready },
  { fault: { kind: 'unknown-status' }, status: 'review', approvals: 0 },
  { fault: { kind: 'delay', ms: 2_500 }, ...ready },
];

describe('unknown outcomes', { concurrency: false }, () => {
  const owner = suiteOwner();
  const orders = ROWS.map((row) => ({ ...row, orderId: newOrderId() }));
  let stage: Stage;
  let worker: WorkerProcess;

  before(async () => {
    stage = await openStage(owner);
    await stage.gateway.setFaults(
      orders.map(({ orderId, fault, lasts = 'once' }): FaultScript[number] => ({
        match: lasts === 'once' ? { orderId, nth: 1 } : { orderId },
        fault,
      })),
    );
    worker = await stage.startWorker(ENVIRONMENT);
    await stage.publish(...orders.map(({ orderId }) => orderJson(orderId)));
  });

  for (const { orderId, fault, lasts, status, approvals } of orders) {
    it(`${JSON.stringify(fault)}${lasts === 'on' ? ', always' : ''}: ${status}`, async () => {
      const order = await settled(stage, orderId);
      assert.equal(order.status, status);
      const ledger = await stage.gateway.approvals(orderId);
      assert.equal(ledger.length, approvals);
      if (status === 'review') {
        assert.equal(order.status_reason, 'not_resolved');
        assert.equal(stage.receiptsOf(orderId).length, 0);
        return;
      }
      assert.equal(order.gateway_reference, ledger[0]?.authorizationId ?? order.gateway_reference);
      await stage.announced(orderId);
      const eventIds = stage.receiptsOf(orderId).map(({ properties }) => properties.messageId as string);
      assert.deepEqual(new Set(eventIds), new Set([`order-${orderId}-${status}-1`]));
    });
  }

  it('never used another key, and never asked for money under it after the verdict', async () => {
    for (const { orderId } of orders) {
      const keys = (await stage.gateway.requests(orderId)).map(({ idempotencyKey }) => idempotencyKey);
      assert.deepEqual(new Set(keys.filter((key) => key !== null)), new Set([`order-${orderId}-1`]));
    }
  });

  it('ends with an empty queue', async () => {
    await stage.endAndExpectEmptyQueue(worker);
  });
});

describe('an order whose message is gone', { concurrency: false }, () => {
  it('is settled and announced by the next worker, after a crash with the charge in flight', async (t) => {
    const stage = await openStage(t);
    const orderId = newOrderId();
    await stage.gateway.setFaults([{ match: { orderId }, fault: { kind: 'hold' } }]);
    const first = await stage.startWorker(ENVIRONMENT);
    await stage.publish(orderJson(orderId));
    await waitFor('the charge', async () => (await stage.gateway.approvals(orderId)).length === 1);
    first.kill('SIGKILL');
    await first.exited;
    await waitFor('the message, to take it away', () => stage.client.take(stage.broker.ordersQueue));

    const workers = [await stage.startWorker(ENVIRONMENT), await stage.startWorker(ENVIRONMENT)];
    const order = await stage.announced(orderId);
    assert.equal(order.status, 'ready-to-ship');
    assert.equal((await stage.gateway.approvals(orderId)).length, 1);
    const charges = (await stage.gateway.requests(orderId)).filter(({ method }) => method === 'POST');
    assert.equal(charges.length, 1, 'the resolver asks and never charges');
    for (const worker of workers) await stage.endAndExpectEmptyQueue(worker);
  });

  it('is announced by the next worker after a crash between the verdict and the announcement', async (t) => {
    const stage = await openStage(t);
    const orderId = newOrderId();
    await stage.gateway.setFaults([{ match: { orderId }, fault: { kind: 'charge-then-500' } }]);
    const first = await stage.startWorker({ ...ENVIRONMENT, CARDAUTH_INQUIRY_WAITS_MS: '86400000' });
    await stage.publish(orderJson(orderId));
    await stage.parked.next();
    first.kill('SIGKILL');
    await first.exited;
    // As if the resolver of the worker that died had brought the verdict and got no further.
    const reference = (await stage.gateway.approvals(orderId))[0]?.authorizationId;
    await stage.database.query(
      `with attempt as (
         update cardauth.attempts set state = 'approved', gateway_reference = $2, resolve_due_at = now()
         where order_id = $1)
       update cardauth.orders set status = 'ready-to-ship', gateway_reference = $2, decided_at = date_trunc('milliseconds', now()),
         version = version + 1
       where order_id = $1`,
      [orderId, reference],
    );

    const worker = await stage.startWorker(ENVIRONMENT);
    assert.equal((await stage.announced(orderId)).status, 'ready-to-ship');
    await waitFor('the announcement', () => stage.receiptsOf(orderId).length === 1);
    await stage.endAndExpectEmptyQueue(worker);
  });
});

describe('a hold that must not stand', { concurrency: false }, () => {
  it('is voided until the gateway confirms it, under its own key: a partial approval', async (t) => {
    const stage = await openStage(t);
    const orderId = newOrderId();
    await stage.gateway.setFaults([
      { match: { path: '/v1/payment_intents/*', method: 'POST' }, fault: { kind: 'html-502' }, times: 2 },
      { match: { orderId }, fault: { kind: 'partial' } },
    ]);
    const worker = await stage.startWorker(ENVIRONMENT);
    await stage.publish(orderJson(orderId));
    await waitFor('the void to be confirmed', async () => {
      const { rows } = await stage.database.query<{ void_state: string }>(
        'select void_state from cardauth.attempts where order_id = $1',
        [orderId],
      );
      return rows[0]?.void_state === 'confirmed';
    });
    const order = await stage.order(orderId);
    assert.deepEqual([order?.status, order?.status_reason], ['review', 'partial_approval']);
    const voids = (await stage.gateway.requests(orderId)).filter(({ path }) => path.endsWith('/cancel'));
    assert.ok(voids.length >= 3);
    assert.ok(voids.every(({ idempotencyKey }) => idempotencyKey === `order-${orderId}-1-void`));
    const { rows: events } = await stage.database.query<{ outcome: string }>(
      `select outcome from cardauth.order_events where order_id = $1 and fact = 'voided' order by event_id`,
      [orderId],
    );
    assert.equal(events.at(-1)?.outcome, 'void: voided');
    await stage.endAndExpectEmptyQueue(worker);
  });
});

/** Decided and announced, or given to a person. */
function settled(stage: Stage, orderId: string) {
  return waitFor(
    `order ${orderId} to be settled`,
    async () => {
      const order = await stage.order(orderId);
      const isSettled = order?.status === 'review' || (order?.notified_at ?? null) !== null;
      return isSettled ? order : undefined;
    },
    { timeoutMs: 25_000 },
  );
}
