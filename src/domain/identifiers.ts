/**
 * Ids of orders and customers, in their canonical form: text.
 *
 * An order id is the idempotency identity: two spellings of one id would be two charges. So `1234` and `"1234"` are
 * one order, and a spelling that some other system may shorten to a plain integer is refused.
 *
 * | order id | |
 * |---|---|
 * | number `1234` up to 2^63-1 | ok, its source text |
 * | number `0`, `-5`, `1234.0`, `1e3`, above 2^63-1 | refused |
 * | string of 1-128 visible ASCII characters | ok, as it is: `"007"`, `"1e3"`, `"1001.5"` and digits of any length |
 * | string that spells a signed integer, zero, or an integer as a float: `"-5"`, `"+1"`, `"0"`, `"000"`, `"1234.0"` | refused |
 * | other strings: spaces, line breaks, control or non-ASCII characters, empty, too long | refused |
 */
import { numberTextOf, type JsonValue } from './json-text.ts';
import type { OrderId } from './order.ts';
import { read, unreadable, type Reading } from './reading.ts';

const MAX_ID_LENGTH = 128;
const MAX_INT64 = 2n ** 63n - 1n;

export function readOrderId(value: JsonValue | undefined): Reading<OrderId> {
  if (typeof value === 'string') return readOrderIdText(value);
  const numberText = numberTextOf(value);
  if (numberText === undefined) {
    return unreadable('unparseable', 'id is missing or neither a number nor a string');
  }
  if (!isPositiveInt64(numberText)) {
    return unreadable('id_format', 'id as a number must be an integer from 1 to 2^63-1, written plainly');
  }
  return read(numberText);
}

function readOrderIdText(id: string): Reading<OrderId> {
  if (id.length > MAX_ID_LENGTH || !/^[!-~]+$/.test(id)) {
    return unreadable('id_format', `id must have 1-${MAX_ID_LENGTH} visible ASCII characters and no spaces`);
  }
  if (/^(?:[+-]\d+(?:\.0*)?|\d+\.0*|0+)$/.test(id)) {
    return unreadable(
      'id_format',
      'id is zero, signed, or an integer written as a float: it may be another spelling of some other id',
    );
  }
  return read(id);
}

/**
 * A customer id is passed through: an integer of 64 bits, or 1-128 characters of any script without control, format
 * or separator characters other than inner spaces (they would end up in logs, consoles and text columns).
 */
export function readCustomerId(value: JsonValue | undefined): Reading<string> {
  const numberText = numberTextOf(value);
  if (numberText !== undefined && (numberText === '0' || isPositiveInt64(numberText))) {
    return read(numberText);
  }
  if (typeof value === 'string' && isPrintable(value)) return read(value);
  return unreadable(
    'customer_format',
    `customerId must be an integer from 0 to 2^63-1, or a string of 1-${MAX_ID_LENGTH} printable characters`,
  );
}

function isPrintable(text: string): boolean {
  if (text.length === 0 || text.length > MAX_ID_LENGTH || text.trim() !== text) return false;
  return !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(text);
}

function isPositiveInt64(text: string): boolean {
  return /^[1-9]\d{0,18}$/.test(text) && BigInt(text) <= MAX_INT64;
}
