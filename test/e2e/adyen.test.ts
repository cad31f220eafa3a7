import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { before, describe, it } from 'node:test';
import type { SimulatedFault } from '../conformance/gateway.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { newOrderId, openStage, orderJson, suiteOwner, type Stage } from './stage.ts';

describe('a worker that speaks Adyen', { concurrency: false }, () => {
  const owner = suiteOwner();
  let stage: Stage;
  let worker: WorkerProcess;

  before(async () => {
    stage = await openStage(owner);
    worker = await stage.startWorker({
      CARDAUTH_GATEWAY: 'adyen',
      CARDAUTH_ADYEN_MERCHANT_ACCOUNT: 'ExampleCom',
      CARDAUTH_GATEWAY_API_KEY: 'AQE-end-to-end',
      CARDAUTH_MAX_ATTEMPTS: '2',
    });
  });

  async function publishUnder(fault: SimulatedFault, times?: number): Promise<string> {
    const id = newOrderId();
    const rule = { match: { orderId: id }, fault, ...(times === undefined ? {} : { times }) };
    await stage.gateway.setFaults([rule] as Parameters<typeof stage.gateway.setFaults>[0]);
    await stage.publish(orderJson(id));
    return id;
  }

  async function parked(id: string): Promise<string> {
    const { row } = await stage.parked.next();
    assert.equal(row.order_id, id);
    return row.reason;
  }

  it('authorizes an order and announces it', async () => {
    const id = newOrderId();
    await stage.publish(orderJson(id));
    const order = await stage.announced(id);
    const [approval, ...more] = await stage.gateway.approvals(id);
    assert.ok(approval);
    assert.deepEqual(more, []);
    assert.deepEqual([order.status, order.gateway_reference], ['ready-to-ship', approval.authorizationId]);
    assert.deepEqual([approval.amountMinor, approval.captureMethod], [4223, 'manual']);
    assert.equal(approval.cardDigest, digest('4242424242424242'));
    assert.equal(approval.idempotencyKey, `order-${id}-1`);
    const paths = (await stage.gateway.requests(id)).map(({ path }) => path);
    assert.deepEqual(paths, ['/v72/payments']);
  });

  it('authorizes an order whose id is as long as ids may be', async () => {
    const id = newOrderId().padEnd(128, 'x');
    await stage.publish(orderJson(id));
    assert.equal((await stage.announced(id)).status, 'ready-to-ship');
    const [approval] = await stage.gateway.approvals(id);
    assert.equal(approval?.idempotencyKey, digest(`order-${id}-1`));
  });

  const declines: [card: string, reason: string][] = [
    ['4000000000000002', 'card_declined'],
    ['4000000000009995', 'card_declined'],
    ['4000000000009987', 'card_declined'],
    ['4000002500003155', 'authentication_required'],
  ];
  for (const [card, reason] of declines) {
    it(`denies the published card ending in ${card.slice(-4)}: ${reason}`, async () => {
      const id = newOrderId();
      await stage.publish(orderJson(id, { creditCardNumber: card }));
      const order = await stage.announced(id);
      assert.deepEqual([order.status, order.status_reason], ['denied', reason]);
      assert.equal((await stage.gateway.approvals(id)).length, 0);
    });
  }

  it('denies an order that meets a challenge', async () => {
    const id = await publishUnder({ kind: 'requires-action' });
    const order = await stage.announced(id);
    assert.deepEqual([order.status, order.status_reason], ['denied', 'authentication_required']);
    assert.equal((await stage.gateway.approvals(id)).length, 0);
  });

  it('recovers the approval of a lost answer by the same key', async () => {
    const id = await publishUnder({ kind: 'charge-then-drop' }, 1);
    assert.equal((await stage.announced(id)).status, 'ready-to-ship');
    assert.equal((await stage.gateway.approvals(id)).length, 1);
    const keys = new Set((await stage.gateway.requests(id)).map(({ idempotencyKey }) => idempotencyKey));
    assert.deepEqual([...keys], [`order-${id}-1`]);
  });

  it('parks a partial approval after it had it cancelled', async () => {
    const id = await publishUnder({ kind: 'partial' });
    assert.equal(await parked(id), 'review');
    assert.equal((await stage.order(id))?.status, 'review');
    const paths = (await stage.gateway.requests(id)).map(({ path }) => path);
    // Adyen confirms no cancel in its answer, so it may have been asked for again by now.
    assert.deepEqual([paths[0], ...new Set(paths.slice(1))], ['/v72/payments', '/payments/:id/cancels']);
    assert.equal(stage.receiptsOf(id).length, 0);
  });

  for (const kind of ['pending', 'unknown-status']) {
    it(`neither ships nor denies what is ${kind}: same key, then a person`, async () => {
      const id = await publishUnder({ kind });
      await parked(id);
      assert.equal((await stage.order(id))?.status, 'authorization-unknown');
      assert.ok((await stage.gateway.requests(id)).length > 1);
      assert.equal(stage.receiptsOf(id).length, 0);
    });
  }

  it('parks an amount that Adyen cannot express, unsent', async () => {
    const id = newOrderId();
    await stage.publish(orderJson(id, { chargeAmount: '1500.50', currency: 'IDR' }));
    assert.equal(await parked(id), 'review');
    assert.equal((await stage.gateway.requests(id)).length, 0);
  });

  it('ends with an empty queue', async () => {
    await stage.endAndExpectEmptyQueue(worker);
  });
});

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
