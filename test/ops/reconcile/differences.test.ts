import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StoredOrder } from '../../../src/domain/order-states.ts';
import { differencesOf } from '../../../src/ops/reconcile/differences.ts';
import type { GatewayHold } from '../../../src/ports/gateway-holds.ts';
import {
  claimBy,
  LEASE_MS,
  orderAfter,
  OUTCOMES,
  outcomeOf,
  PARTIAL,
  SELF,
  START_MS,
  VOID_OUTCOMES,
  voided,
} from '../../domain/order-histories.ts';

const hold = (change: Partial<GatewayHold> = {}): GatewayHold => ({
  reference: 'pi_1',
  orderId: '1234',
  idempotencyKey: 'order-1234-1',
  amountMinor: 4223n,
  currency: 'USD',
  state: 'held',
  createdAtMs: START_MS,
  ...change,
});
const claimed = [claimBy(), 0, SELF] as const;
const after = (outcome: Parameters<typeof outcomeOf>[0]): StoredOrder =>
  orderAfter(claimed, [outcomeOf(outcome, 1), 0, SELF]);
const partial = after(PARTIAL);
const givenBack = orderAfter(
  claimed,
  [outcomeOf(PARTIAL, 1), 0, SELF],
  [voided(VOID_OUTCOMES.voided, PARTIAL.reference), 0, SELF],
);

const ROWS: readonly (readonly [
  what: string,
  order: StoredOrder | undefined,
  holds: readonly GatewayHold[],
  expected: string | undefined,
])[] = [
  ['approved under the same reference', after(OUTCOMES.approved), [hold()], undefined],
  ['approved, and another hold', after(OUTCOMES.approved), [hold(), hold({ reference: 'pi_2' })], 'two_approvals'],
  ['approved, and a released one', after(OUTCOMES.approved), [hold(), hold({ reference: 'pi_2', state: 'released' })], undefined],
  ['approved under another reference', after(OUTCOMES.approved), [hold({ reference: 'pi_2' })], 'two_approvals'],
  ['approved, another amount', after(OUTCOMES.approved), [hold({ amountMinor: 4224n })], 'amount_differs'],
  ['approved, no whole amount', after(OUTCOMES.approved), [hold({ amountMinor: undefined })], 'amount_differs'],
  ['approved, another currency', after(OUTCOMES.approved), [hold({ currency: 'EUR' })], 'currency_differs'],
  ['unknown', after(OUTCOMES.unknown), [hold()], 'unrecorded_approval, approve'],
  ['unknown, another amount', after(OUTCOMES.unknown), [hold({ amountMinor: 1n })], 'amount_differs'],
  ['unknown, twice', after(OUTCOMES.unknown), [hold(), hold({ reference: 'pi_2' })], 'two_approvals'],
  ['unknown, not decided there', after(OUTCOMES.unknown), [hold({ state: 'open' })], undefined],
  ['in a worker’s hand', orderAfter(claimed), [hold()], undefined],
  ['contradicted', after(OUTCOMES.contradicted), [hold()], 'unrecorded_approval'],
  ['waiting for its next try', after(OUTCOMES.declinedSoftly), [hold()], 'unrecorded_approval, stop'],
  ['proven not sent', after(OUTCOMES.unavailable), [hold()], 'unrecorded_approval, approve'],
  ['denied', after(OUTCOMES.declined), [hold()], 'held_though_denied, void'],
  ['denied, approved after all', orderAfter(claimed, [outcomeOf(OUTCOMES.declined, 1), 0, SELF], [outcomeOf(OUTCOMES.approved, 1), 0, SELF]), [hold()], undefined],
  ['partial, being given back', partial, [hold({ reference: PARTIAL.reference, amountMinor: 2000n })], undefined],
  ['partial, given back', givenBack, [hold({ reference: PARTIAL.reference, amountMinor: 2000n })], 'void_missing'],
  ['partial, given back there, too', givenBack, [hold({ reference: PARTIAL.reference, state: 'released' })], undefined],
  ['not stored', undefined, [hold()], 'unrecorded_approval'],
]; // prettier-ignore

describe('differences between an order and what the gateway holds for it', () => {
  for (const [what, order, holds, expected] of ROWS) {
    it(`${what}: ${expected ?? 'none'}`, () => {
      const found = differencesOf('1234', holds, order, START_MS + LEASE_MS - 1);
      const told = found.map(({ kind, remedy }) => (remedy === undefined ? kind : `${kind}, ${remedy}`));
      assert.deepEqual(told, expected === undefined ? [] : [expected]);
    });
  }

  it('judges an order again once its lease is over', () => {
    const [found] = differencesOf('1234', [hold()], orderAfter(claimed), START_MS + LEASE_MS);
    assert.equal(found?.remedy, 'approve');
  });
});
