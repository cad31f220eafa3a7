/**
 * A message's body taken apart for a copy of it: the card out, and a sealed card in. The rest stays as it is: same
 * members, same order, numbers with their source text.
 */
import { cardFieldsOf } from './card-data.ts';
import {
  fieldOf,
  isJsonObject,
  jsonText,
  MAX_BODY_BYTES,
  readJson,
  type JsonObject,
  type JsonValue,
} from './json-text.ts';

export type CardInBody =
  /** A token, or no order at all: nothing to hide. */
  | { readonly kind: 'none' }
  | { readonly kind: 'sealed'; readonly jwe: string; readonly replacedBy: ReplaceCard }
  | { readonly kind: 'clear'; readonly content: CardContent; readonly replacedBy: ReplaceCard };

/** The body with this sealed card instead of the card that is there. */
type ReplaceCard = (jwe: string) => Uint8Array;

/** What is sealed: the text of the three fields, `withoutCvv` once the order has its verdict. */
export interface CardContent {
  readonly whole: Uint8Array;
  readonly withoutCvv: Uint8Array;
}

const CARD_FIELDS = ['creditCardNumber', 'creditCardExpiration', 'creditCardCode'];
/** All that is read of an order besides its card. */
const ORDER_FIELDS = ['id', 'customerId', 'chargeAmount', 'currency'];

export function cardInBody(body: Uint8Array): CardInBody {
  const fields = readFields(body);
  if (fields === undefined) return { kind: 'none' };
  const replacedBy: ReplaceCard = (jwe) => bodyWith(fields, jwe);
  const jwe = fieldOf(fields, 'card');
  if (typeof jwe === 'string') return { kind: 'sealed', jwe, replacedBy };
  if (CARD_FIELDS.every((name) => (fieldOf(fields, name) ?? undefined) === undefined))
    return { kind: 'none' };
  return { kind: 'clear', content: cardContent(fields), replacedBy };
}

/** The same of a card that was sealed and is opened now; undefined when it is no card. */
export function cardContentOf(opened: Uint8Array): CardContent | undefined {
  const fields = readFields(opened);
  return fields === undefined ? undefined : cardContent(fields);
}

function cardContent(fields: JsonObject): CardContent {
  const { number, expiry, cvv } = cardFieldsOf(fields);
  const card = membersOf({ creditCardNumber: number, creditCardExpiration: expiry });
  return {
    whole: contentOf([...card, ...membersOf({ creditCardCode: cvv })]),
    withoutCvv: contentOf([...card, ['cvvRemoved', true]]),
  };
}

type Member = readonly [name: string, value: JsonValue];

function membersOf(fields: Readonly<Record<string, JsonValue | undefined>>): Member[] {
  return Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
}

function contentOf(members: readonly Member[]): Uint8Array {
  return Buffer.from(jsonText(objectOf(members)));
}

function bodyWith(fields: JsonObject, jwe: string): Uint8Array {
  const others = Object.entries(fields).filter(([name]) => name !== 'card' && !CARD_FIELDS.includes(name));
  const whole = contentOf([...others, ['card', jwe]]);
  if (whole.byteLength <= MAX_BODY_BYTES) return whole;
  // The sealed card made it too large to be read again: unknown fields go first, they mean nothing here.
  return contentOf([...others.filter(([name]) => ORDER_FIELDS.includes(name)), ['card', jwe]]);
}

/** Own fields whatever they are called, `__proto__` too. */
function objectOf(members: readonly Member[]): JsonObject {
  return Object.fromEntries(members);
}

function readFields(body: Uint8Array): JsonObject | undefined {
  const json = readJson(body);
  return json.kind === 'read' && isJsonObject(json.value) ? json.value : undefined;
}
