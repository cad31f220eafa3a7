/**
 * Where a gateway counts an amount in other units than ISO 4217's. Orders, the database and notifications keep to ISO
 * 4217; only what goes over the wire, and what an answer is compared with, is in the gateway's units.
 */
import { minorUnitExponent } from '../../domain/currencies.ts';
import type { Money, Order } from '../../domain/order.ts';
import type { Rejected } from '../../domain/outcome.ts';

export interface AmountRules {
  /** Decimals of the currencies whose amounts have more or fewer of them at the gateway. */
  readonly exponents: Readonly<Record<string, number>>;
  /** Of these currencies the gateway takes only multiples, in its own units. */
  readonly multiplesOf: Readonly<Record<string, bigint>>;
}

/** What becomes of an order whose amount the gateway cannot express: amounts are never rounded. */
export const AMOUNT_NOT_EXPRESSIBLE: Rejected = {
  kind: 'rejected',
  code: 'amount_not_expressible',
  unasked: true,
};

/** The same order with its amount in the gateway's units; undefined when it has none in them. */
export function inGatewayUnits(order: Order, rules: AmountRules): Order | undefined {
  const terms = termsInGatewayUnits(order.terms, rules);
  return terms === undefined ? undefined : { ...order, terms };
}

export function termsInGatewayUnits<T extends Money>(terms: T, rules: AmountRules): T | undefined {
  const amountMinor = gatewayAmount(terms, rules);
  return amountMinor === undefined ? undefined : { ...terms, amountMinor };
}

/** The way back: what the gateway counts, in minor units; undefined when ISO 4217 has no such amount. */
export function fromGatewayUnits({ amountMinor, currency }: Money, rules: AmountRules): bigint | undefined {
  return shifted(amountMinor, -decimalsAdded(currency, rules));
}

function gatewayAmount({ amountMinor, currency }: Money, rules: AmountRules): bigint | undefined {
  const amount = shifted(amountMinor, decimalsAdded(currency, rules));
  const multipleOf = rules.multiplesOf[currency] ?? 1n;
  return amount !== undefined && amount % multipleOf === 0n ? amount : undefined;
}

function decimalsAdded(currency: string, { exponents }: AmountRules): number {
  const exponent = minorUnitExponent(currency) ?? 0;
  return (exponents[currency] ?? exponent) - exponent;
}

function shifted(amount: bigint, decimals: number): bigint | undefined {
  if (decimals >= 0) return amount * 10n ** BigInt(decimals);
  const divisor = 10n ** BigInt(-decimals);
  return amount % divisor === 0n ? amount / divisor : undefined;
}
