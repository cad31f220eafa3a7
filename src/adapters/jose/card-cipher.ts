import {
  CompactEncrypt,
  compactDecrypt,
  decodeProtectedHeader,
  type CompactJWEHeaderParameters,
  type JWK,
} from 'jose';
import type { CardKey } from '../../domain/sealed-card.ts';
import type { CardCipher } from '../../ports/card-cipher.ts';

/** The one content encryption: authenticated, and of a fixed shape (sealed-card.ts). */
const ENCRYPTION = 'A256GCM';
/** Whatever else a header may ask for (compression, extensions, keys from a URL) is not done. */
const HEADER_MEMBERS = ['alg', 'enc', 'kid', 'typ', 'cty', 'epk', 'apu', 'apv'];

/** `keys` were checked when the configuration was read; all of them open, the first one seals. */
export function createCardCipher(keys: readonly [CardKey, ...CardKey[]]): CardCipher {
  const openers = keys.map((key): Opener => ({ ...key, jwk: membersOf(key) }));
  const [{ algorithm: alg, kid }] = keys;
  const sealingKey = publicHalf(membersOf(keys[0]));

  return {
    async open(jwe) {
      const header = readHeader(jwe);
      if (header === undefined) return undefined;
      for (const opener of openersFor(header, openers)) {
        const content = await tryToOpen(jwe, opener);
        if (content !== undefined) return content;
      }
      return undefined;
    },

    seal(content) {
      const header = { alg, enc: ENCRYPTION, ...(kid !== undefined && { kid }) };
      return new CompactEncrypt(content).setProtectedHeader(header).encrypt(sealingKey);
    },
  };
}

/** The same object at every call: jose keeps what it made of it. */
type Opener = Omit<CardKey, 'jwk'> & { readonly jwk: JWK };

function readHeader(jwe: string): CompactJWEHeaderParameters | undefined {
  try {
    const header = decodeProtectedHeader(jwe) as CompactJWEHeaderParameters;
    const isPlain = Object.keys(header).every((name) => HEADER_MEMBERS.includes(name));
    return isPlain && header.enc === ENCRYPTION ? header : undefined;
  } catch {
    return undefined;
  }
}

/** Those of the header's algorithm: the key it names, or all of them when we know none of that name. */
function openersFor(header: CompactJWEHeaderParameters, openers: readonly Opener[]): readonly Opener[] {
  const fitting = openers.filter(({ algorithm }) => algorithm === header.alg);
  const named = fitting.filter(({ kid }) => kid !== undefined && kid === header.kid);
  return named.length > 0 ? named : fitting;
}

/** Any failure is the same failure: what went wrong must not be told apart from outside. */
async function tryToOpen(jwe: string, { algorithm, jwk }: Opener): Promise<Uint8Array | undefined> {
  try {
    const { plaintext } = await compactDecrypt(jwe, jwk, {
      keyManagementAlgorithms: [algorithm],
      contentEncryptionAlgorithms: [ENCRYPTION],
    });
    return plaintext;
  } catch {
    return undefined;
  }
}

function membersOf({ jwk, algorithm }: CardKey): JWK {
  const members = JSON.parse(jwk.reveal()) as JWK;
  return algorithm === 'dir' ? members : { ...members, alg: algorithm };
}

/** A shared key has one half only. */
function publicHalf(jwk: JWK): JWK {
  const { alg, kty, n, e, crv, x, y } = jwk;
  if (kty === 'RSA') return { alg, kty, n, e } as JWK;
  if (kty === 'EC') return { alg, kty, crv, x, y } as JWK;
  return jwk;
}
