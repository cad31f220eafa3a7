import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { before, describe, it } from 'node:test';
import type { WorkerProcess } from '../support/worker-process.ts';
import { waitFor } from '../support/wait-for.ts';
import { newOrderId, openStage, orderJson, suiteOwner, type Stage } from './stage.ts';

const CANONICAL =
  '{"id":1234,"customerId":5678,"creditCardNumber":1111222233334444,"creditCardExpiration":"012014",' +
  '"creditCardCode":123,"chargeAmount":42.23}';

describe('the main path', { concurrency: false }, () => {
  const owner = suiteOwner();
  let stage: Stage;
  let worker: WorkerProcess;

  before(async () => {
    stage = await openStage(owner);
    worker = await stage.startWorker();
  });

  it('authorizes the canonical order, byte for byte, and announces it', async () => {
    await stage.publish(CANONICAL);
    const order = await stage.announced('1234');
    assert.equal(order.status, 'ready-to-ship');
    assert.equal(order.amount_minor, '4223');
    assert.equal(order.currency, 'USD');
    assert.equal(order.customer_id, '5678');

    const [approval, ...more] = await stage.gateway.approvals('1234');
    assert.ok(approval);
    assert.deepEqual(more, []);
    assert.equal(approval.amountMinor, 4223);
    assert.equal(approval.idempotencyKey, 'order-1234-1');
    assert.equal(approval.cardDigest, digest('1111222233334444'));
    assert.equal(approval.cvcDigest, digest('123'));
    assert.deepEqual([approval.expMonth, approval.expYear], [1, 2014]);

    const [receipt] = stage.receiptsOf('1234');
    assert.ok(receipt);
    assert.equal(receipt.routingKey, 'order.ready-to-ship');
    assert.equal(receipt.properties.messageId, 'order-1234-ready-to-ship-1');
    assert.equal(receipt.properties.type, 'order.processed.v1');
    assert.equal(receipt.properties.contentType, 'application/json');
    assert.equal(receipt.properties.deliveryMode, 2);
    assert.equal(receipt.headers['cloudEvents:id'], 'order-1234-ready-to-ship-1');
    const { occurredAt, authorizationExpiresAt, ...body } = JSON.parse(receipt.body.toString()) as Record<
      string,
      string
    >;
    assert.deepEqual(body, {
      orderId: '1234',
      customerId: '5678',
      status: 'ready-to-ship',
      reason: null,
      amountMinor: '4223',
      currency: 'USD',
      authorizationId: approval.authorizationId,
    });
    // 4 days and 18 hours, as the simulator says of every hold.
    const heldForMs = Date.parse(authorizationExpiresAt ?? '') - Date.parse(occurredAt ?? '');
    assert.ok(Math.abs(heldForMs - 114 * 3_600_000) < 60_000, `held for ${heldForMs} ms`);
    assert.match(occurredAt ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  const exact: { name: string; id: string; body: string; card: string; cvv: string }[] = [
    {
      name: 'a 19-digit card number sent as a JSON number',
      id: '20001',
      card: '6205500000000000004',
      cvv: '123',
      body: '{"id":20001,"customerId":1,"creditCardNumber":6205500000000000004,"creditCardExpiration":"122034","creditCardCode":123,"chargeAmount":1.00}',
    },
    {
      name: 'the CVV 012 that lost its zero',
      id: '20002',
      card: '4242424242424242',
      cvv: '012',
      body: '{"id":20002,"customerId":1,"creditCardNumber":4242424242424242,"creditCardExpiration":"122034","creditCardCode":12,"chargeAmount":1.00}',
    },
    {
      name: 'the CVV 000 that became 0',
      id: '20003',
      card: '4242424242424242',
      cvv: '000',
      body: '{"id":20003,"customerId":1,"creditCardNumber":4242424242424242,"creditCardExpiration":"122034","creditCardCode":0,"chargeAmount":1.00}',
    },
    {
      name: 'the largest order id',
      id: '9223372036854775807',
      card: '378282246310005',
      cvv: '0123',
      body: '{"id":9223372036854775807,"customerId":9007199254740993,"creditCardNumber":378282246310005,"creditCardExpiration":"122034","creditCardCode":123,"chargeAmount":1.00}',
    },
  ];
  for (const { name, id, body, card, cvv } of exact) {
    it(`carries exactly: ${name}`, async () => {
      await stage.publish(body);
      assert.equal((await stage.announced(id)).status, 'ready-to-ship');
      const [approval] = await stage.gateway.approvals(id);
      assert.equal(approval?.cardDigest, digest(card));
      assert.equal(approval.cvcDigest, digest(cvv));
      assert.equal(stage.receiptsOf(id).length, 1);
    });
  }

  it('passes a customer id beyond 2^53 through exactly', async () => {
    assert.equal((await stage.order('9223372036854775807'))?.customer_id, '9007199254740993');
  });

  const declines: [string, string][] = [
    ['4000000000000002', 'card_declined'],
    ['4000000000009995', 'card_declined'],
    ['4000000000009987', 'card_declined'],
    ['4000000000000069', 'card_declined'],
    ['4000002500003155', 'authentication_required'],
  ];
  for (const [card, reason] of declines) {
    it(`denies the published card ending in ${card.slice(-4)}: ${reason}`, async () => {
      const id = newOrderId();
      await stage.publish(orderJson(id, { creditCardNumber: card }));
      const order = await stage.announced(id);
      assert.deepEqual([order.status, order.status_reason], ['denied', reason]);
      assert.equal((await stage.gateway.approvals(id)).length, 0);
      assert.deepEqual(
        stage.receiptsOf(id).map(({ routingKey }) => routingKey),
        ['order.denied'],
      );
    });
  }

  it('denies hopeless card data without asking the gateway', async () => {
    const id = newOrderId();
    await stage.publish(orderJson(id, { creditCardNumber: '4242424242424241' }));
    const order = await stage.announced(id);
    assert.deepEqual([order.status, order.status_reason], ['denied', 'invalid_card_data']);
    assert.equal((await stage.gateway.requests(id)).length, 0);
  });

  for (const status of ['ready-to-ship', 'denied'] as const) {
    it(`never asks again for an order that is ${status}, and announces it again`, async () => {
      const id = newOrderId();
      const card = status === 'denied' ? '4000000000000002' : '5555555555554444';
      await stage.publish(orderJson(id, { creditCardNumber: card }));
      assert.equal((await stage.announced(id)).status, status);
      await stage.publish(orderJson(id, { creditCardNumber: card }));
      await waitFor('the second announcement', () => stage.receiptsOf(id).length === 2);
      assert.equal((await stage.gateway.requests(id)).length, 1);
      const eventIds = stage.receiptsOf(id).map(({ properties }) => properties.messageId as string);
      assert.deepEqual(eventIds, [`order-${id}-${status}-1`, `order-${id}-${status}-1`]);
    });
  }

  it('parks the same id with other content and leaves the order alone', async () => {
    const id = newOrderId();
    await stage.publish(orderJson(id));
    const before = await stage.announced(id);
    await stage.publish(orderJson(id, { chargeAmount: 1 }));
    const parked = await stage.parked.next();
    assert.equal(parked.row.reason, 'order_conflict');
    assert.equal(parked.row.order_id, id);
    assert.equal(parked.message?.headers['cardauth-park-reason'], 'order_conflict');
    assert.equal(parked.body.toString(), orderJson(id, { chargeAmount: 1 }));
    const { amount_minor, status } = (await stage.order(id)) ?? {};
    assert.deepEqual([amount_minor, status], [before.amount_minor, before.status]);
    assert.equal((await stage.gateway.requests(id)).length, 1);
  });

  it('parks what is no order, redacted, with what the headers of the contract say', async () => {
    await stage.publish('{"id":77,"creditCardNumber":"4242 4242 4242 4242", this is not JSON');
    const { row, body } = await stage.parked.next();
    assert.equal(row.reason, 'unparseable');
    assert.equal(row.class, 'input');
    assert.equal(row.origin_queue, stage.broker.ordersQueue);
    assert.equal(row.replayable, false);
    assert.match(row.not_replayable_because ?? '', /no order/);
    assert.match(body.toString(), /"id":.*this is not JSON/);
    assert.doesNotMatch(body.toString(), /4242/);
  });

  it('parks an amount that would have to be rounded, and charges nothing', async () => {
    const id = newOrderId();
    await stage.publish(orderJson(id, { chargeAmount: '1.005' }));
    assert.equal((await stage.parked.next()).row.reason, 'amount_precision');
    assert.equal((await stage.gateway.requests(id)).length, 0);
    assert.equal(await stage.order(id), undefined);
  });

  it('ends with an empty queue', async () => {
    await stage.endAndExpectEmptyQueue(worker);
  });

  it('has no card number in any log line, at the level trace', () => {
    const log = worker.lines.map(({ text }) => text).join('\n');
    assert.ok(worker.lines.length > 20, 'the worker logged something');
    for (const card of CARDS)
      assert.ok(!digitsOnly(log).includes(card), `the log contains the card ${card.slice(-4)}`);
    assert.doesNotMatch(log, /\b4242[ -]4242/);
  });
});

const CARDS = [
  '1111222233334444',
  '6205500000000000004',
  '4242424242424242',
  '4242424242424241',
  '5555555555554444',
  '378282246310005',
  ...['4000000000000002', '4000000000009995', '4000000000009987', '4000000000000069', '4000002500003155'],
];

/** Finds a number however it is written: what stands between its digits does not hide it. */
function digitsOnly(text: string): string {
  return text.replace(/[ -]/g, '');
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
