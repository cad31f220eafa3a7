/**
 * Exact decimal numbers from their text, in time and memory linear in the text, whatever the exponent says:
 * `1e400` is compared, never expanded.
 */

/** (-1)^negative x 0.DIGITS x 10^magnitude. */
export interface Decimal {
  readonly negative: boolean;
  /** Without leading and trailing zeros; empty for zero. */
  readonly digits: string;
  /** Digits before the decimal point: 42.23 has 2, 0.05 has -1. Infinite where the exponent is beyond all bounds. */
  readonly magnitude: number;
}

/** JSON's own grammar of numbers: no plus sign, no leading zero, no bare point, no spaces. */
const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** undefined when `text` is no number. */
export function parseDecimal(text: string): Decimal | undefined {
  const match = NUMBER.exec(text);
  if (match === null) return undefined;
  const [, sign = '', integer = '', fraction = '', exponent = '0'] = match;

  const negative = sign === '-';
  const written = integer + fraction;
  const leadingZeros = countLeadingZeros(written);
  if (leadingZeros === written.length) return { negative, digits: '', magnitude: 0 };
  return {
    negative,
    digits: withoutTrailingZeros(written.slice(leadingZeros)),
    magnitude: integer.length - leadingZeros + Number(exponent),
  };
}

/** Below zero, zero or above zero, as |a| is less than, equal to or greater than |b|. */
export function compareMagnitudes(a: Decimal, b: Decimal): number {
  if (a.digits === '' || b.digits === '') return a.digits.length - b.digits.length;
  if (a.magnitude !== b.magnitude) return a.magnitude - b.magnitude;
  if (a.digits === b.digits) return 0;
  return a.digits < b.digits ? -1 : 1;
}

/** How many digits after the decimal point the number needs; zero or less for an integer. */
export function decimalPlaces(decimal: Decimal): number {
  return decimal.digits.length - decimal.magnitude;
}

function countLeadingZeros(digits: string): number {
  let count = 0;
  while (digits[count] === '0') count++;
  return count;
}

// Not /0+$/, which takes quadratic time on zeros that are not at the end.
function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}
