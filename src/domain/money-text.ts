import { minorUnitExponent } from './currencies.ts';
import type { Money } from './order.ts';

/** `42.23 USD`, exact; of a currency that is no longer in the table, `4223 minor units of XYZ`. */
export function moneyText({ amountMinor, currency }: Money): string {
  const exponent = minorUnitExponent(currency);
  if (exponent === undefined) return `${amountMinor} minor units of ${currency}`;
  const digits = amountMinor.toString().padStart(exponent + 1, '0');
  const point = digits.length - exponent;
  return `${digits.slice(0, point)}${exponent === 0 ? '' : `.${digits.slice(point)}`} ${currency}`;
}
