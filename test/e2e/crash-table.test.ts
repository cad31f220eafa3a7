/**
 * The crash table of ARCHITECTURE.md: the real worker process is killed with SIGKILL at each row, restarted, and the end is
 * checked. Nothing inside the worker helps: a row is reached by holding one frame, one database row or one answer from
 * outside, and recognized by what is durable then.
 */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { basicAck, basicPublish, isMethod, type AmqpFrame } from '../support/amqp-frames.ts';
import { startAmqpProxy, startProxy, type Proxy } from '../support/tcp-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { lockOrder, lockOrders } from './held-lock.ts';
import { newOrderId, openStage, orderJson, type Stage } from './stage.ts';

describe('crash table', { concurrency: false }, () => {
  it('C0: delivery arrived', async (t) => {
    const { stage, id } = await setUp(t);
    const lock = await lockOrders(stage);
    const worker = await stage.startWorker();
    await stage.publish(orderJson(id));
    await lock.somebodyWaits();
    await kill(worker);
    await lock.releaseAfterKill();

    assert.equal(await stage.order(id), undefined);
    await waitFor(
      'the message to be back',
      async () => (await stage.client.counts(stage.broker.ordersQueue))?.ready === 1,
    );
    await restartAndExpect(stage, id, { requests: 1, receipts: 1 });
  });

  it('C1: order admitted', async (t) => {
    const { stage, id } = await setUp(t);
    await stage.gateway.stop();
    const worker = await stage.startWorker();
    await stage.publish(orderJson(id));
    // By then the worker leaves the order alone for four seconds; before, it would claim it again and again.
    await worker.waitForLine('"delayMs":4000');
    await waitFor('the claim to be given back', async () => (await stage.order(id))?.status === 'received');
    await kill(worker);

    assert.equal((await stage.order(id))?.status, 'received');
    await stage.gateway.start();
    await restartAndExpect(stage, id, { requests: 1, receipts: 1 });
  });

  it('C2: attempt recorded', async (t) => {
    const { stage, id } = await setUp(t);
    const proxy = await startProxy({ target: stage.gateway.url });
    t.after(() => proxy.close());
    proxy.freeze('toServer');
    const worker = await stage.startWorker({ CARDAUTH_GATEWAY_URL: proxy.url });
    await stage.publish(orderJson(id));
    await waitFor('the attempt', async () => (await stage.order(id))?.status === 'authorizing');
    await kill(worker);
    proxy.cut();

    assert.equal((await stage.order(id))?.status, 'authorizing');
    assert.equal((await stage.gateway.requests(id)).length, 0);
    await restartAndExpect(stage, id, { requests: 1, receipts: 1 });
  });

  it('C3: gateway asked, no answer', async (t) => {
    const { stage, id } = await setUp(t);
    await stage.gateway.setFaults([{ fault: { kind: 'hold' }, times: 1 }]);
    const worker = await stage.startWorker();
    await stage.publish(orderJson(id));
    await waitFor(
      'the approval at the gateway',
      async () => (await stage.gateway.approvals(id)).length === 1,
    );
    await kill(worker);

    assert.equal((await stage.order(id))?.status, 'authorizing');
    await restartAndExpect(stage, id, { requests: 2, receipts: 1 });
  });

  it('C4: answer heard, not recorded', async (t) => {
    const { stage, id } = await setUp(t);
    await stage.gateway.setFaults([{ fault: { kind: 'hold' }, times: 1 }]);
    const worker = await stage.startWorker();
    await stage.publish(orderJson(id));
    await waitFor(
      'the approval at the gateway',
      async () => (await stage.gateway.approvals(id)).length === 1,
    );
    const lock = await lockOrder(stage, id);
    await stage.gateway.release();
    await lock.somebodyWaits();
    await kill(worker);
    await lock.releaseAfterKill();

    assert.equal((await stage.order(id))?.status, 'authorizing');
    await restartAndExpect(stage, id, { requests: 2, receipts: 1 });
  });

  it('C5: outcome recorded', async (t) => {
    const { stage, id, proxy } = await setUpWithBrokerProxy(t);
    proxy.rule('toServer', (frame) => (isNotification(frame, stage) ? 'hold' : 'pass'));
    const worker = await stage.startWorker({ AMQP_URL: proxy.url });
    await stage.publish(orderJson(id));
    await proxy.held();
    await kill(worker);
    proxy.cut();

    assert.equal((await stage.order(id))?.status, 'ready-to-ship');
    assert.equal(stage.receiptsOf(id).length, 0);
    await restartAndExpect(stage, id, { requests: 1, receipts: 1 });
  });

  it('C6: downstream notified', async (t) => {
    const { stage, id, proxy } = await setUpWithBrokerProxy(t);
    proxy.rule('toServer', (frame) => (isNotification(frame, stage) ? 'hold' : 'pass'));
    const worker = await stage.startWorker({ AMQP_URL: proxy.url });
    await stage.publish(orderJson(id));
    await proxy.held();
    const lock = await lockOrder(stage, id);
    proxy.release();
    await lock.somebodyWaits();
    await waitFor('the receipt', () => stage.receiptsOf(id).length === 1);
    await kill(worker);
    await lock.releaseAfterKill();

    assert.equal((await stage.order(id))?.notified_at, null);
    await restartAndExpect(stage, id, { requests: 1, receipts: 2 });
  });

  it('C7: notification marked', async (t) => {
    const { stage, id, proxy } = await setUpWithBrokerProxy(t);
    proxy.rule('toServer', (frame) => (isMethod(frame, basicAck) ? 'hold' : 'pass'));
    const worker = await stage.startWorker({ AMQP_URL: proxy.url });
    await stage.publish(orderJson(id));
    await proxy.held();
    assert.notEqual((await stage.order(id))?.notified_at, null);
    await kill(worker);
    proxy.cut();
    await restartAndExpect(stage, id, { requests: 1, receipts: 2 });
  });

  it('C8: acked, the ack frame lost', async (t) => {
    const { stage, id, proxy } = await setUpWithBrokerProxy(t);
    let lost = 0;
    proxy.rule('toServer', (frame) => {
      if (!isMethod(frame, basicAck)) return 'pass';
      lost += 1;
      return 'drop';
    });
    const worker = await stage.startWorker({ AMQP_URL: proxy.url });
    await stage.publish(orderJson(id));
    await waitFor('the ack to be lost', () => lost === 1);
    await kill(worker);
    await restartAndExpect(stage, id, { requests: 1, receipts: 2 });
  });

  it('C9: replays exhausted', async (t) => {
    const { stage, id } = await setUp(t);
    await stage.gateway.setFaults([{ fault: { kind: 'charge-then-drop' } }]);
    const worker = await stage.startWorker({ CARDAUTH_MAX_ATTEMPTS: '2' });
    await stage.publish(orderJson(id));
    const parked = await stage.parked.next(undefined, { timeoutMs: 30_000 });
    assert.equal(parked.row.reason, 'replays_exhausted');
    assert.equal(parked.message?.headers['cardauth-park-reason'], 'replays_exhausted');
    assert.equal(parked.body.toString(), orderJson(id));
    await worker.waitForLine('order parked');
    await kill(worker);

    assert.equal((await stage.order(id))?.status, 'authorization-unknown');
    assert.equal((await stage.gateway.approvals(id)).length, 1);
    // An operator puts the copy back once the gateway answers again: the same key finds the approval.
    await stage.gateway.setFaults([]);
    await stage.publish(parked.body.toString());
    await restartAndExpect(stage, id, {});
  });
});

