/**
 * The three card fields of an order to a card that may be sent to the gateway.
 *
 * Only what no gateway could use is denied here; whether a card exists, is expired or has this CVV is the gateway's to
 * say. A number token that is not plain digits (`4.2E15`, `12.0`, `-1`), or no text at all, is upstream's bug and
 * never denies a customer. Plain number tokens lost their leading zeros on the way, and get them back.
 * Sources: ISO/IEC 7812-1 (length, Luhn), the brands' published number ranges.
 */
import { Secret, type Card } from './card.ts';
import { fieldOf, numberTextOf, type JsonObject, type JsonValue } from './json-text.ts';
import { read, unreadable, type Reading, type Unreadable } from './reading.ts';

export interface CardFields {
  readonly number: JsonValue | undefined;
  /** MMYYYY. */
  readonly expiry: JsonValue | undefined;
  readonly cvv: JsonValue | undefined;
}

export type CardReading =
  | { readonly kind: 'usable'; readonly card: Card; readonly identity: CardIdentity }
  | { readonly kind: 'hopeless'; readonly detail: string; readonly identity: CardIdentity }
  | Unreadable;

/** What tells one card from another, usable or not. */
export interface CardIdentity {
  readonly kind: 'card';
  /** As upstream wrote it, without spaces and hyphens. */
  readonly number: Secret;
  /** As upstream wrote it, with the zeros that a number token lost. */
  readonly expiry: string;
  readonly brand?: CardBrand;
  /** Only of a well-formed card number: the end of anything else may be anything. */
  readonly last4?: string;
}

export type CardBrand = 'amex' | 'diners' | 'discover' | 'jcb' | 'mastercard' | 'unionpay' | 'visa';

/** The three card fields of a message, or of a sealed card; null counts as absent. */
export function cardFieldsOf(fields: JsonObject): CardFields {
  return {
    number: fieldOf(fields, 'creditCardNumber') ?? undefined,
    expiry: fieldOf(fields, 'creditCardExpiration') ?? undefined,
    cvv: fieldOf(fields, 'creditCardCode') ?? undefined,
  };
}

export function readCard(fields: CardFields): CardReading {
  const identified = identifyCard(fields);
  if (identified.kind === 'unreadable') return identified;
  const identity = identified.value;
  const { expiry } = identity;
  const number = identity.number.reveal();
  const brand = brandOf(number);
  const cvv = spellDigits(fields.cvv, brand === 'amex' ? 4 : 3);
  if (cvv === undefined) return noDigits('creditCardCode');

  const fault = faultOfNumber(number) ?? faultOfExpiry(expiry) ?? faultOfCvv(cvv, brand);
  if (fault !== undefined) return { kind: 'hopeless', detail: fault, identity };
  const card: Card = {
    number: identity.number,
    cvv: new Secret(cvv),
    expiryMonth: Number(expiry.slice(0, 2)),
    expiryYear: Number(expiry.slice(2)),
  };
  return { kind: 'usable', card, identity };
}

/** Which card it is, usable or not; the CVV has no part in that. */
export function identifyCard(fields: CardFields): Reading<CardIdentity> {
  const number = spellNumber(fields.number);
  if (number === undefined) return noDigits('creditCardNumber');
  const expiry = spellDigits(fields.expiry, 6);
  if (expiry === undefined) return noDigits('creditCardExpiration');
  const brand = brandOf(number);
  return read({
    kind: 'card',
    number: new Secret(number),
    expiry,
    ...(faultOfNumber(number) === undefined && {
      last4: number.slice(-4),
      ...(brand !== undefined && { brand }),
    }),
  });
}

function noDigits(field: string): Unreadable {
  const detail = `${field} is missing or neither a string nor a plain integer: send it as a string of digits`;
  return unreadable('card_format', detail);
}

/** Spaces and hyphens are how people write card numbers. */
function spellNumber(value: JsonValue | undefined): string | undefined {
  return spellDigits(value, 0)?.replaceAll(/[ -]/g, '');
}

/** A string as it is; a number with its leading zeros restored to `width` digits. */
function spellDigits(value: JsonValue | undefined, width: number): string | undefined {
  if (typeof value === 'string') return value;
  const numberText = numberTextOf(value);
  if (numberText === undefined || !/^\d+$/.test(numberText)) return undefined;
  return numberText.padStart(width, '0');
}

function faultOfNumber(number: string): string | undefined {
  if (!/^\d{12,19}$/.test(number)) return 'creditCardNumber does not have 12-19 digits: ask for another card';
  if (/^0+$/.test(number)) return 'creditCardNumber is all zeros: ask for another card';
  if (!passesLuhn(number)) return 'creditCardNumber fails its check digit: ask for another card';
  return undefined;
}

function faultOfExpiry(expiry: string): string | undefined {
  if (/^(?:0[1-9]|1[0-2])\d{4}$/.test(expiry)) return undefined;
  return 'creditCardExpiration is not MMYYYY: ask for the card again';
}

function faultOfCvv(cvv: string, brand: CardBrand | undefined): string | undefined {
  const lengths = cvvLengths(brand);
  if (/^\d+$/.test(cvv) && lengths.includes(cvv.length)) return undefined;
  return `creditCardCode does not have ${lengths.join(' or ')} digits: ask for the card again`;
}

function cvvLengths(brand: CardBrand | undefined): readonly number[] {
  if (brand === undefined) return [3, 4];
  return brand === 'amex' ? [4] : [3];
}

/** ISO/IEC 7812-1, annex B: from the right, every second digit doubled, the sum of all digits a multiple of ten. */
function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let fromRight = 0; fromRight < digits.length; fromRight++) {
    const digit = Number(digits.at(-1 - fromRight));
    const weighted = fromRight % 2 === 0 ? digit : digit * 2;
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum % 10 === 0;
}

/** The large brands; a number of no known brand is sent all the same. */
const BRAND_PREFIXES: readonly (readonly [CardBrand, RegExp])[] = [
  ['visa', /^4/],
  ['mastercard', /^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/],
  ['amex', /^3[47]/],
  ['diners', /^3(?:0[0-5]|095|[689])/],
  ['jcb', /^35(?:2[89]|[3-8])/],
  ['discover', /^6(?:011|4[4-9]|5)/],
  ['unionpay', /^(?:62|81)/],
];

function brandOf(number: string): CardBrand | undefined {
  return BRAND_PREFIXES.find(([, prefix]) => prefix.test(number))?.[0];
}
