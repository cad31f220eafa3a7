import { randomBytes, randomInt } from 'node:crypto';

/** Something that must be nowhere; its name may be printed. */
export interface Canary {
  readonly name: string;
  readonly text: string;
}

export interface Place {
  readonly name: string;
  readonly content: string | Buffer;
}

const CARD_PREFIX = '424242';

/** A card number that passes Luhn and that nobody has seen before: Visa's published test number with other ends. */
export function newCardNumber(): string {
  const digits = `${CARD_PREFIX}${randomInt(1e9).toString().padStart(9, '0')}`;
  return digits + checkDigit(digits);
}

/** A text with what URLs, JSON and base64 write differently. */
export function newSecret(prefix: string): string {
  return `${prefix}_${randomBytes(9).toString('hex')}+/"~`;
}

/** Where something is that should be nowhere: `place: name (form)`. */
export function sightings(canaries: readonly Canary[], places: readonly Place[]): string[] {
  const searched = places.map(({ name, content }) => ({
    name,
    content: typeof content === 'string' ? Buffer.from(content) : content,
  }));
  return canaries.flatMap(({ name, text }) =>
    formsOf(text).flatMap(([form, bytes]) =>
      searched
        .filter(({ content }) => content.includes(bytes))
        .map((place) => `${place.name}: ${name} (${form})`),
    ),
  );
}

/** The same, where reading everything once for each canary takes too long: only around what begins like a card number. */
export function sightingsInLargePlace(canaries: readonly Canary[], { name, content }: Place): string[] {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const windows: Buffer[] = [];
  for (const [, prefix] of formsOf(CARD_PREFIX)) {
    for (let at = bytes.indexOf(prefix); at >= 0; at = bytes.indexOf(prefix, at + 1)) {
      windows.push(bytes.subarray(at, at + LONGEST_FORM_BYTES));
    }
  }
  const isCard = ({ text }: Canary) => text.startsWith(CARD_PREFIX);
  return [
    ...sightings(canaries.filter(isCard), [{ name, content: Buffer.concat(windows) }]),
    ...sightings(
      canaries.filter((canary) => !isCard(canary)),
      [{ name, content: bytes }],
    ),
  ];
}

/** A card number in any form. */
const LONGEST_FORM_BYTES = 64;

/** A CVV is too short for that: it is looked for where a value may stand, other than a time, a port or a process id. */
export function cvvSightings(cvvs: readonly string[], places: readonly Place[]): string[] {
  return cvvs.flatMap((cvv) => {
    const asValue = new RegExp(String.raw`(?<!Ms|pid|port|time)(?:^|["=,\s([>]|":)${cvv}(?![\w.:-])`, 'm');
    return places
      .filter(({ content }) => asValue.test(content.toString()))
      .map((place) => `${place.name}: CVV ${cvv}`);
  });
}

/** Each way in which it could have been written down. */
export function formsOf(text: string): readonly (readonly [form: string, bytes: Buffer])[] {
  const groups = text.match(/.{1,4}/gs) ?? [];
  const hex = Buffer.from(text).toString('hex');
  const forms = [
    ['plain', text],
    ['JSON', JSON.stringify(text).slice(1, -1)],
    ['JSON in JSON', JSON.stringify(JSON.stringify(text)).slice(3, -3)],
    ['spaced', groups.join(' ')],
    ['dashed', groups.join('-')],
    ['URL-encoded', encodeURIComponent(text)],
    ['spaced, URL-encoded', groups.map(encodeURIComponent).join('%20')],
    ['form-encoded', new URLSearchParams({ '': groups.join(' ') }).toString().slice(1)],
    ['hex', hex],
    ['HEX', hex.toUpperCase()],
    ...[0, 1, 2].map((offset) => [`base64 at ${offset}`, base64At(text, offset, 'base64')]),
    ...[0, 1, 2].map((offset) => [`base64url at ${offset}`, base64At(text, offset, 'base64url')]),
  ] as const;
  return forms.map(([form = '', written = '']) => [form, Buffer.from(written)]);
}

/** What is always the same of a text's base64 when `offset` (mod 3) bytes stand before it, and anything behind it. */
function base64At(text: string, offset: number, encoding: 'base64' | 'base64url'): string {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]);
  return bytes.toString(encoding).slice(Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6));
}

function checkDigit(digits: string): string {
  const sum = Array.from(digits)
    .reverse()
    .reduce((total, digit, index) => {
      const weighted = index % 2 === 0 ? Number(digit) * 2 : Number(digit);
      return total + (weighted > 9 ? weighted - 9 : weighted);
    }, 0);
  return String((10 - (sum % 10)) % 10);
}