async function setUp(t: TestContext): Promise<{ stage: Stage; id: string }> {
  return { stage: await openStage(t), id: newOrderId() };
}

async function setUpWithBrokerProxy(
  t: TestContext,
): Promise<{ stage: Stage; id: string; proxy: Proxy<AmqpFrame> }> {
  const stage = await openStage(t);
  const proxy = await startAmqpProxy({ target: stage.broker.url });
  t.after(() => proxy.close());
  return { stage, id: newOrderId(), proxy };
}

async function kill(worker: WorkerProcess): Promise<void> {
  worker.kill('SIGKILL');
  assert.equal((await worker.exited).signal, 'SIGKILL');
}

/** A new worker finishes the order: one approval in the ledger, one key, the right status, announced, acked. */
async function restartAndExpect(
  stage: Stage,
  id: string,
  expected: { requests?: number; receipts?: number },
): Promise<void> {
  const worker = await stage.startWorker();
  await stage.announced(id);
  await waitFor('the announcements', () => stage.receiptsOf(id).length >= (expected.receipts ?? 1));
  await stage.endAndExpectEmptyQueue(worker);

  const approvals = await stage.gateway.approvals(id);
  const order = await stage.order(id);
  assert.equal(approvals.length, 1);
  assert.equal(order?.status, 'ready-to-ship');
  assert.equal(order.gateway_reference, approvals[0]?.authorizationId);

  const requests = await stage.gateway.requests(id);
  if (expected.requests !== undefined) assert.equal(requests.length, expected.requests);
  assert.deepEqual(new Set(requests.map((request) => request.idempotencyKey)), new Set([`order-${id}-1`]));

  const receipts = stage.receiptsOf(id);
  if (expected.receipts !== undefined) assert.equal(receipts.length, expected.receipts);
  const eventIds = receipts.map(({ properties }) => properties.messageId as string);
  assert.deepEqual(new Set(eventIds), new Set([`order-${id}-ready-to-ship-1`]));
}

function isNotification(frame: AmqpFrame, stage: Stage): boolean {
  return isMethod(frame, basicPublish) && frame.payload.includes(stage.broker.exchange);
}
