/**
 * Bytes of a message to a JSON value, without loss and within limits.
 *
 * - At most 64 KiB and 8 levels, checked before anything is built: the parser recurses.
 * - UTF-8 to the letter, no byte order mark. Escaped lone surrogates and NUL are legal JSON and pass;
 *   each field that is read refuses them by its own alphabet.
 * - A number keeps its source text: `JSON.parse` turns 9007199254740993 into ...992.
 * - A key that comes twice in one object is refused, equal values included: which one counts is a guess.
 * - No message quotes the input: it may be card data.
 */
import { isLosslessNumber, parse, stringify, type LosslessNumber } from 'lossless-json';

export type JsonValue = string | boolean | null | LosslessNumber | readonly JsonValue[] | JsonObject;

/** Read it with `fieldOf` only: keys are upstream's, `__proto__` and `toString` among them. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export type JsonReading =
  | { readonly kind: 'read'; readonly value: JsonValue }
  | { readonly kind: 'refused'; readonly reason: 'too_large' | 'unparseable'; readonly detail: string };

export const MAX_BODY_BYTES = 64 * 1024;
export const MAX_NESTING = 8;

export function readJson(body: Uint8Array): JsonReading {
  if (body.byteLength > MAX_BODY_BYTES) {
    return {
      kind: 'refused',
      reason: 'too_large',
      detail: `the body has ${body.byteLength} bytes, the limit is ${MAX_BODY_BYTES}`,
    };
  }
  const text = decodeUtf8(body);
  if (text === undefined) return unparseable('the body is not UTF-8');
  if (text.startsWith('\uFEFF'))
    return unparseable('the body starts with a byte order mark: send it without');

  const shape = shapeOf(text);
  if (shape.nesting > MAX_NESTING) return unparseable(`the body is nested deeper than ${MAX_NESTING} levels`);

  const value = parseLossless(text);
  if (value === undefined) return unparseable('the body is not one JSON value');
  if (countMembers(value) !== shape.members) {
    return unparseable('an object of the body has the same key twice: send each field once');
  }
  return { kind: 'read', value };
}

/** JSON without white space, numbers with their source text. */
export function jsonText(value: JsonValue): string {
  return stringify(value) ?? 'null';
}

/** An own field of `object`, never one of its prototype. */
export function fieldOf(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

export function isJsonObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !isArray(value) && !isLosslessNumber(value);
}

/** The source text of a JSON number; undefined for every other value. */
export function numberTextOf(value: JsonValue | undefined): string | undefined {
  return isLosslessNumber(value) ? value.value : undefined;
}

function unparseable(detail: string): JsonReading {
  return { kind: 'refused', reason: 'unparseable', detail };
}

/** `ignoreBOM` means: do not swallow it. */
const STRICT_UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decodeUtf8(body: Uint8Array): string | undefined {
  try {
    return STRICT_UTF8.decode(body);
  } catch {
    return undefined;
  }
}

/**
 * Nesting and number of object members as the text has them. It sees strings where the parser sees them, up to the
 * first fault in the text, and there the parser stops: so the parser never recurses deeper than `nesting`.
 */
function shapeOf(text: string): { nesting: number; members: number } {
  let level = 0;
  let nesting = 0;
  let members = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (inString) {
      if (char === '\\') at++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === '{' || char === '[') nesting = Math.max(nesting, ++level);
    else if (char === '}' || char === ']') level--;
    else if (char === ':') members++;
  }
  return { nesting, members };
}

/** undefined when it is not JSON; the parser's own message is dropped, it quotes the text. */
function parseLossless(text: string): JsonValue | undefined {
  try {
    return parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** The parser lets a second key with an equal value pass; then the value has fewer members than the text. */
function countMembers(value: JsonValue): number {
  if (isArray(value)) return value.reduce<number>((sum, item) => sum + countMembers(item), 0);
  if (!isJsonObject(value)) return 0;
  return Object.values(value).reduce<number>((sum, item) => sum + 1 + countMembers(item), 0);
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
