/**
 * What every gateway adapter must do, whatever dialect it speaks, checked against a simulated gateway that misbehaves
 * on demand and keeps its own record of what it really holds.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { AuthorizationOutcome } from '../../src/domain/outcome.ts';
import type { Order } from '../../src/domain/order.ts';
import type { Gateway } from '../../src/ports/gateway.ts';
import { anOrder, cardMeans } from '../gateway/orders.ts';

/** A fault of the simulator's script, by name. */
export interface SimulatedFault {
  readonly kind: string;
  readonly [option: string]: unknown;
}

/** What the gateway holds on a card for one order: voided holds are not listed. */
export interface Hold {
  readonly reference: string;
  readonly amountMinor: number;
  /** Upper case. */
  readonly currency: string;
}

export interface GatewayUnderTest {
  readonly gateway: Gateway;
  /** The next request for an authorization meets `fault`, and no other. */
  arrange(fault: SimulatedFault): Promise<void>;
  /** Lets requests go that a fault holds up. */
  release(): Promise<void>;
  /** The simulator's own record. */
  holds(orderId: string): Promise<readonly Hold[]>;
  /** Requests for an authorization that have arrived. */
  arrivals(orderId: string): Promise<number>;
  close(): Promise<void>;
}

/** Where gateways differ, and each way is safe. */
export interface GatewayTraits {
  /** What a key that was used for another amount comes to. */
  readonly reusedKey: 'contradicted key_reused' | 'contradicted amount_mismatch';
  /** Kinds of faults that there is nothing to arrange for: the rest is checked. */
  readonly without?: readonly string[];
}

