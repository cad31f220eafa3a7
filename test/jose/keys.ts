import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { JWK } from 'jose';

export function sharedKey(): JWK {
  return { kty: 'oct', k: randomBytes(32).toString('base64url') };
}

export function rsaKey(modulusLength = 2048): JWK {
  return generateKeyPairSync('rsa', { modulusLength }).privateKey.export({ format: 'jwk' });
}

export function ecKey(namedCurve: string): JWK {
  return generateKeyPairSync('ec', { namedCurve }).privateKey.export({ format: 'jwk' });
}

/** What upstream gets; of a shared key the whole. */
export function publicPart({ kty, n, e, crv, x, y, k }: JWK): JWK {
  return JSON.parse(JSON.stringify({ kty, n, e, crv, x, y, k })) as JWK;
}
