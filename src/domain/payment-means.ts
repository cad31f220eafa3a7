import { cardFieldsOf, readCard, type CardIdentity, type CardReading } from './card-data.ts';
import { fieldOf, type JsonObject, type JsonValue } from './json-text.ts';
import type { PaymentMeans } from './order.ts';
import { unreadable, type Unreadable } from './reading.ts';
import { readSealedCard } from './sealed-card.ts';

export type MeansReading =
  | OpenMeansReading
  /** The field `card`: what it holds is known once it is opened. */
  | { readonly kind: 'sealed'; readonly card: string };

export type OpenMeansReading =
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

/** A gateway's token, the sealed card or the three card fields: one of them; null counts as absent. */
export function readMeans(fields: JsonObject): MeansReading {
  const paymentMethod = fieldOf(fields, 'paymentMethod') ?? undefined;
  const sealed = fieldOf(fields, 'card') ?? undefined;
  const card = cardFieldsOf(fields);
  const hasCardFields = Object.values(card).some((field) => field !== undefined);
  if ([paymentMethod !== undefined, sealed !== undefined, hasCardFields].filter(Boolean).length > 1) {
    return unreadable(
      'card_format',
      'more than one of paymentMethod, card and card fields is there: send one',
    );
  }
  if (paymentMethod !== undefined) return readToken(paymentMethod);
  if (sealed !== undefined) return readSealedMeans(sealed);
  return cardAsMeans(readCard(card));
}

function readSealedMeans(sealed: JsonValue): MeansReading {
  const reading = readSealedCard(sealed);
  return reading.kind === 'read' ? { kind: 'sealed', card: reading.value } : reading;
}

export function cardAsMeans(reading: CardReading): OpenMeansReading {
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
