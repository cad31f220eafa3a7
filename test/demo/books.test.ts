import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { balance, type Evidence } from '../../src/demo/books.ts';
import { demoOrders } from '../../src/demo/orders.ts';

const ready = {
  orderId: '1',
  status: 'ready-to-ship',
  amountMinor: 4223n,
  currency: 'USD',
  gatewayReference: 'pi_1',
  notified: true,
};
const denied = { ...ready, orderId: '2', status: 'denied', gatewayReference: undefined };
const approval = { orderId: '1', amountMinor: 4223, currency: 'usd', authorizationId: 'pi_1' };
const balanced: Evidence = {
  published: [
    { messageId: 'm1', orderId: '1', amountMinor: 4223n },
    { messageId: 'm2', orderId: '2', amountMinor: 4223n },
    { messageId: 'm3', orderId: '3', amountMinor: undefined },
    { messageId: 'm4', orderId: undefined, amountMinor: undefined },
  ],
  approvals: [approval],
  orders: [ready, denied],
  receipts: [
    { orderId: '1', eventId: 'order-1-ready-to-ship-1', status: 'ready-to-ship' },
    { orderId: '1', eventId: 'order-1-ready-to-ship-1', status: 'ready-to-ship' },
    { orderId: '2', eventId: 'order-2-denied-1', status: 'denied' },
  ],
  parked: [
    { orderId: '3', messageId: 'm3' },
    { orderId: undefined, messageId: 'm4' },
    { orderId: undefined, messageId: 'm4' },
  ],
  leftOnQueues: 0,
};

describe('the books of the demo', () => {
  it('balance when every order is decided once, announced, or parked', () => {
    assert.deepEqual(balance(balanced), {
      messages: 4,
      orders: 4,
      readyToShip: 1,
      denied: 1,
      parked: 2,
      authorizations: 1,
      chargedTwice: 0,
      lost: 0,
      notified: 2,
      problems: [],
    });
  });

  const cookedBooks: [string, Partial<Evidence>, RegExp][] = [
    [
      'a second approval',
      { approvals: [approval, { ...approval, authorizationId: 'pi_9' }] },
      /charged more than once/,
    ],
    ['an order that is nowhere', { orders: [ready] }, /order 2 is nowhere: lost/],
    [
      'an order left unknown',
      { orders: [ready, { ...denied, status: 'authorization-unknown' }] },
      /order 2 is authorization-unknown: lost/,
    ],
    [
      'a message without id that vanished',
      {
        parked: [
          { orderId: '3', messageId: 'm3' },
          { orderId: undefined, messageId: 'm3' },
        ],
      },
      /without an order id are not parked/,
    ],
    [
      'a denied order that was charged',
      { approvals: [approval, { ...approval, orderId: '2' }] },
      /denied and was charged/,
    ],
    [
      'another amount at the gateway',
      { approvals: [{ ...approval, amountMinor: 4224 }] },
      /without an approval of its amount/,
    ],
    [
      'another currency at the gateway',
      { approvals: [{ ...approval, currency: 'eur' }] },
      /without an approval of its amount/,
    ],
    [
      'a reference the gateway does not know',
      { approvals: [{ ...approval, authorizationId: 'x' }] },
      /without an approval/,
    ],
    ['ready without any charge', { approvals: [] }, /without an approval/],
    ['a missing announcement', { receipts: balanced.receipts.slice(0, 2) }, /downstream never heard of it/],
    [
      'an unmarked announcement',
      { orders: [{ ...ready, notified: false }, denied] },
      /not marked as notified/,
    ],
    [
      'two event ids',
      { receipts: [...balanced.receipts, { orderId: '1', eventId: 'other', status: 'ready-to-ship' }] },
      /2 event ids/,
    ],
    [
      'another status downstream',
      { receipts: [{ orderId: '1', eventId: 'x', status: 'denied' }, ...balanced.receipts.slice(2)] },
      /something else/,
    ],
    [
      'a charge for an order nobody stored',
      { approvals: [approval, { ...approval, orderId: '8' }] },
      /charged and is not stored/,
    ],
    [
      'an order nobody published',
      { orders: [ready, denied, { ...denied, orderId: '9' }] },
      /never published/,
    ],
    ['messages left', { leftOnQueues: 2 }, /2 messages are still on the queues/],
  ];
  for (const [name, change, problem] of cookedBooks) {
    it(`do not balance with ${name}`, () => {
      const { problems } = balance({ ...balanced, ...change });
      assert.match(problems.join('\n'), problem);
    });
  }
});

describe('the orders of the demo', () => {
  const orders = demoOrders(2_000);

  it('are of every kind, mostly good, the same every time', () => {
    const kinds = new Map<string, number>();
    for (const { kind } of orders) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    assert.deepEqual([...kinds.keys()].sort(), ['bad input', 'copy', 'declined', 'good', 'hopeless card']);
    assert.ok((kinds.get('good') ?? 0) > 1_500);
    assert.deepEqual(demoOrders(2_000), orders);
  });

  it('copies say exactly what their original says', () => {
    const bodies = new Map(
      orders.filter(({ kind }) => kind !== 'copy').map(({ orderId, body }) => [orderId, body]),
    );
    for (const copy of orders.filter(({ kind }) => kind === 'copy'))
      assert.equal(copy.body, bodies.get(copy.orderId));
  });
});
