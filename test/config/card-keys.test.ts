import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cardKeys } from '../../src/config/card-keys.ts';
import { loadConfig } from '../../src/config/config.ts';
import { secretTexts } from '../../src/config/secrets.ts';
import { ecKey, publicPart, rsaKey, sharedKey } from '../jose/keys.ts';

describe('CARDAUTH_CARD_KEY', () => {
  const good = [
    ['a shared key', sharedKey(), ['dir']],
    ['an RSA key', rsaKey(), ['RSA-OAEP-256']],
    ['an EC key', { ...ecKey('P-384'), kid: 'a', use: 'enc', alg: 'ECDH-ES+A256KW' }, ['ECDH-ES+A256KW']],
    ['a set', { keys: [sharedKey(), rsaKey()] }, ['dir', 'RSA-OAEP-256']],
  ] as const;
  for (const [name, jwk, algorithms] of good) {
    it(`may be ${name}`, () => {
      const keys = cardKeys.parse(JSON.stringify(jwk));
      assert.deepEqual(
        keys.map(({ algorithm }) => algorithm),
        algorithms,
      );
    });
  }

  const shared = sharedKey();
  const bad: readonly (readonly [name: string, value: unknown, complaint: RegExp])[] = [
    ['no JSON', undefined, /neither a JWK nor/],
    ['a text', 'key', /neither a JWK nor/],
    ['a list', [shared], /neither a JWK nor/],
    ['an empty set', { keys: [] }, /neither a JWK nor/],
    ['a set of nine', { keys: Array.from({ length: 9 }, sharedKey) }, /neither a JWK nor/],
    ['a set with something else', { keys: [shared, 7] }, /none of RSA, EC and oct/],
    ['nothing', {}, /none of RSA, EC and oct/],
    ['a short shared key', { kty: 'oct', k: 'c2hvcnQ' }, /not 32 bytes/],
    ['a public RSA key', publicPart(rsaKey()), /without a usable private part/],
    ['a short RSA key', rsaKey(1024), /fewer than 2048 bits/],
    ['halves of two EC keys', { ...ecKey('P-256'), d: ecKey('P-256').d }, /without a usable private part/],
    ['halves of two RSA keys', { ...rsaKey(), n: rsaKey().n }, /without a usable private part/],
    ['a public EC key', publicPart(ecKey('P-256')), /without a usable private part/],
    ['another curve', ecKey('secp256k1'), /another curve/],
    ['a signing key', { ...shared, use: 'sig' }, /not for encryption/],
    ['another algorithm', { ...rsaKey(), alg: 'RSA1_5' }, /another algorithm/],
    ['alg none', { ...shared, alg: 'none' }, /another algorithm/],
    ['a long kid', { ...shared, kid: 'x'.repeat(129) }, /kid/],
  ];
  for (const [name, value, complaint] of bad) {
    it(`may not be ${name}, and the complaint quotes nothing`, () => {
      const text = value === undefined ? '{"kty":"oct","k":"c2VjcmV0LWluLWtleQ"' : JSON.stringify(value);
      const { error } = cardKeys.safeParse(text);
      const message = error?.issues[0]?.message ?? '';
      assert.match(message, complaint);
      for (const piece of text.match(/[\w-]{7,}/g) ?? []) {
        if (!/^(RSA1_5|usage)$/.test(piece)) assert.ok(!message.includes(piece), piece);
      }
    });
  }

  it('is taken out of every log line, each private member of it', () => {
    const jwk = rsaKey();
    const loaded = loadConfig({
      env: {
        CARDAUTH_FINGERPRINT_KEY: 'fingerprint-key-16',
        CARDAUTH_CARD_KEY: JSON.stringify({ keys: [jwk, shared] }),
      },
      readFile: () => assert.fail('no files here'),
      groups: ['orders'],
    });
    assert.ok(loaded.ok);
    const texts = secretTexts(loaded.config);
    for (const member of [jwk.d, jwk.p, jwk.q, jwk.dp, jwk.dq, jwk.qi, shared.k]) {
      assert.ok(member !== undefined && texts.includes(member));
    }
    assert.ok(!texts.includes(jwk.n ?? ''));
  });
});
