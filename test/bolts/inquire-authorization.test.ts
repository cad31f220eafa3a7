import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InquireAuthorization } from '../../src/bolts/inquire-authorization.ts';
import type { AuthorizationOutcome, InquiryOutcome, VoidOutcome } from '../../src/domain/outcome.ts';
import type { GatewayInquiry, LookupRequest, VoidRequest } from '../../src/ports/gateway-inquiry.ts';
import { silent } from '../support/silent-log.ts';
import { MemoryOrderBook, MemoryOrders } from '../support/memory-order-book.ts';
import { collector, terms, tuple } from './bolt-parts.ts';

const UNKNOWN = { kind: 'unknown', cause: 'no_answer', detail: 'no answer' } as const;
const APPROVED = { kind: 'approved', reference: 'pi_1' } as const;
const DECLINED = { kind: 'declined', reason: 'card_declined', class: 'hard', code: 'lost_card' } as const;
const NOT_FOUND = { kind: 'undecided', cause: 'not_found', detail: 'nothing found' } as const;

/** A gateway that answers questions, and of which nothing else can be had. */
class InquiredGateway implements GatewayInquiry {
  readonly lookups: LookupRequest[] = [];
  readonly voids: VoidRequest[] = [];
  answers: InquiryOutcome[] = [];
  voidAnswers: VoidOutcome[] = [];

  lookup(request: LookupRequest): Promise<InquiryOutcome> {
    this.lookups.push(request);
    return Promise.resolve(this.answers.shift() ?? NOT_FOUND);
  }

  void(request: VoidRequest): Promise<VoidOutcome> {
    this.voids.push(request);
    return Promise.resolve(this.voidAnswers.shift() ?? { kind: 'voided' });
  }
}

async function setUp(...outcomes: AuthorizationOutcome[]) {
  const orders = new MemoryOrders();
  const book = new MemoryOrderBook(orders);
  const gateway = new InquiredGateway();
  const bolt = new InquireAuthorization({ book, gateway, log: silent });
  await book.apply('7', { kind: 'claim', terms: terms('7') });
  for (const outcome of outcomes) {
    await book.apply('7', { kind: 'outcome', generation: 1, claim: 1, outcome });
  }
  return {
    orders,
    book,
    gateway,
    order: () => orders.orders.get('7'),
    /** Lets time pass until the order is due, and has the bolt look at it. */
    look: async (waitMs = 86_400_000) => {
      orders.nowMs += waitMs;
      const { emitted, emit } = collector();
      await bolt.execute(tuple({ orderId: '7' }), emit);
      return emitted.map(({ stream }) => stream);
    },
  };
}

