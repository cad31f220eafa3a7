import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ParkOrder } from '../../src/bolts/park-order.ts';
import { ProcessedOrderNotification } from '../../src/bolts/processed-order-notification.ts';
import { notificationOf, type OrderNotification } from '../../src/domain/notification.ts';
import { isTerminal } from '../../src/domain/order-states.ts';
import type { ParkedOrder } from '../../src/ports/parking-lot.ts';
import { silent } from '../support/silent-log.ts';
import { MemoryOrderBook } from '../support/memory-order-book.ts';
import { message, order, terms, tuple } from './bolt-parts.ts';

async function deniedOrder(book: MemoryOrderBook): Promise<OrderNotification> {
  const { order: stored } = await book.apply('9', {
    kind: 'refuse',
    terms: terms('9'),
    reason: 'invalid_card_data',
  });
  assert.ok(stored !== undefined && isTerminal(stored));
  return notificationOf(stored);
}

const admitted = { admission: { kind: 'ok', order: order('9') }, message: message() } as const;

describe('ProcessedOrderNotification', () => {
  it('marks the order only after downstream confirmed', async () => {
    const book = new MemoryOrderBook();
    const notification = await deniedOrder(book);
    let confirm!: () => void;
    const sent: OrderNotification[] = [];
    const notifier = {
      notify: (event: OrderNotification) => {
        sent.push(event);
        return new Promise<void>((resolve) => (confirm = resolve));
      },
    };
    const run = new ProcessedOrderNotification({ notifier, book }).execute(
      tuple({ ...admitted, notification }),
    );
    assert.deepEqual(sent, [notification]);
    assert.equal(book.table.orders.get('9')?.notifiedAtMs, undefined);
    confirm();
    await run;
    assert.equal(book.table.orders.get('9')?.notifiedAtMs, book.table.nowMs);
  });

  it('leaves the order unmarked when it was not confirmed', async () => {
    const book = new MemoryOrderBook();
    const notification = await deniedOrder(book);
    const notifier = { notify: () => Promise.reject(new Error('unroutable')) };
    const bolt = new ProcessedOrderNotification({ notifier, book });
    await assert.rejects(async () => bolt.execute(tuple({ ...admitted, notification })), /unroutable/);
    assert.equal(book.table.orders.get('9')?.notifiedAtMs, undefined);
  });

  it('announces with the contract’s id, key and body', async () => {
    const notification = await deniedOrder(new MemoryOrderBook());
    assert.equal(notification.eventId, 'order-9-denied-1');
    assert.equal(notification.routingKey, 'order.denied');
    assert.equal(
      JSON.stringify(notification.body),
      '{"orderId":"9","customerId":"5678","status":"denied","reason":"invalid_card_data","amountMinor":"4223",' +
        '"currency":"USD","authorizationId":null,"occurredAt":"2026-01-01T00:00:00.000Z"}',
    );
  });
});

describe('ParkOrder', () => {
  function setUp() {
    const parked: ParkedOrder[] = [];
    const book = new MemoryOrderBook();
    const lot = { park: (one: ParkedOrder) => Promise.resolve(void parked.push(one)) };
    return { parked, book, bolt: new ParkOrder({ lot, book, log: silent }) };
  }

  it('parks an order whose replays are used up and keeps its status', async () => {
    const { parked, book, bolt } = setUp();
    await book.apply('9', { kind: 'claim', terms: terms('9') });
    await bolt.execute(tuple({ ...admitted, exhaustedBecause: 'the gateway gave no answer' }));
    assert.deepEqual(
      parked.map(({ reason, orderId, readable }) => ({ reason, orderId, readable })),
      [{ reason: 'replays_exhausted', orderId: '9', readable: true }],
    );
    assert.equal(book.table.orders.get('9')?.status, 'authorizing');
  });

  it('parks what a bolt gave up on', async () => {
    const { parked, bolt } = setUp();
    await bolt.execute(tuple({ error: new Error('broken'), values: admitted }));
    assert.equal(parked[0]?.reason, 'worker_error');
  });

  it('knows of an order whose announcement was given up that it has its verdict', async () => {
    const { parked, bolt } = setUp();
    const notification = await deniedOrder(new MemoryOrderBook());
    await bolt.execute(tuple({ error: new Error('refused'), values: { ...admitted, notification } }));
    await bolt.execute(tuple({ error: new Error('broken'), values: admitted }));
    assert.deepEqual(
      parked.map(({ message: { isDecided } }) => isDecided),
      [true, false],
    );
  });

  it('writes nothing about an order that is not parked yet', async () => {
    const { book } = setUp();
    const lot = { park: () => Promise.reject(new Error('not confirmed')) };
    await assert.rejects(async () => {
      await new ParkOrder({ lot, book, log: silent }).execute(tuple({ ...admitted, exhaustedBecause: 'x' }));
    });
    assert.equal(book.facts.length, 0);
  });
});