/** `open` makes an adapter whose calls end within `wallMs`, and a fresh simulator behind it. */
export function describeGatewayConformance(
  name: string,
  open: (wallMs: number) => Promise<GatewayUnderTest>,
  { reusedKey, without = [] }: GatewayTraits = { reusedKey: 'contradicted key_reused' },
): void {
  describe(`${name}: gateway conformance`, () => {
    let subject: GatewayUnderTest;

    beforeEach(async () => {
      subject = await open(PATIENT_WALL_MS);
    });
    afterEach(() => subject.close());

    async function authorize(order: Order, key = keyOf(order)): Promise<string> {
      return summary(await subject.gateway.authorize({ order, idempotencyKey: key }));
    }

    async function assertHolds(order: Order, count: number): Promise<void> {
      assert.equal((await subject.holds(order.terms.orderId)).length, count, 'holds at the gateway');
    }

    it('approves with the reference of the one hold, of exactly the amount and currency', async () => {
      const orders = [
        anOrder({ orderId: 'visa' }),
        anOrder({ orderId: 'mastercard', means: cardMeans('5555555555554444') }),
        anOrder({ orderId: 'amex', means: cardMeans('378282246310005', '0739') }),
        anOrder({ orderId: 'unionpay', means: cardMeans('6205500000000000004') }),
        anOrder({ orderId: 'token', means: { kind: 'token', paymentMethod: 'pm_card_visa' } }),
        anOrder({ orderId: 'yen', amountMinor: 5000n, currency: 'JPY' }),
        anOrder({ orderId: 'dinar', amountMinor: 12_340n, currency: 'KWD' }),
        anOrder({ orderId: `odd!id'"(&=+%)/?#[]` }),
      ];
      for (const order of orders) {
        const outcome = await subject.gateway.authorize({ order, idempotencyKey: keyOf(order) });
        assert.ok(outcome.kind === 'approved', JSON.stringify(outcome));
        const { orderId, amountMinor, currency } = order.terms;
        const expected = { reference: outcome.reference, amountMinor: Number(amountMinor), currency };
        assert.deepEqual(await subject.holds(orderId), [expected]);
      }
    });

    for (const [number, expected] of DECLINED_CARDS) {
      it(`${number} is ${expected}`, async () => {
        const order = anOrder({ means: cardMeans(number) });
        assert.equal(await authorize(order), expected);
        await assertHolds(order, 0);
      });
    }

    it('answers the same key with the same hold, one after the other or at once', async () => {
      const order = anOrder();
      const first = await subject.gateway.authorize({ order, idempotencyKey: keyOf(order) });
      const again = await subject.gateway.authorize({ order, idempotencyKey: keyOf(order) });
      assert.equal(first.kind, 'approved');
      assert.deepEqual(again, first);
      const other = anOrder({ orderId: 'at-once' });
      const outcomes = await Promise.all(Array.from({ length: 8 }, () => authorize(other)));
      assert.ok(outcomes.includes('approved'));
      assert.ok(
        outcomes.every((outcome) => ['approved', 'unknown key_in_use'].includes(outcome)),
        outcomes.join(),
      );
      await assertHolds(order, 1);
      await assertHolds(other, 1);
    });

    it('reports a key that was used for something else, and holds nothing more', async () => {
      const order = anOrder();
      assert.equal(await authorize(order), 'approved');
      const changed = anOrder({ amountMinor: 1n });
      assert.equal(await authorize(changed, keyOf(order)), reusedKey);
      await assertHolds(order, 1);
    });

    it('reports a key in use while the first request with it is under way', async () => {
      await subject.arrange({ kind: 'hold-in-flight' });
      const order = anOrder();
      const first = authorize(order);
      while ((await subject.arrivals(order.terms.orderId)) === 0) await nextTurn();
      assert.equal(await authorize(order), 'unknown key_in_use');
      await subject.release();
      assert.equal(await first, 'approved');
      await assertHolds(order, 1);
    });

    for (const row of FAULTS.filter(({ fault }) => !without.includes(fault.kind))) {
      const { fault, outcome, holds, later, laterHolds } = row;
      it(`${JSON.stringify(fault)}: ${outcome}, later ${later}`, async () => {
        await subject.arrange(fault);
        const order = anOrder();
        assert.equal(await authorize(order), outcome);
        await assertHolds(order, holds);
        assert.equal(await authorize(order), later);
        await assertHolds(order, laterHolds);
      });
    }

    for (const kind of STALLS) {
      it(`${kind}: unknown when the wall is hit, later approved with the one hold`, async () => {
        await subject.close();
        subject = await open(SHORT_WALL_MS);
        await subject.arrange({ kind });
        const order = anOrder();
        const begunAtMs = performance.now();
        assert.equal(await authorize(order), 'unknown no_answer');
        const tookMs = performance.now() - begunAtMs;
        assert.ok(tookMs < SHORT_WALL_MS + SLACK_MS, `${Math.round(tookMs)} ms`);
        await assertHolds(order, 1);
        assert.equal(await authorize(order), 'approved');
        await assertHolds(order, 1);
      });
    }
  });
}

/** Never hit: every answer comes, and a busy machine has time for it. */
const PATIENT_WALL_MS = 20_000;
/** For the answers that never come. */
const SHORT_WALL_MS = 600;
const SLACK_MS = 1_000;

/** No answer, half a head, half a body; the charge has happened. */
const STALLS: readonly string[] = ['hold', 'stalled-headers', 'stalled-body'];

const DECLINED_CARDS: readonly (readonly [number: string, outcome: string])[] = [
  ['4000000000000002', 'declined card_declined soft'],
  ['4000000000009995', 'declined card_declined soft'],
  ['4000000000009987', 'declined card_declined hard'],
  ['4000000000009979', 'declined card_declined hard'],
  ['4000000000000069', 'declined card_declined hard'],
  ['4000000000000127', 'declined card_declined hard'],
  ['4000000000000119', 'declined card_declined soft'],
  ['4000002500003155', 'declined authentication_required soft'],
];

interface FaultRow {
  readonly fault: SimulatedFault;
  readonly outcome: string;
  /** Holds at the gateway after that. */
  readonly holds: number;
  /** The outcome of the same key once the fault is over, and the holds after that. */
  readonly later: string;
  readonly laterHolds: number;
}

