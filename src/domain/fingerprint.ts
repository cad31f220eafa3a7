import { createHmac } from 'node:crypto';
import type { Money } from './order.ts';
import type { MeansIdentity } from './payment-means.ts';

/**
 * Keyed fingerprint of what an order is: HMAC-SHA-256 in hex. Two copies of an order agree in it, and without `key`
 * nobody can search for the card number behind it.
 *
 * - The CVV is never part of it: no trace of it may be stored.
 * - The expiry is: a resend under the same idempotency key must be the same request, and the gateway refuses one with
 *   another expiry. Such a copy is a conflict and leaves the stored order alone.
 * - For hopeless card data the texts stand in for the card as upstream wrote them.
 */
export function fingerprintOf(
  key: Uint8Array,
  money: Money,
  customerId: string,
  means: MeansIdentity,
): string {
  const fields = [...meansFields(means), money.amountMinor.toString(), money.currency, customerId];
  // UTF-16 keeps lone surrogates apart, which UTF-8 would all replace by one character.
  return createHmac('sha256', key).update(fields.map(lengthPrefixed).join(''), 'utf16le').digest('hex');
}

function meansFields(means: MeansIdentity): readonly string[] {
  switch (means.kind) {
    case 'card':
      return ['card', means.number.reveal(), means.expiry];
    case 'token':
      return ['token', means.paymentMethod];
  }
}

/** So that no character can move from one field to its neighbour. */
function lengthPrefixed(field: string): string {
  return `${field.length}:${field}`;
}
