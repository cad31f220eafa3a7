import { readCard, type CardFields, type CardIdentity } from './card-data.ts';
import { fieldOf, type JsonObject, type JsonValue } from './json-text.ts';
import type { PaymentMeans } from './order.ts';
import { unreadable, type Unreadable } from './reading.ts';

export type MeansReading =
  | { readonly kind: 'usable'; readonly means: PaymentMeans; readonly identity: MeansIdentity }
  /** No gateway could use it. */
  | { readonly kind: 'hopeless'; readonly detail: string; readonly identity: MeansIdentity }
  | Unreadable;

/** What tells one means to pay from another, usable or not. */
export type MeansIdentity = CardIdentity | TokenIdentity;

export interface TokenIdentity {
  readonly kind: 'token';
  readonly paymentMethod: string;
}

/** Either a gateway's token or the three card fields; null counts as absent. */
export function readMeans(fields: JsonObject): MeansReading {
  const paymentMethod = fieldOf(fields, 'paymentMethod') ?? undefined;
  const card: CardFields = {
    number: fieldOf(fields, 'creditCardNumber') ?? undefined,
    expiry: fieldOf(fields, 'creditCardExpiration') ?? undefined,
    cvv: fieldOf(fields, 'creditCardCode') ?? undefined,
  };
  if (paymentMethod === undefined) return readCardMeans(card);
  if (Object.values(card).every((field) => field === undefined)) return readToken(paymentMethod);
  return unreadable('card_format', 'both paymentMethod and card fields are there: send one or the other');
}

function readCardMeans(fields: CardFields): MeansReading {
  const reading = readCard(fields);
  if (reading.kind !== 'usable') return reading;
  const { card, identity } = reading;
  return { kind: 'usable', means: { kind: 'card', card }, identity };
}

function readToken(paymentMethod: JsonValue): MeansReading {
  if (typeof paymentMethod !== 'string' || !/^[A-Za-z0-9_-]{1,255}$/.test(paymentMethod)) {
    return unreadable('card_format', 'paymentMethod must have 1-255 letters, digits, "_" or "-"');
  }
  const token = { kind: 'token', paymentMethod } as const;
  return { kind: 'usable', means: token, identity: token };
}