describe('InquireAuthorization', () => {
  it('asks by order and key, records the verdict and sends the order on to its announcement', async () => {
    for (const [verdict, status] of [
      [APPROVED, 'ready-to-ship'],
      [DECLINED, 'denied'],
    ] as const) {
      const { gateway, look, order } = await setUp(UNKNOWN);
      gateway.answers = [verdict];
      assert.deepEqual(await look(), ['processed']);
      assert.equal(order()?.status, status);
      const { orderId, amountMinor, currency } = gateway.lookups[0]?.terms ?? assert.fail('not asked');
      assert.deepEqual([orderId, amountMinor, currency], ['7', 4223n, 'USD']);
      assert.equal(gateway.lookups[0]?.idempotencyKey, 'order-7-1');
    }
  });

  it('asks by reference where an answer named one', async () => {
    const { gateway, look } = await setUp({ ...UNKNOWN, cause: 'pending', reference: 'pi_5' });
    await look();
    assert.equal(gateway.lookups[0]?.reference, 'pi_5');
  });

  it('does nothing before it is due, and nothing while somebody holds a claim', async () => {
    const { gateway, look } = await setUp(UNKNOWN);
    assert.deepEqual(await look(14_999), []);
    assert.equal(gateway.lookups.length, 0);
    await look(1);
    assert.equal(gateway.lookups.length, 1);

    const claimed = await setUp();
    await claimed.look(24_999);
    assert.equal(claimed.gateway.lookups.length, 0);
  });

  it('gives the order to review at the end of the schedule, and never asks again', async () => {
    const { gateway, look, order, book } = await setUp(UNKNOWN);
    for (let asked = 0; asked < book.inquiryWaitsMs.length; asked += 1) {
      assert.equal(order()?.status, 'authorization-unknown');
      assert.deepEqual(await look(book.inquiryWaitsMs[asked]), []);
    }
    assert.deepEqual([order()?.status, order()?.statusReason], ['review', 'not_resolved']);
    await look();
    assert.equal(gateway.lookups.length, book.inquiryWaitsMs.length);
  });

  it('keeps asking a gateway that does not answer, without using the schedule up', async () => {
    const { gateway, look, order } = await setUp(UNKNOWN);
    gateway.answers = Array.from({ length: 20 }, () => ({ kind: 'unanswered', detail: 'HTTP 503' }));
    for (let tries = 0; tries < 20; tries += 1) await look();
    assert.deepEqual([order()?.status, order()?.attempt?.inquiries], ['authorization-unknown', 0]);
    gateway.answers = [APPROVED];
    await look();
    assert.equal(order()?.status, 'ready-to-ship');
  });

  it('announces a decided order again until it is marked', async () => {
    const { gateway, look, book } = await setUp(UNKNOWN, APPROVED);
    assert.deepEqual(await look(), ['processed']);
    assert.deepEqual(await look(), ['processed']);
    await book.apply('7', { kind: 'notified', generation: 1, status: 'ready-to-ship' });
    assert.deepEqual(await look(), []);
    assert.equal(gateway.lookups.length, 0);
  });

  it('sees to an order whose message is parked before it was announced', async () => {
    const { look, book } = await setUp(APPROVED);
    assert.deepEqual(await look(), []);
    await book.apply('7', { kind: 'parked', reason: 'replays_exhausted' });
    assert.deepEqual(await look(), ['processed']);
  });

  it('voids an approval of a denied order under its own key until that is confirmed', async () => {
    const { gateway, look, order } = await setUp(DECLINED, APPROVED);
    gateway.voidAnswers = [{ kind: 'unanswered', detail: 'HTTP 502' }, { kind: 'voided' }];
    assert.equal(order()?.status, 'denied');
    await look(0);
    assert.deepEqual(order()?.attempt?.voiding, { reference: 'pi_1', state: 'due', tries: 1 });
    await look();
    assert.equal(order()?.attempt?.voiding?.state, 'confirmed');
    await look();
    const request = { reference: 'pi_1', idempotencyKey: 'order-7-1-void' };
    assert.deepEqual(gateway.voids, [request, request]);
    assert.equal(order()?.status, 'denied');
  });

  it('never voids what contradicts the order in amount, currency or name', async () => {
    for (const reason of [
      'amount_mismatch',
      'currency_mismatch',
      'order_mismatch',
      'several_approvals',
    ] as const) {
      const { gateway, look } = await setUp({ kind: 'contradicted', reason, reference: 'pi_1' });
      await look();
      assert.equal(gateway.voids.length, 0);
    }
  });

  it('asks for the original behind a reused key', async () => {
    const { gateway, look, order } = await setUp({ kind: 'contradicted', reason: 'key_reused' });
    assert.equal(order()?.status, 'review');
    gateway.answers = [NOT_FOUND, APPROVED];
    await look();
    assert.equal(order()?.status, 'review');
    assert.deepEqual(await look(), ['processed']);
    assert.equal(order()?.status, 'ready-to-ship');
  });

  it('counts one answer where two resolvers asked at once', async () => {
    const { book, order, orders } = await setUp(UNKNOWN);
    const other = new MemoryOrderBook(orders, 2);
    const fact = { kind: 'inquired', generation: 1, inquiry: 0, outcome: NOT_FOUND } as const;
    await book.apply('7', fact);
    await other.apply('7', fact);
    assert.equal(order()?.attempt?.inquiries, 1);
  });
});
