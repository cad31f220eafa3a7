/**
 * The field `card` of an order: the card as a compact JWE (RFC 7516) in place of the three card fields, so that no
 * hop on the way sees them.
 *
 * - Its content is a JSON object of the three fields, each written as in an order:
 *   `{"creditCardNumber":"4242424242424242","creditCardExpiration":"122034","creditCardCode":"123"}`, at most 1 KiB.
 * - `enc` is A256GCM. `alg` follows from the key: RSA-OAEP-256 for RSA of 2048 bits or more, ECDH-ES+A256KW for P-256,
 *   P-384 and P-521, dir for 32 bytes shared with upstream. Nothing else is opened, and nothing compressed.
 * - Copies that a worker makes (retry, parked) carry the card like this too. Once the order has its verdict, the CVV
 *   may no longer be kept in any form (PCI DSS 3.3.1): `"cvvRemoved":true` stands in its place.
 * - What is wrong with a card that could not be opened is not said, to sender or log: that would be an oracle.
 */
import { cardFieldsOf, identifyCard, readCard, type CardIdentity, type CardReading } from './card-data.ts';
import type { Secret } from './card.ts';
import { fieldOf, isJsonObject, readJson, type JsonObject, type JsonValue } from './json-text.ts';
import { unreadable, type Reading, type Unreadable } from './reading.ts';

/** A key that opens sealed cards; the first one of a worker also seals. */
export interface CardKey {
  readonly algorithm: 'RSA-OAEP-256' | 'ECDH-ES+A256KW' | 'dir';
  readonly kid: string | undefined;
  /** JWK (RFC 7517) as JSON text, the key's own members only, the private ones included. */
  readonly jwk: Secret;
}

/** What was in a sealed card. */
export type OpenedCard =
  | CardReading
  /** Its CVV was removed after the verdict. */
  | { readonly kind: 'spent'; readonly identity: CardIdentity };

/** Enough for RSA of 16384 bits. */
const LONGEST_JWE = 6_144;
const LONGEST_CONTENT_BYTES = 1_024;
/** Header (a JSON object), key, 96-bit IV, ciphertext and 128-bit tag, all in base64url: what A256GCM makes of it. */
const COMPACT_JWE = /^eyJ[\w-]{8,}\.[\w-]*\.[\w-]{16}\.[\w-]+\.[\w-]{22}$/;

export function readSealedCard(value: JsonValue): Reading<string> {
  if (typeof value === 'string' && value.length <= LONGEST_JWE && COMPACT_JWE.test(value)) {
    return { kind: 'read', value };
  }
  return unreadable(
    'card_format',
    `card must be a compact JWE with enc A256GCM, of at most ${LONGEST_JWE} characters`,
  );
}

/** `content` is undefined when no key of ours opened it. */
export function readOpenedCard(content: Uint8Array | undefined): OpenedCard {
  const fields = content === undefined ? undefined : fieldsOf(content);
  if (fields === undefined) return notOpened();
  const card = cardFieldsOf(fields);
  if (fieldOf(fields, 'cvvRemoved') === true && card.cvv === undefined) {
    const identity = identifyCard(card);
    return identity.kind === 'read' ? { kind: 'spent', identity: identity.value } : identity;
  }
  return readCard(card);
}

function fieldsOf(content: Uint8Array): JsonObject | undefined {
  if (content.byteLength > LONGEST_CONTENT_BYTES) return undefined;
  const json = readJson(content);
  return json.kind === 'read' && isJsonObject(json.value) ? json.value : undefined;
}

function notOpened(): Unreadable {
  return unreadable(
    'card_unreadable',
    "card could not be opened with this worker's keys: check CARDAUTH_CARD_KEY and the key that upstream seals with",
  );
}
