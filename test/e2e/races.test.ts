/** The races of the payments design, against real processes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { basicAck, isMethod } from '../support/amqp-frames.ts';
import { startAmqpProxy } from '../support/tcp-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { lockOrder } from './held-lock.ts';
import { newOrderId, openStage, orderJson, type Stage } from './stage.ts';

describe('races', { concurrency: false }, () => {
  it('stale delivery tag: another order that holds the tag on the new channel is still there and gets processed', async (t) => {
    const stage = await openStage(t);
    const proxy = await startAmqpProxy({ target: stage.broker.url });
    t.after(() => proxy.close());
    const [first, second] = [newOrderId(), newOrderId()];
    await stage.gateway.setFaults([
      { match: { orderId: first }, fault: { kind: 'hold' } },
      { match: { orderId: second }, fault: { kind: 'delay', ms: 4_000 }, times: 1 },
    ]);
    const worker = await stage.startWorker({ AMQP_URL: proxy.url });
    await stage.publish(orderJson(first));
    await waitFor(
      'the charge to be in flight',
      async () => (await stage.gateway.approvals(first)).length === 1,
    );

    // The connection dies with tag 1 in work; somebody else gets that message, and the next order becomes tag 1.
    await proxy.refuse();
    proxy.cut();
    await waitFor('the first message to be back', () => stage.client.take(stage.broker.ordersQueue));
    await stage.publish(orderJson(second));
    await proxy.accept();
    await waitFor(
      'the second order to be in work',
      async () => (await stage.order(second))?.status === 'authorizing',
      {
        timeoutMs: 30_000,
      },
    );

    let acks = 0;
    proxy.rule('toServer', (frame) => {
      if (isMethod(frame, basicAck)) acks += 1;
      return 'pass';
    });
    await stage.gateway.release();
    await stage.announced(first);
    await worker.waitForLine('stale');
    assert.equal(acks, 0, 'an ack for the dead channel was written on its successor');
    worker.kill('SIGKILL');
    await worker.exited;
    await waitFor(
      'the second order to be on the queue again',
      async () => (await counts(stage))?.ready === 1,
    );

    // Its first request may still hold the key at the gateway for a while.
    const next = await stage.startWorker({ CARDAUTH_MAX_ATTEMPTS: '50' });
    await stage.announced(second);
    assert.equal((await stage.gateway.approvals(second)).length, 1);
    await stage.endAndExpectEmptyQueue(next);
  });

  for (const workers of [1, 2]) {
    it(`the same order twice at once, on ${workers === 1 ? 'one worker' : 'two workers'}: one charge`, async (t) => {
      const stage = await openStage(t);
      await stage.gateway.setFaults([{ fault: { kind: 'delay', ms: 400 } }]);
      const running = [];
      for (let n = 0; n < workers; n += 1) running.push(await stage.startWorker());
      const ids = Array.from({ length: 20 }, newOrderId);
      for (const id of ids) await stage.publish(orderJson(id), orderJson(id));
      for (const id of ids) {
        assert.equal((await stage.announced(id)).status, 'ready-to-ship');
        assert.equal((await stage.gateway.approvals(id)).length, 1);
        assert.equal((await stage.gateway.requests(id)).length, 1);
        await waitFor('both copies to announce', () => stage.receiptsOf(id).length === 2);
      }
      for (const worker of running) await stage.endAndExpectEmptyQueue(worker);
    });
  }

  it('a charge slower than the message timeout: one charge, its result recorded, the replay notifies', async (t) => {
    const stage = await openStage(t);
    const id = newOrderId();
    await stage.gateway.setFaults([{ fault: { kind: 'hold' }, times: 1 }]);
    const worker = await stage.startWorker({
      CARDAUTH_GATEWAY_TIMEOUT_MS: '2000',
      CARDAUTH_LEASE_MS: '5000',
      CARDAUTH_MESSAGE_TIMEOUT_MS: '6000',
    });
    await stage.publish(orderJson(id));
    await waitFor('the charge', async () => (await stage.gateway.approvals(id)).length === 1);
    // The answer is there in time, but writing it down takes longer than the tree lives.
    const lock = await lockOrder(stage, id);
    await stage.gateway.release();
    await worker.waitForLine((line) => line.text.includes('"timeout"') && line.text.includes(id));
    assert.equal((await stage.order(id))?.status, 'authorizing');
    await lock.release();

    const order = await stage.announced(id, { timeoutMs: 30_000 });
    assert.equal(order.status, 'ready-to-ship');
    assert.equal((await stage.gateway.approvals(id)).length, 1);
    const keys = (await stage.gateway.requests(id)).map((request) => request.idempotencyKey);
    assert.deepEqual(new Set(keys), new Set([`order-${id}-1`]));
    await stage.endAndExpectEmptyQueue(worker);
  });

  it('SIGTERM under load: exit 0, nothing lost, in-flight charges recorded', async (t) => {
    const stage = await openStage(t);
    await stage.gateway.setFaults([{ fault: { kind: 'delay', ms: 300 } }]);
    const ids = Array.from({ length: 200 }, newOrderId);
    await stage.publish(...ids.map((id) => orderJson(id)));
    const worker = await stage.startWorker({ CARDAUTH_MAX_SPOUT_PENDING: '50' });
    await waitFor('charges in flight', async () =>
      (await stage.gateway.requests()).some(({ state }) => state === 'open'),
    );
    worker.kill('SIGTERM');
    assert.deepEqual(await worker.exited, { code: 0, signal: null });

    const { rows } = await stage.database.query<{ status: string }>(
      'select distinct status from cardauth.orders',
    );
    assert.deepEqual(rows, [{ status: 'ready-to-ship' }]);
    const done = new Set(stage.receipts.map(({ properties }) => properties.correlationId as string));
    assert.ok(
      done.size > 0 && done.size < ids.length,
      `${done.size} of ${ids.length} orders were done at SIGTERM`,
    );
    await waitFor('the rest to be back', async () => (await counts(stage))?.ready === ids.length - done.size);

    const next = await stage.startWorker();
    for (const id of ids) {
      assert.equal((await stage.announced(id)).status, 'ready-to-ship');
      assert.equal((await stage.gateway.approvals(id)).length, 1);
    }
    await stage.endAndExpectEmptyQueue(next);
  });
});

function counts(stage: Stage) {
  return stage.client.counts(stage.broker.ordersQueue);
}