const notCharged = { holds: 0, later: 'approved', laterHolds: 1 } as const;
const charged = { holds: 1, later: 'approved', laterHolds: 1 } as const;
/** The gateway keeps its answer under the key and gives it again. */
const kept = (outcome: string, holds: number) => ({ outcome, holds, later: outcome, laterHolds: holds });

const FAULTS: readonly FaultRow[] = [
  { fault: { kind: 'drop-before-charge' }, outcome: 'unknown connection_lost', ...notCharged },
  { fault: { kind: 'drop-before-charge', reset: true }, outcome: 'unknown connection_lost', ...notCharged },
  { fault: { kind: '429', retryAfter: 2 }, outcome: 'unavailable rate_limited after 2000', ...notCharged },
  { fault: { kind: '401' }, outcome: 'unavailable configuration', ...notCharged },
  { fault: { kind: '403' }, outcome: 'unavailable configuration', ...notCharged },
  { fault: { kind: '404' }, outcome: 'unavailable configuration', ...notCharged },
  { fault: { kind: 'redirect' }, outcome: 'unavailable configuration', ...notCharged },
  { fault: { kind: 'html-502' }, outcome: 'unknown bad_gateway', ...notCharged },
  { fault: { kind: 'html-502', charged: true }, outcome: 'unknown bad_gateway', ...charged },
  { fault: { kind: 'echo-pan', status: 400 }, outcome: 'declined invalid_card_data hard', ...notCharged },
  { fault: { kind: 'echo-pan', status: 500 }, outcome: 'approved', ...charged },
  { fault: { kind: 'charge-then-drop' }, outcome: 'unknown connection_lost', ...charged },
  { fault: { kind: 'charge-then-drop', reset: true }, outcome: 'unknown connection_lost', ...charged },
  { fault: { kind: 'cut-body' }, outcome: 'unknown connection_lost', ...charged },
  { fault: { kind: 'garbage' }, outcome: 'unknown unreadable_answer', ...charged },
  { fault: { kind: 'garbage', where: 'body' }, outcome: 'unknown unreadable_answer', ...charged },
  { fault: { kind: 'empty-body' }, outcome: 'unknown unreadable_answer', ...charged },
  { fault: { kind: 'wrong-content-type' }, outcome: 'unknown unreadable_answer', ...charged },
  { fault: { kind: 'huge-body' }, outcome: 'unknown unreadable_answer', ...charged },
  { fault: { kind: 'cached-500' }, ...kept('unknown server_error', 0) },
  { fault: { kind: 'charge-then-500' }, ...kept('unknown server_error', 1) },
  { fault: { kind: 'wrong-amount' }, ...kept('contradicted amount_mismatch', 1) },
  { fault: { kind: 'wrong-currency' }, ...kept('contradicted currency_mismatch', 1) },
  { fault: { kind: 'partial' }, ...kept('contradicted partial_approval', 0) },
  { fault: { kind: 'requires-action' }, ...kept('declined authentication_required soft', 0) },
  { fault: { kind: 'pending' }, ...kept('unknown pending', 0) },
  { fault: { kind: 'unknown-status' }, ...kept('unknown pending', 0) },
  { fault: { kind: 'unknown-decline-code' }, ...kept('declined card_declined unknown', 0) },
];

function keyOf(order: Order): string {
  return `order-${order.terms.orderId}-1`;
}

function summary(outcome: AuthorizationOutcome): string {
  switch (outcome.kind) {
    case 'approved':
      return 'approved';
    case 'declined':
      return `declined ${outcome.reason} ${outcome.class}`;
    case 'contradicted':
      return `contradicted ${outcome.reason}`;
    case 'rejected':
      return `rejected ${outcome.code}`;
    case 'unavailable':
    case 'unknown':
      return `${outcome.kind} ${outcome.cause}${outcome.retryAfterMs === undefined ? '' : ` after ${outcome.retryAfterMs}`}`;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
