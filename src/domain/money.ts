/**
 * Amounts: decimal text in major units to minor units, exact and never rounded. Both a JSON number's source text and
 * a JSON string are read by JSON's grammar of numbers, so `42.23`, `"42.23"`, `42.230` and `4.223E1` are one amount.
 */
import { minorUnitExponent } from './currencies.ts';
import { compareMagnitudes, decimalPlaces, parseDecimal, type Decimal } from './decimal.ts';
import { numberTextOf, type JsonValue } from './json-text.ts';
import type { Money } from './order.ts';
import { read, unreadable, type Reading } from './reading.ts';

export interface MoneyRules {
  /** For orders that name no currency. */
  readonly defaultCurrency: string;
  /** Decimal text in major units, whatever the currency; the amount may equal it. */
  readonly maxAmount: string;
}

/** 10^18 is below 2^63: amounts fit the system of record's 64-bit integers. */
const MAX_MINOR_DIGITS = 18;

/** Throws only when `rules.maxAmount` is no number. */
export function readMoney(
  chargeAmount: JsonValue | undefined,
  currency: JsonValue | undefined,
  rules: MoneyRules,
): Reading<Money> {
  const amount = readAmount(chargeAmount);
  if (amount.kind === 'unreadable') return amount;
  const code = readCurrency(currency, rules.defaultCurrency);
  if (code.kind === 'unreadable') return code;

  const amountMinor = minorUnits(amount.value, code.value, maximumOf(rules));
  if (amountMinor.kind === 'unreadable') return amountMinor;
  return read({ amountMinor: amountMinor.value, currency: code.value.code });
}

interface Currency {
  readonly code: string;
  readonly exponent: number;
}

/** A positive number. */
function readAmount(value: JsonValue | undefined): Reading<Decimal> {
  const text = typeof value === 'string' ? value : numberTextOf(value);
  if (text === undefined) {
    return unreadable('amount_type', 'chargeAmount must be a number or a decimal string');
  }
  const amount = parseDecimal(text);
  if (amount === undefined) {
    return unreadable('amount_format', 'chargeAmount must be a plain decimal with a point, such as "42.23"');
  }
  if (amount.digits === '')
    return unreadable('amount_zero', 'chargeAmount is zero: there is nothing to authorize');
  if (amount.negative)
    return unreadable('amount_negative', 'chargeAmount is negative: refunds are not orders');
  return read(amount);
}

/** An absent currency is the default one; null is not absent, for it may be a currency that upstream lost. */
function readCurrency(value: JsonValue | undefined, defaultCurrency: string): Reading<Currency> {
  const code = value === undefined ? defaultCurrency : value;
  const exponent = typeof code === 'string' ? minorUnitExponent(code) : undefined;
  if (typeof code !== 'string' || exponent === undefined) {
    return unreadable(
      'currency_unknown',
      'currency must be an active ISO 4217 code with minor units, in capitals, such as "USD"',
    );
  }
  return read({ code, exponent });
}

function minorUnits(amount: Decimal, { code, exponent }: Currency, maximum: Decimal): Reading<bigint> {
  if (compareMagnitudes(amount, maximum) > 0 || amount.magnitude + exponent > MAX_MINOR_DIGITS) {
    return unreadable(
      'amount_range',
      'chargeAmount is above the configured maximum: check it, then raise the maximum',
    );
  }
  const spareDecimals = exponent - decimalPlaces(amount);
  if (spareDecimals < 0) {
    return unreadable(
      'amount_precision',
      `chargeAmount has more than the ${exponent} decimals of ${code}: amounts are never rounded`,
    );
  }
  return read(BigInt(amount.digits + '0'.repeat(spareDecimals)));
}

function maximumOf(rules: MoneyRules): Decimal {
  const maximum = parseDecimal(rules.maxAmount);
  if (maximum === undefined || maximum.negative) {
    throw new Error(
      'the configured maximum amount must be a decimal number in major units, such as 999999.99',
    );
  }
  return maximum;
}
