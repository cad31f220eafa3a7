/** Cards that travel sealed: from upstream, and in the copies that the worker makes itself. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { CompactEncrypt, compactDecrypt, importJWK } from 'jose';
import { levelQueueOf } from '../../src/adapters/rabbitmq/declare.ts';
import { publicPart, rsaKey } from '../jose/keys.ts';
import type { Received } from '../support/broker-client.ts';
import { waitFor } from '../support/wait-for.ts';
import type { ParkedOrder } from './parked-orders.ts';
import { newOrderId, openStage, orderJson, suiteOwner, type Stage } from './stage.ts';

const CARD = '4242424242424242';
/** So long that practically every jittered wait is longer than what is held in process. */
const LEVEL_MS = 40_000_000;

describe('sealed cards', { concurrency: false }, () => {
  const owner = suiteOwner();
  const key = rsaKey();
  let stage: Stage;

  before(async () => {
    stage = await openStage(owner);
  });

  const withKey = {
    CARDAUTH_CARD_KEY: JSON.stringify(key),
    CARDAUTH_RETRY_LEVELS_MS: String(LEVEL_MS),
    CARDAUTH_MAX_ATTEMPTS: '1',
  };

  it('from upstream are authorized exactly, and are the same order as in clear', async () => {
    const worker = await stage.startWorker(withKey);
    const id = newOrderId();
    await stage.publish(await sealedOrder(id));
    assert.equal((await stage.announced(id)).status, 'ready-to-ship');
    const [approval] = await stage.gateway.approvals(id);
    assert.equal(approval?.cardDigest, digest(CARD));
    assert.equal(approval.cvcDigest, digest('012'));
    assert.deepEqual([approval.expMonth, approval.expYear], [12, 2034]);

    await stage.publish(orderJson(id, { creditCardCode: 12 }), await sealedOrder(id));
    await waitFor('two more announcements', () => stage.receiptsOf(id).length === 3);
    assert.equal((await stage.gateway.requests(id)).length, 1);

    await stage.publish(await sealedOrder(id, { creditCardNumber: '5555555555554444' }));
    assert.equal((await parked()).row.reason, 'order_conflict');
    await stage.endAndExpectEmptyQueue(worker);
  });

  it('that nobody can open are parked as they came, without a claim', async () => {
    const worker = await stage.startWorker(withKey);
    const id = newOrderId();
    const body = await sealedOrder(id, {}, rsaKey());
    await stage.publish(body);
    const copy = await parked();
    assert.equal(copy.row.reason, 'card_unreadable');
    assert.equal(copy.row.order_id, id);
    assert.equal(copy.row.replayable, true);
    assert.equal(copy.body.toString(), body);
    assert.equal(await stage.order(id), undefined);
    await stage.endAndExpectEmptyQueue(worker);
  });

  it('are parked as they came by a worker without a key, for one with a key to go on with', async () => {
    const worker = await stage.startWorker();
    const id = newOrderId();
    await stage.publish(await sealedOrder(id));
    const copy = await parked();
    assert.equal(copy.row.reason, 'card_unreadable');
    assert.equal(copy.row.replay_from, 'unsealed-queue');
    await stage.endAndExpectEmptyQueue(worker);

    const next = await stage.startWorker(withKey);
    await stage.publish(copy.body.toString());
    assert.equal((await stage.announced(id)).status, 'ready-to-ship');
    await stage.endAndExpectEmptyQueue(next);
  });

  it('in a retry copy make the same request under the same key', async () => {
    const worker = await stage.startWorker(withKey);
    const id = newOrderId();
    await stage.gateway.setFaults([
      { match: { orderId: id }, fault: { kind: 'charge-then-drop' }, times: 1 },
    ]);
    const body = `{"id":"${id}","note":1.50,"customerId":9007199254740993,"creditCardNumber":${CARD},"creditCardExpiration":122034,"creditCardCode":12,"chargeAmount":42.230}`;
    await stage.publish(body);
    const copy = await takenFromLevel();
    assertNoCard(copy);
    const [text, card] = split(copy);
    assert.equal(
      text,
      `{"id":"${id}","note":1.50,"customerId":9007199254740993,"chargeAmount":42.230,"card":""}`,
    );
    assert.equal(
      await opened(card),
      `{"creditCardNumber":${CARD},"creditCardExpiration":122034,"creditCardCode":12}`,
    );

    await comeBack(copy);
    assert.equal((await stage.announced(id)).status, 'ready-to-ship');
    const requests = await stage.gateway.requests(id);
    assert.deepEqual(
      requests.map(({ idempotencyKey, replayed }) => [idempotencyKey, replayed]),
      [
        [`order-${id}-1`, false],
        [`order-${id}-1`, true],
      ],
      'the gateway replays its answer to an equal request only',
    );
    assert.equal((await stage.gateway.approvals(id)).length, 1);
    await stage.endAndExpectEmptyQueue(worker);
  });

  it('lose their CVV once there is a verdict, in retry and parked copies, and are announced all the same', async () => {
    const nowhere = `${stage.broker.prefix}.nowhere`;
    await stage.client.declareExchange(nowhere);
    const worker = await stage.startWorker({ ...withKey, CARDAUTH_NOTIFICATIONS_EXCHANGE: nowhere });
    const id = newOrderId();
    await stage.publish(await sealedOrder(id));
    const copy = await takenFromLevel();
    assertNoCard(copy);
    const stripped = `{"creditCardNumber":"${CARD}","creditCardExpiration":"122034","cvvRemoved":true}`;
    assert.equal(await opened(split(copy)[1]), stripped);

    await comeBack(copy);
    const last = await parked();
    assert.equal(last.row.reason, 'replays_exhausted');
    assert.equal(last.row.card_last4, CARD.slice(-4));
    assertNoCard(last);
    assert.equal(await opened(split(last)[1]), stripped);

    const announced = await stage.client.collect(nowhere);
    await stage.publish(last.body.toString());
    assert.equal((await stage.announced(id)).status, 'ready-to-ship');
    assert.equal(announced.length, 1);
    assert.equal((await stage.gateway.requests(id)).length, 1);
    await stage.endAndExpectEmptyQueue(worker);
    await stage.client.deleteExchange(nowhere);
  });

  it('in a parked copy have no CVV after the gateway sent the order to review', async () => {
    const worker = await stage.startWorker(withKey);
    const id = newOrderId();
    await stage.gateway.setFaults([{ match: { orderId: id }, fault: { kind: 'wrong-amount' } }]);
    await stage.publish(orderJson(id));
    const copy = await parked();
    assert.equal(copy.row.reason, 'review');
    assertNoCard(copy);
    assert.match(await opened(split(copy)[1]), /"cvvRemoved":true/);
    await stage.endAndExpectEmptyQueue(worker);
    await stage.client.deleteQueue(levelQueue());
  });

  function levelQueue(): string {
    return levelQueueOf(stage.broker.prefix, stage.broker.ordersQueue, LEVEL_MS);
  }

  /** The copy on its level, hours before its time; the order's own delivery is settled by then. */
  function takenFromLevel(): Promise<Received> {
    return waitFor('a retry copy', () => stage.client.take(levelQueue()));
  }

  /** What the broker does when the copy's time has come. */
  function comeBack({ body, headers }: Received): Promise<void> {
    return stage.client.publish({ routingKey: stage.broker.ordersQueue, body, properties: { headers } });
  }

  function parked(): Promise<ParkedOrder> {
    return stage.parked.next(key);
  }

  async function sealedOrder(
    id: string,
    change: Readonly<Record<string, unknown>> = {},
    upstreamsKey = key,
  ): Promise<string> {
    const content = {
      creditCardNumber: CARD,
      creditCardExpiration: '122034',
      creditCardCode: '012',
      ...change,
    };
    const card = await new CompactEncrypt(Buffer.from(JSON.stringify(content)))
      .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM' })
      .encrypt(await importJWK(publicPart(upstreamsKey), 'RSA-OAEP-256'));
    return JSON.stringify({ id, customerId: 5678, card, chargeAmount: 42.23 });
  }

  async function opened(jwe: string): Promise<string> {
    const { plaintext } = await compactDecrypt(jwe, await importJWK(key, 'RSA-OAEP-256'));
    return Buffer.from(plaintext).toString();
  }
});

/** The body without the sealed card, and the sealed card. */
function split({ body }: Pick<Received, 'body'>): [text: string, card: string] {
  const text = body.toString();
  const card = /"card":"([^"]+)"/.exec(text)?.[1] ?? '';
  return [text.replace(card, ''), card];
}

function assertNoCard(copy: Received | ParkedOrder): void {
  const rest = 'row' in copy ? { ...copy.row, body: undefined } : copy.headers;
  const text = copy.body.toString() + JSON.stringify(rest);
  assert.ok(!text.includes(CARD) && !text.includes('creditCard'), 'a card in clear');
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
