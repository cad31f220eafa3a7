/** Soft declines with the policy on, through running workers: tried again later, within limits, and never early. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { waitFor } from '../support/wait-for.ts';
import { newOrderId, openStage, orderJson, type OrderRow, type Stage } from './stage.ts';

const RETRYING = { CARDAUTH_SOFT_DECLINE_RETRY: 'on', CARDAUTH_SOFT_DECLINE_WAITS_MS: '1500,2500' };
const declines = (orderId: string, times?: number) => ({
  match: { orderId },
  fault: { kind: 'decline', declineCode: 'insufficient_funds', adviceCode: 'try_again_later' } as const,
  ...(times === undefined ? {} : { times }),
});

describe('soft declines', { concurrency: false }, () => {
  it('twice, then approved: three keys, one hold, one announcement, and no try before its time', async (t) => {
    const stage = await openStage(t);
    const id = newOrderId();
    await stage.gateway.setFaults([declines(id, 2)]);
    const worker = await stage.startWorker(RETRYING);
    await stage.publish(orderJson(id));
    await waitingForTry(stage, id, 1);
    assert.equal(stage.receiptsOf(id).length, 0, 'announced while it waits');

    // Another copy of the order comes early and waits just the same.
    await stage.publish(orderJson(id));
    const order = await stage.announced(id);
    assert.deepEqual([order.status, order.generation], ['ready-to-ship', 3]);
    await tookTries(stage, id, [1_500, 2_500]);
    const [approval, ...more] = await stage.gateway.approvals(id);
    assert.equal(approval?.authorizationId, order.gateway_reference);
    assert.equal(approval.cvcLength, 0, 'a CVV was kept after a verdict');
    assert.deepEqual(more, []);
    await waitFor('both copies to announce', () => stage.receiptsOf(id).length === 2);
    const eventIds = stage.receiptsOf(id).map(({ properties }) => properties.messageId as string);
    assert.deepEqual(new Set(eventIds), new Set([`order-${id}-ready-to-ship-3`]));
    await stage.endAndExpectEmptyQueue(worker);
  });

  it('for as long as there are waits, then denied', async (t) => {
    const stage = await openStage(t);
    const id = newOrderId();
    await stage.gateway.setFaults([declines(id)]);
    const worker = await stage.startWorker(RETRYING);
    await stage.publish(orderJson(id));
    const order = await stage.announced(id);
    assert.deepEqual([order.status, order.status_reason, order.generation], ['denied', 'card_declined', 3]);
    await tookTries(stage, id, [1_500, 2_500]);
    assert.equal((await stage.gateway.approvals(id)).length, 0);
    assert.deepEqual(
      stage.receiptsOf(id).map(({ properties }) => properties.messageId as string),
      [`order-${id}-denied-3`],
    );
    await stage.endAndExpectEmptyQueue(worker);
  });

  it('the wait survives the worker’s death, and a message that comes back at once', async (t) => {
    const stage = await openStage(t);
    const id = newOrderId();
    await stage.gateway.setFaults([declines(id, 1)]);
    const worker = await stage.startWorker(RETRYING);
    await stage.publish(orderJson(id));
    await waitingForTry(stage, id, 1);
    worker.kill('SIGKILL');
    await worker.exited;

    const next = await stage.startWorker(RETRYING);
    const order = await stage.announced(id);
    assert.deepEqual([order.status, order.generation], ['ready-to-ship', 2]);
    await tookTries(stage, id, [1_500]);
    await stage.endAndExpectEmptyQueue(next);
  });

  it('the policy is switched off meanwhile: denied as soon as its message is looked at', async (t) => {
    const stage = await openStage(t);
    const id = newOrderId();
    await stage.gateway.setFaults([declines(id)]);
    const worker = await stage.startWorker({ ...RETRYING, CARDAUTH_SOFT_DECLINE_WAITS_MS: '86400000' });
    await stage.publish(orderJson(id));
    await waitingForTry(stage, id, 1);
    worker.kill('SIGTERM');
    await worker.exited;

    const next = await stage.startWorker();
    const order = await stage.announced(id);
    assert.deepEqual([order.status, order.status_reason, order.generation], ['denied', 'card_declined', 1]);
    assert.equal((await stage.gateway.requests(id)).length, 1);
    await stage.endAndExpectEmptyQueue(next);
  });

  for (const [what, body, generation] of [
    ['a hard decline', { creditCardNumber: '4000000000009987' }, 1],
    ['a card that must be authenticated', { creditCardNumber: '4000002500003155' }, 1],
    ['a wrong CVV', { creditCardNumber: '4000000000000127' }, 1],
    ['insufficient funds for good', { creditCardNumber: '4000000000009995' }, 2],
  ] as const) {
    it(`${what}: ${generation === 1 ? 'denied at once' : 'tried once more'}`, async (t) => {
      const stage = await openStage(t);
      const id = newOrderId();
      const worker = await stage.startWorker({ ...RETRYING, CARDAUTH_SOFT_DECLINE_WAITS_MS: '200' });
      await stage.publish(orderJson(id, body));
      const order = await stage.announced(id);
      assert.deepEqual([order.status, order.generation], ['denied', generation]);
      assert.equal((await stage.gateway.requests(id)).length, generation);
      await stage.endAndExpectEmptyQueue(worker);
    });
  }
});

function waitingForTry(stage: Stage, id: string, generation: number): Promise<OrderRow> {
  return waitFor(`order ${id} to wait for its next try`, async () => {
    const row = await stage.order(id);
    const waits = row?.status === 'received' && row.status_reason === 'soft_decline_retry';
    return waits && row.generation === generation ? row : undefined;
  });
}

/** One request a generation, each with the key of its own, and at least the given waits between them. */
async function tookTries(stage: Stage, id: string, waitsMs: readonly number[]): Promise<void> {
  const requests = await stage.gateway.requests(id);
  const keys = requests.map(({ idempotencyKey }) => idempotencyKey);
  assert.deepEqual(
    keys,
    [0, ...waitsMs].map((_, index) => `order-${id}-${index + 1}`),
  );
  for (const [index, waitMs] of waitsMs.entries()) {
    const [before, after] = requests.slice(index, index + 2).map(({ at }) => Date.parse(at));
    assert.ok((after ?? 0) - (before ?? 0) >= waitMs, `try ${index + 2} came too early`);
  }
}
