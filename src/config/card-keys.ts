import {
  createPrivateKey,
  createPublicKey,
  sign,
  verify,
  type JsonWebKey,
  type KeyObject,
} from 'node:crypto';
import * as z from 'zod';
import { Secret } from '../domain/card.ts';
import type { CardKey } from '../domain/sealed-card.ts';

/**
 * CARDAUTH_CARD_KEY: a JWK, or a JWK set of up to eight of which all open sealed cards and the first one seals, so that
 * keys can be changed while copies sealed with the old one are still about. Kinds and algorithms: sealed-card.ts.
 */

export type CardKeys = readonly [CardKey, ...CardKey[]];

const MOST_KEYS = 8;
const CURVES = ['P-256', 'P-384', 'P-521'];
const SHORTEST_RSA_BITS = 2048;

/** Complaints never quote the text. */
export const cardKeys = z.string().transform((text, context): CardKeys => {
  const jwks = jwksOf(text);
  const keys = jwks.map(cardKeyOf);
  const complaint =
    jwks.length === 0
      ? `is neither a JWK nor a JWK set of 1-${MOST_KEYS} keys, as JSON`
      : keys.find((key) => typeof key === 'string');
  const [first, ...others] = keys.filter((key) => typeof key !== 'string');
  if (complaint === undefined && first !== undefined) return [first, ...others];
  context.addIssue({ code: 'custom', message: complaint ?? 'has no key' });
  return z.NEVER;
});

function jwksOf(text: string): readonly Jwk[] {
  const json = parsed(text);
  if (!isObject(json)) return [];
  if (!('keys' in json)) return [json];
  const { keys } = json;
  if (!Array.isArray(keys) || keys.length > MOST_KEYS) return [];
  return keys.map((key: unknown) => (isObject(key) ? key : {}));
}

/** What JSON says of a key; every member is still to be checked. */
type Jwk = Readonly<Record<string, unknown>>;

/** The key, or what is wrong with it. */
function cardKeyOf(jwk: Jwk): CardKey | string {
  const { kid, use } = jwk;
  if (use !== undefined && use !== 'enc') return 'has a key that is not for encryption (its "use")';
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > 128))
    return 'has a kid that is no short text';
  const key = ownMembersOf(jwk);
  if (typeof key === 'string') return key;
  const { algorithm, members } = key;
  // RFC 7517 lets a shared key name the content encryption that it is used with directly.
  const names: unknown[] = algorithm === 'dir' ? ['dir', 'A256GCM'] : [algorithm];
  if (jwk['alg'] !== undefined && !names.includes(jwk['alg'])) {
    return `has a key for another algorithm: a key of its kind is used with ${algorithm}`;
  }
  return { algorithm, kid, jwk: new Secret(JSON.stringify(members)) };
}

function ownMembersOf(
  jwk: Jwk,
): { readonly algorithm: CardKey['algorithm']; readonly members: JsonWebKey } | string {
  switch (jwk['kty']) {
    case 'oct':
      if (typeof jwk['k'] !== 'string' || !/^[\w-]{43}$/.test(jwk['k']))
        return 'has an oct key that is not 32 bytes';
      return { algorithm: 'dir', members: { kty: 'oct', k: jwk['k'] } };
    case 'RSA': {
      const key = privateKeyOf(jwk);
      if (key === undefined) return 'has an RSA key without a usable private part';
      const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
      if (bits < SHORTEST_RSA_BITS) return `has an RSA key of fewer than ${SHORTEST_RSA_BITS} bits`;
      return { algorithm: 'RSA-OAEP-256', members: key.export({ format: 'jwk' }) };
    }
    case 'EC': {
      if (!CURVES.includes(String(jwk['crv'])))
        return `has an EC key on another curve than ${CURVES.join(', ')}`;
      const key = privateKeyOf(jwk);
      if (key === undefined) return 'has an EC key without a usable private part';
      return { algorithm: 'ECDH-ES+A256KW', members: key.export({ format: 'jwk' }) };
    }
    default:
      return 'has a key that is none of RSA, EC and oct (its "kty")';
  }
}

function privateKeyOf(jwk: Jwk): KeyObject | undefined {
  try {
    const key = createPrivateKey({ key: jwk as JsonWebKey, format: 'jwk' });
    return isOfOnePiece(key) ? key : undefined;
  } catch {
    return undefined;
  }
}

/** A private part that belongs to another public part would seal what nobody opens again. */
function isOfOnePiece(key: KeyObject): boolean {
  const proof = Buffer.from('proof');
  return verify('sha256', proof, createPublicKey(key), sign('sha256', proof, key));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Jwk {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
