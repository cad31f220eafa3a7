/** A message that comes up again a day later, when the gateway may have forgotten the key: nothing is sent a second time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FaultScript } from '../../src/simulator/fault-script.ts';
import { waitFor } from '../support/wait-for.ts';
import { newOrderId, openStage, orderJson, type Owner, type Stage } from './stage.ts';

/** The gateway is asked soon, and often enough to be believed. */
const ENVIRONMENT = { CARDAUTH_INQUIRY_WAITS_MS: '100,300,500' };

describe('a message that resurfaces 25 h later', { concurrency: false }, () => {
  it('is announced again when its order was decided, and the gateway is asked nothing', async (t) => {
    const stage = await openStage(t);
    const orderId = newOrderId();
    const worker = await stage.startWorker();
    await stage.publish(orderJson(orderId));
    await stage.announced(orderId);
    await aDayGoesBy(stage, orderId);
    const asked = (await stage.gateway.requests()).length;
    await stage.publish(orderJson(orderId));
    await waitFor('the second announcement', () => stage.receiptsOf(orderId).length === 2);
    assert.equal((await stage.gateway.requests()).length, asked);
    const events = stage.receiptsOf(orderId).map(({ properties }) => properties.messageId as string);
    assert.deepEqual(new Set(events), new Set([`order-${orderId}-ready-to-ship-1`]));
    await stage.endAndExpectEmptyQueue(worker);
  });

  it('is settled by asking when it was charged and nobody heard the answer', async (t) => {
    const { orderId, stage } = await unheard(t, [{ fault: { kind: 'hold' }, times: 1 }]);
    const worker = await stage.startWorker(ENVIRONMENT);
    assert.equal((await stage.announced(orderId, { timeoutMs: 60_000 })).status, 'ready-to-ship');
    assert.equal((await stage.gateway.approvals(orderId)).length, 1);
    await noSecondCharge(stage, orderId);
    worker.kill('SIGTERM');
    await worker.exited;
  });

  it('is with a person when the gateway knows of no charge: it may have forgotten the key', async (t) => {
    const { orderId, stage } = await unheard(t, [{ fault: { kind: 'hold-before-charge' }, times: 1 }]);
    const worker = await stage.startWorker(ENVIRONMENT);
    const order = await waitFor(
      'the order to be in review',
      async () => {
        const row = await stage.order(orderId);
        return row?.status === 'review' ? row : undefined;
      },
      { timeoutMs: 60_000 },
    );
    assert.equal(order.status_reason, 'key_window_passed');
    assert.equal((await stage.gateway.approvals(orderId)).length, 0);
    await noSecondCharge(stage, orderId);
    worker.kill('SIGTERM');
    await worker.exited;
  });
});

/** An order that was sent by a worker that died before it heard the answer, a day ago; its message is on the queue. */
async function unheard(owner: Owner, faults: FaultScript): Promise<{ orderId: string; stage: Stage }> {
  const stage = await openStage(owner);
  const orderId = newOrderId();
  await stage.gateway.setFaults(faults);
  const worker = await stage.startWorker();
  await stage.publish(orderJson(orderId));
  await waitFor('the request', async () => (await stage.gateway.requests(orderId)).length === 1);
  worker.kill('SIGKILL');
  await worker.exited;
  await aDayGoesBy(stage, orderId);
  await stage.gateway.setFaults([]);
  return { orderId, stage };
}

async function aDayGoesBy(stage: Stage, orderId: string): Promise<void> {
  const { rowCount } = await stage.database.query(
    `update cardauth.attempts set
       key_used_since = key_used_since - interval '25 h',
       lease_until = lease_until - interval '25 h',
       created_at = created_at - interval '25 h'
     where order_id = $1`,
    [orderId],
  );
  assert.equal(rowCount, 1);
}

async function noSecondCharge(stage: Stage, orderId: string): Promise<void> {
  const charges = (await stage.gateway.requests(orderId)).filter(({ method }) => method === 'POST');
  assert.equal(charges.length, 1, 'the card was charged once more, or tried to be');
}
