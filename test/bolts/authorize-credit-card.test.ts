import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AuthorizeCreditCard } from '../../src/bolts/authorize-credit-card.ts';
import type { OrderValues } from '../../src/bolts/order-values.ts';
import { withoutCvv, type OpenAdmission, type Order, type SealedOrder } from '../../src/domain/order.ts';
import type { AuthorizationOutcome } from '../../src/domain/outcome.ts';
import type { ParkedOrder } from '../../src/ports/parking-lot.ts';
import { RetriableError } from '../../src/topology/errors.ts';
import { silent } from '../support/silent-log.ts';
import { MemoryOrderBook, MemoryOrders } from '../support/memory-order-book.ts';
import {
  collector,
  impatientClock,
  message,
  order,
  ScriptedGateway,
  settle,
  terms,
  tuple,
} from './bolt-parts.ts';

const APPROVED: AuthorizationOutcome = { kind: 'approved', reference: 'pi_1' };
const SOFTLY_DECLINED = {
  kind: 'declined',
  reason: 'card_declined',
  class: 'soft',
  code: 'do_not_honor',
} as const;
const GATEWAY_WALL_MS = 8_000;
const RECORDING_MARGIN_MS = 2_000;

function setUp(
  gateway = new ScriptedGateway(APPROVED),
  book = new MemoryOrderBook(),
  openCard: (order: SealedOrder) => Promise<OpenAdmission> = () =>
    Promise.reject(new Error('no card is sealed here')),
) {
  const bolt = new AuthorizeCreditCard({
    book,
    gateway,
    openCard,
    clock: impatientClock,
    log: silent,
    gatewayWallMs: GATEWAY_WALL_MS,
    recordingMarginMs: RECORDING_MARGIN_MS,
  });
  return { bolt, book, gateway };
}

const valuesOf = (admitted: Order): OrderValues => ({
  admission: { kind: 'ok', order: admitted },
  message: message(),
});

