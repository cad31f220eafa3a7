import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CompactEncrypt, FlattenedEncrypt, decodeProtectedHeader, importJWK, type JWK } from 'jose';
import { createCardCipher } from '../../src/adapters/jose/card-cipher.ts';
import { cardKeys } from '../../src/config/card-keys.ts';
import { readSealedCard } from '../../src/domain/sealed-card.ts';
import { ecKey, publicPart, rsaKey, sharedKey } from './keys.ts';

const CONTENT = Buffer.from('{"creditCardNumber":"4242424242424242"}');

describe('the card cipher', () => {
  const kinds = [
    ['RSA-OAEP-256', rsaKey()],
    ['ECDH-ES+A256KW', ecKey('P-256')],
    ['ECDH-ES+A256KW', ecKey('P-521')],
    ['dir', sharedKey()],
  ] as const;
  for (const [algorithm, jwk] of kinds) {
    it(`opens what it sealed, and what upstream sealed: ${algorithm}, ${String(jwk.crv ?? jwk.kty)}`, async () => {
      const cipher = cipherOf(jwk);
      const ours = await cipher.seal(CONTENT);
      assert.deepEqual(decodeProtectedHeader(ours).enc, 'A256GCM');
      assert.deepEqual(decodeProtectedHeader(ours).alg, algorithm);
      assert.equal(readSealedCard(ours).kind, 'read');
      assert.deepEqual(Buffer.from((await cipher.open(ours)) ?? []), CONTENT);
      const theirs = await upstreamSeals(publicPart(jwk), { alg: algorithm, enc: 'A256GCM', typ: 'JWE' });
      assert.deepEqual(Buffer.from((await cipher.open(theirs)) ?? []), CONTENT);
    });

    it(`opens nothing that was changed, in any part: ${algorithm}, ${String(jwk.crv ?? jwk.kty)}`, async () => {
      const cipher = cipherOf(jwk);
      const parts = (await cipher.seal(CONTENT)).split('.');
      for (const [index, part] of parts.entries()) {
        if (part === '') continue;
        const middle = Math.floor(part.length / 2);
        const changed = part.slice(0, middle) + (part[middle] === 'A' ? 'B' : 'A') + part.slice(middle + 1);
        assert.equal(await cipher.open(parts.with(index, changed).join('.')), undefined, `part ${index}`);
      }
    });
  }

  it('opens nothing sealed with another key, and seals nothing twice alike', async () => {
    const cipher = cipherOf(sharedKey());
    const [one, two] = [await cipher.seal(CONTENT), await cipher.seal(CONTENT)];
    assert.notEqual(one, two);
    assert.equal(await cipherOf(sharedKey()).open(one), undefined);
  });

  it('opens with every key of a set, by name and without, and seals with the first', async () => {
    const [older, newer] = [
      { ...rsaKey(), kid: 'older' },
      { ...rsaKey(), kid: 'newer' },
    ];
    const both = cipherOf({ keys: [newer, older] });
    const sealedBefore = await cipherOf(older).seal(CONTENT);
    assert.equal(decodeProtectedHeader(await both.seal(CONTENT)).kid, 'newer');
    assert.notEqual(await both.open(sealedBefore), undefined);
    const nameless = await upstreamSeals(publicPart(older), { alg: 'RSA-OAEP-256', enc: 'A256GCM' });
    assert.notEqual(await both.open(nameless), undefined);
    const unknown = await upstreamSeals(publicPart(older), { alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: 'x' });
    assert.notEqual(await both.open(unknown), undefined);
  });

  const shared = sharedKey();
  const foreign = [
    { alg: 'A256KW', enc: 'A256GCM' },
    { alg: 'A256GCMKW', enc: 'A256GCM' },
    { alg: 'dir', enc: 'A256CBC-HS512' },
    { alg: 'none', enc: 'A256GCM' },
    { alg: 'none' },
    { alg: 'RSA1_5', enc: 'A256GCM' },
    { alg: 'PBES2-HS512+A256KW', enc: 'A256GCM', p2s: 'c2FsdHNhbHRzYWx0', p2c: 1_000_000_000 },
    { alg: 'dir', enc: 'A256GCM', zip: 'DEF' },
    { alg: 'dir', enc: 'A256GCM', crit: ['exp'], exp: 1 },
    { alg: 'dir', enc: 'A256GCM', jku: 'http://127.0.0.1/keys' },
    { alg: 7, enc: 'A256GCM' },
    {},
  ];
  for (const header of foreign) {
    it(`opens nothing under the header ${JSON.stringify(header)}`, async () => {
      const [, ...rest] = (await cipherOf(shared).seal(CONTENT)).split('.');
      const forged = [Buffer.from(JSON.stringify(header)).toString('base64url'), ...rest].join('.');
      assert.equal(await cipherOf(shared).open(forged), undefined);
    });
  }

  it('opens nothing compressed, though it is sealed properly otherwise', async () => {
    const key = await importJWK(shared, 'dir');
    const { protected: header = '', ...parts } = await new FlattenedEncrypt(CONTENT)
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', cty: 'x', 'x-other': 1 })
      .encrypt(key);
    const jwe = [header, '', parts.iv, parts.ciphertext, parts.tag].join('.');
    assert.equal(await cipherOf(shared).open(jwe), undefined);
  });

  it('takes a key of one kind for that kind only', async () => {
    const rsa = rsaKey();
    const sha1 = await upstreamSeals(publicPart(rsa), { alg: 'RSA-OAEP', enc: 'A256GCM' });
    assert.equal(await cipherOf(rsa).open(sha1), undefined);
    const small = await upstreamSeals(publicPart(rsa), { alg: 'RSA-OAEP-256', enc: 'A128GCM' });
    assert.equal(await cipherOf(rsa).open(small), undefined);
  });

  for (const text of ['', '.', '....', 'eyJ.eyJ.eyJ.eyJ.eyJ', 'not a JWE', '\u0000'.repeat(100)]) {
    it(`opens nothing that is ${JSON.stringify(text.slice(0, 20))}`, async () => {
      assert.equal(await cipherOf(shared).open(text), undefined);
    });
  }
});

function cipherOf(jwk: JWK | { keys: JWK[] }) {
  return createCardCipher(cardKeys.parse(JSON.stringify(jwk)));
}

async function upstreamSeals(jwk: JWK, header: { alg: string; enc: string; [name: string]: unknown }) {
  const key = await importJWK(jwk, header.alg);
  return new CompactEncrypt(CONTENT).setProtectedHeader(header).encrypt(key);
}
