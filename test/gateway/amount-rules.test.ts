import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ADYEN_AMOUNTS } from '../../src/adapters/gateway/adyen-amounts.ts';
import { inGatewayUnits, type AmountRules } from '../../src/adapters/gateway/amount-rules.ts';
import { STRIPE_AMOUNTS } from '../../src/adapters/gateway/stripe-amounts.ts';
import { minorUnitExponent } from '../../src/domain/currencies.ts';
import { anOrder } from './orders.ts';

/** Minor units of ISO 4217, and what goes over the wire; undefined: cannot be expressed there. */
type Row = readonly [currency: string, amountMinor: bigint, wire: bigint | undefined];

const STRIPE: readonly Row[] = [
  ['USD', 4223n, 4223n],
  ['JPY', 500n, 500n],
  ['ISK', 5n, 500n],
  ['UGX', 5n, 500n],
  ['CLP', 5n, 5n],
  ['MGA', 500n, 5n],
  ['MGA', 501n, undefined],
  ['HUF', 1045n, 1045n],
  ['TWD', 1045n, 1045n],
  ['KWD', 5120n, 5120n],
  ['KWD', 5124n, undefined],
  ['TND', 1n, undefined],
];

const ADYEN: readonly Row[] = [
  ['USD', 4223n, 4223n],
  ['JPY', 500n, 500n],
  ['ISK', 5n, 500n],
  ['CLP', 5n, 500n],
  ['CVE', 500n, 5n],
  ['CVE', 501n, undefined],
  ['IDR', 1_500_000n, 15_000n],
  ['IDR', 1_500_050n, undefined],
  ['UGX', 5n, 5n],
  ['KWD', 5124n, 5124n],
  ['USD', 999_999_999_999_999_999n, 999_999_999_999_999_999n],
];

const gateways: readonly (readonly [string, AmountRules, readonly Row[]])[] = [
  ['Stripe', STRIPE_AMOUNTS, STRIPE],
  ['Adyen', ADYEN_AMOUNTS, ADYEN],
];

for (const [name, rules, rows] of gateways) {
  describe(`amounts at ${name}`, () => {
    for (const [currency, amountMinor, wire] of rows) {
      it(`${amountMinor} of ${currency} is ${wire ?? 'not expressible'}`, () => {
        const order = inGatewayUnits(anOrder({ currency, amountMinor }), rules);
        assert.equal(order?.terms.amountMinor, wire);
      });
    }

    it('deviates only in currencies of ISO 4217, and only where it does', () => {
      for (const [currency, exponent] of Object.entries(rules.exponents)) {
        assert.notEqual(minorUnitExponent(currency), undefined, currency);
        assert.notEqual(minorUnitExponent(currency), exponent, currency);
      }
      for (const currency of Object.keys(rules.multiplesOf)) assert.equal(minorUnitExponent(currency), 3);
    });
  });
}