describe('AuthorizeCreditCard', () => {
  it('claims, charges with the stored key, records and passes the decision on', async () => {
    const { bolt, book, gateway } = setUp();
    const out = collector();
    await bolt.execute(tuple(valuesOf(order('1234'))), out.emit);
    assert.deepEqual(
      book.facts.map(({ fact }) => fact.kind),
      ['claim', 'outcome'],
    );
    assert.deepEqual(
      gateway.requests.map((request) => request.idempotencyKey),
      ['order-1234-1'],
    );
    assert.equal(book.table.orders.get('1234')?.status, 'ready-to-ship');
    assert.deepEqual(
      out.emitted.map(({ stream }) => stream),
      ['processed'],
    );
  });

  it('asks the gateway nothing before the claim is committed', async () => {
    const { bolt, book, gateway } = setUp();
    let commit!: () => void;
    book.beforeApply = () => new Promise((resolve) => (commit = resolve));
    const run = bolt.execute(tuple(valuesOf(order('1'))), collector().emit);
    await settle();
    assert.equal(gateway.requests.length, 0);
    book.beforeApply = () => Promise.resolve();
    commit();
    await run;
    assert.equal(gateway.requests.length, 1);
  });

  it('charges nothing when the claim cannot be written', async () => {
    const { bolt, book, gateway } = setUp();
    book.beforeApply = () =>
      Promise.reject(new RetriableError('database is away', { errorClass: 'database' }));
    await assert.rejects(async () => bolt.execute(tuple(valuesOf(order('1'))), collector().emit), {
      errorClass: 'database',
    });
    assert.equal(gateway.requests.length, 0);
  });

  for (const status of ['ready-to-ship', 'denied'] as const) {
    it(`announces an order that is ${status} without asking the gateway`, async () => {
      const { bolt, gateway } = setUp(
        new ScriptedGateway(
          status === 'denied'
            ? { kind: 'declined', reason: 'card_declined', class: 'hard', code: 'lost_card' }
            : APPROVED,
        ),
      );
      await bolt.execute(tuple(valuesOf(order('7'))), collector().emit);
      const again = collector();
      await bolt.execute(tuple(valuesOf(order('7'))), again.emit);
      assert.equal(gateway.requests.length, 1);
      assert.deepEqual(
        again.emitted.map(({ stream }) => stream),
        ['processed'],
      );
    });
  }

  it('parks the same id with other content and leaves the stored order alone', async () => {
    const { bolt, book, gateway } = setUp();
    await bolt.execute(tuple(valuesOf(order('7'))), collector().emit);
    const stored = book.table.orders.get('7');
    const out = collector();
    await bolt.execute(tuple(valuesOf(order('7', { fingerprint: 'another', amountMinor: 1n }))), out.emit);
    assert.equal(gateway.requests.length, 1);
    assert.equal(book.table.orders.get('7'), stored);
    assert.deepEqual(
      out.emitted.map(({ values }) => (values['parked'] as { reason: string }).reason),
      ['order_conflict'],
    );
  });

  const sealed: SealedOrder = {
    orderId: '7',
    customerId: '5678',
    amountMinor: 4223n,
    currency: 'USD',
    card: 'a JWE',
  };
  const sealedValues: OrderValues = { admission: { kind: 'sealed', order: sealed }, message: message() };

  it('opens a sealed card before anything is claimed, and then goes on as with any other', async () => {
    const opened: SealedOrder[] = [];
    const book = new MemoryOrderBook();
    const { bolt, gateway } = setUp(new ScriptedGateway(APPROVED), book, (one: SealedOrder) => {
      opened.push(one);
      assert.equal(book.facts.length, 0);
      return Promise.resolve({ kind: 'ok', order: order('7') });
    });
    const out = collector();
    await bolt.execute(tuple(sealedValues), out.emit);
    assert.deepEqual(opened, [sealed]);
    assert.equal(gateway.requests.length, 1);
    assert.deepEqual(
      out.emitted.map(({ stream }) => stream),
      ['processed'],
    );
  });

  it('parks a card that cannot be opened as upstream sent it: the right key may come', async () => {
    const refusals = [
      ['card_unreadable', true],
      ['card_format', false],
    ] as const;
    for (const [reason, readable] of refusals) {
      const admission = { kind: 'park', orderId: '7', reason, detail: 'no' } as const;
      const { bolt, book, gateway } = setUp(undefined, undefined, () => Promise.resolve(admission));
      const out = collector();
      await bolt.execute(tuple(sealedValues), out.emit);
      const [emitted] = out.emitted;
      const parked = emitted?.values['parked'] as ParkedOrder;
      assert.deepEqual([parked.reason, parked.readable], [reason, readable]);
      assert.equal(book.facts.length + gateway.requests.length, 0);
    }
  });

  describe('a copy without its CVV', () => {
    const { means } = withoutCvv(order('7'));
    const admission = { kind: 'spent', terms: terms('7'), means } as const;
    const spent: OrderValues = { admission, message: message() };

    it('is announced again when the order has its verdict', async () => {
      const { bolt, gateway } = setUp();
      await bolt.execute(tuple(valuesOf(order('7'))), collector().emit);
      const out = collector();
      await bolt.execute(tuple(spent), out.emit);
      assert.equal(gateway.requests.length, 1);
      assert.deepEqual(
        out.emitted.map(({ stream }) => stream),
        ['processed'],
      );
    });

    it('is tried again after a soft decline, with the request that the whole message would lead to', async () => {
      const { bolt, book, gateway } = setUp(new ScriptedGateway(SOFTLY_DECLINED));
      book.softDeclineRetry = { waitsMs: [60_000, 60_000] };
      await assert.rejects(async () => bolt.execute(tuple(valuesOf(order('7'))), collector().emit));
      book.table.nowMs += 60_000;
      gateway.answerWith = { kind: 'unknown', cause: 'no_answer', detail: 'no answer' };
      await assert.rejects(async () => bolt.execute(tuple(spent), collector().emit));
      gateway.answerWith = APPROVED;
      await bolt.execute(tuple(valuesOf(order('7'))), collector().emit);
      const [, second, third] = gateway.requests;
      assert.equal(second?.idempotencyKey, 'order-7-2');
      assert.deepEqual(second, third);
      assert.equal(book.table.orders.get('7')?.status, 'ready-to-ship');
    });

    it('is not charged under the first key, whatever the order is: a person must look', async () => {
      const { bolt, book, gateway } = setUp();
      const out = collector();
      await bolt.execute(tuple(spent), out.emit);
      assert.equal(gateway.requests.length, 0);
      assert.equal(book.table.orders.get('7')?.statusReason, 'rejected: cvv_removed');
      assert.deepEqual(
        out.emitted.map(({ stream }) => stream),
        ['parked'],
      );
    });
  });

  it('denies hopeless card data without asking the gateway', async () => {
    const { bolt, book, gateway } = setUp();
    const out = collector();
    const admission = {
      kind: 'deny',
      terms: terms('9'),
      reason: 'invalid_card_data',
      detail: 'Luhn',
    } as const;
    await bolt.execute(tuple({ admission, message: message() }), out.emit);
    assert.equal(gateway.requests.length, 0);
    assert.equal(book.table.orders.get('9')?.statusReason, 'invalid_card_data');
    assert.deepEqual(
      out.emitted.map(({ stream }) => stream),
      ['processed'],
    );
  });

  it('parks what is no order and stores nothing of it', async () => {
    const { bolt, book } = setUp();
    const out = collector();
    const admission = {
      kind: 'park',
      orderId: undefined,
      reason: 'unparseable',
      detail: 'not JSON',
    } as const;
    await bolt.execute(tuple({ admission, message: message() }), out.emit);
    assert.equal(book.facts.length, 0);
    assert.deepEqual(
      out.emitted.map(({ stream }) => stream),
      ['parked'],
    );
  });

  it('makes one call for copies of an order that run at once, and every copy announces', async () => {
    const { bolt, gateway } = setUp(new ScriptedGateway());
    const out = collector();
    const runs = [1, 2, 3].map(async () => bolt.execute(tuple(valuesOf(order('5'))), out.emit));
    await settle();
    assert.equal(gateway.requests.length, 1);
    gateway.answer(APPROVED);
    await Promise.all(runs);
    assert.equal(gateway.requests.length, 1);
    assert.equal(out.emitted.length, 3);
  });

  it('records a late answer although its tuple timed out, and the replay waits for it', async () => {
    const { bolt, book, gateway } = setUp(new ScriptedGateway());
    let remainingMs = 30_000;
    const first = bolt.execute(
      tuple(valuesOf(order('5')), () => remainingMs),
      collector().emit,
    );
    await settle();
    remainingMs = -1_000;
    const out = collector();
    const replay = bolt.execute(tuple(valuesOf(order('5'))), out.emit);
    await settle();
    assert.equal(gateway.requests.length, 1);
    gateway.answer(APPROVED);
    await Promise.all([first, replay]);
    assert.equal(gateway.requests.length, 1);
    assert.equal(book.table.orders.get('5')?.status, 'ready-to-ship');
    assert.deepEqual(
      out.emitted.map(({ stream }) => stream),
      ['processed'],
    );
  });

  it('starts no charge that could not be recorded in time', async () => {
    const { bolt, book, gateway } = setUp();
    const late = tuple(valuesOf(order('5')), () => GATEWAY_WALL_MS + RECORDING_MARGIN_MS - 1);
    await assert.rejects(async () => bolt.execute(late, collector().emit), { errorClass: 'not_sent' });
    assert.equal(gateway.requests.length, 0);
    assert.equal(book.facts.length, 0);
  });

  it('gives the claim back when the time ran out while claiming', async () => {
    const { bolt, book, gateway } = setUp();
    let remainingMs = 30_000;
    book.beforeApply = (_orderId, fact) => {
      if (fact.kind === 'claim') remainingMs = 5_000;
      return Promise.resolve();
    };
    const slow = tuple(valuesOf(order('5')), () => remainingMs);
    await assert.rejects(async () => bolt.execute(slow, collector().emit), { errorClass: 'not_sent' });
    assert.equal(gateway.requests.length, 0);
    assert.equal(book.table.orders.get('5')?.status, 'received');
    assert.equal(book.table.orders.get('5')?.attempt?.keyUsedSinceMs, undefined);
  });

  it('keeps an outcome that cannot be recorded and tries again', async () => {
    const { bolt, book, gateway } = setUp();
    let refusals = 3;
    book.beforeApply = (_orderId, fact) => {
      if (fact.kind !== 'outcome' || refusals-- <= 0) return Promise.resolve();
      return Promise.reject(new RetriableError('database is away', { errorClass: 'database' }));
    };
    await bolt.execute(tuple(valuesOf(order('5'))), collector().emit);
    assert.equal(gateway.requests.length, 1);
    assert.equal(book.table.orders.get('5')?.status, 'ready-to-ship');
  });

  it('fails the tuple when the outcome cannot be recorded in the message time; the same key finishes it later', async () => {
    const { bolt, book, gateway } = setUp();
    let remainingMs = 30_000;
    book.beforeApply = (_orderId, fact) => {
      if (fact.kind !== 'outcome') return Promise.resolve();
      remainingMs = 0;
      return Promise.reject(new RetriableError('database is away', { errorClass: 'database' }));
    };
    const first = tuple(valuesOf(order('5')), () => remainingMs);
    await assert.rejects(async () => bolt.execute(first, collector().emit), { errorClass: 'database' });
    book.beforeApply = () => Promise.resolve();
    await bolt.execute(tuple(valuesOf(order('5'))), collector().emit);
    assert.deepEqual(
      gateway.requests.map((request) => request.idempotencyKey),
      ['order-5-1', 'order-5-1'],
    );
    assert.equal(book.table.orders.get('5')?.status, 'ready-to-ship');
  });

  it('never denies an order whose answer was lost; the replay sends the same key', async () => {
    const { bolt, book, gateway } = setUp(
      new ScriptedGateway({ kind: 'unknown', cause: 'no_answer', detail: 'no answer' }),
    );
    await assert.rejects(async () => bolt.execute(tuple(valuesOf(order('5'))), collector().emit), {
      errorClass: 'no_answer',
    });
    assert.equal(book.table.orders.get('5')?.status, 'authorization-unknown');
    gateway.answerWith = APPROVED;
    await bolt.execute(tuple(valuesOf(order('5'))), collector().emit);
    assert.deepEqual(
      new Set(gateway.requests.map((request) => request.idempotencyKey)),
      new Set(['order-5-1']),
    );
    assert.equal(book.table.orders.get('5')?.status, 'ready-to-ship');
  });

  it('tries a soft decline again when its time has come, under the next key, and announces nothing before', async () => {
    const { bolt, book, gateway } = setUp(new ScriptedGateway(SOFTLY_DECLINED));
    book.softDeclineRetry = { waitsMs: [60_000] };
    const out = collector();
    const run = async () => bolt.execute(tuple(valuesOf(order('5'))), out.emit);
    await assert.rejects(run, { errorClass: 'soft_decline', retryAfterMs: 60_000 });
    book.table.nowMs += 20_000;
    await assert.rejects(run, { errorClass: 'soft_decline', retryAfterMs: 40_000 });
    assert.equal(gateway.requests.length, 1);
    assert.deepEqual(out.emitted, []);
    gateway.answerWith = APPROVED;
    book.table.nowMs += 40_000;
    await run();
    assert.equal(gateway.requests[1]?.idempotencyKey, 'order-5-2');
    const [first, second] = gateway.requests.map(({ order: { means } }) => means);
    assert.ok(first?.kind === 'card' && first.card.cvv !== undefined);
    assert.ok(second?.kind === 'card' && second.card.cvv === undefined, 'a CVV after a verdict');
    assert.equal(book.table.orders.get('5')?.status, 'ready-to-ship');
    assert.equal(out.emitted.length, 1);
  });

  it('brings the message back when the order was lost under the request; the same key finds the answer', async () => {
    const { bolt, book, gateway } = setUp(new ScriptedGateway(APPROVED));
    book.beforeApply = (orderId, fact) => {
      if (fact.kind === 'outcome') book.table.orders.delete(orderId);
      return Promise.resolve();
    };
    const run = async () => bolt.execute(tuple(valuesOf(order('5'))), collector().emit);
    await assert.rejects(run, { errorClass: 'stale_answer' });
    assert.equal(book.table.alarms.length, 1);
    book.beforeApply = () => Promise.resolve();
    await run();
    assert.deepEqual(
      gateway.requests.map((request) => request.idempotencyKey),
      ['order-5-1', 'order-5-1'],
    );
  });

  it('waits for a claim of another live worker, and takes a dead one over with the same key', async () => {
    const table = new MemoryOrders();
    const frozen = setUp(new ScriptedGateway(), new MemoryOrderBook(table, 1));
    const other = setUp(new ScriptedGateway(APPROVED), new MemoryOrderBook(table, 2));
    void frozen.bolt.execute(tuple(valuesOf(order('5'))), collector().emit);
    await settle();
    const run = async () => other.bolt.execute(tuple(valuesOf(order('5'))), collector().emit);
    await assert.rejects(run, { errorClass: 'claimed_elsewhere', retryAfterMs: 25_000 });
    table.liveWorkers.delete(1);
    await run();
    assert.equal(other.gateway.requests[0]?.idempotencyKey, frozen.gateway.requests[0]?.idempotencyKey);
    // The frozen worker's own answer arrives in the end: one recording, and this one is a no-op.
    const recorded = table.orders.get('5');
    frozen.gateway.answer(APPROVED);
    await settle();
    assert.equal(table.orders.get('5'), recorded);
    assert.deepEqual(table.alarms, []);
  });

  it('parks an answer that contradicts the order', async () => {
    const { bolt, book } = setUp(
      new ScriptedGateway({ kind: 'contradicted', reason: 'amount_mismatch', reference: 'pi_9' }),
    );
    const out = collector();
    await bolt.execute(tuple(valuesOf(order('5'))), out.emit);
    assert.equal(book.table.orders.get('5')?.status, 'review');
    assert.equal(book.table.alarms.length, 1);
    assert.deepEqual(
      out.emitted.map(({ stream }) => stream),
      ['parked'],
    );
  });
});
