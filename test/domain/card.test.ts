import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { format, inspect } from 'node:util';
import { serialize } from 'node:v8';
import { Secret, type Card } from '../../src/domain/card.ts';

const NUMBER = '4242424242424242';
const secret = new Secret(NUMBER);
const card: Card = { number: secret, cvv: new Secret('739'), expiryMonth: 1, expiryYear: 2030 };

describe('a secret shows itself in no form', () => {
  const failure = new Error('declined', { cause: { card } });
  const forms: Readonly<Record<string, string>> = {
    string: String(secret),
    concatenation: ['', secret].join(''),
    JSON: JSON.stringify({ card }, null, 2),
    inspect: inspect(card, { depth: 9 }),
    'inspect, everything': inspect(card, { depth: 9, showHidden: true, showProxy: true, getters: true }),
    'inspect without custom forms': inspect(card, { depth: 9, showHidden: true, customInspect: false }),
    'inspect of a proxy': inspect(new Proxy(secret, {}), { showProxy: true, showHidden: true }),
    'console formats': format('%s %o %O %j %d', secret, secret, secret, secret, secret),
    'structured clone': inspect(structuredClone(card), { depth: 9, showHidden: true }),
    serialization: serialize(card).toString('latin1'),
    'copied fields': JSON.stringify([Object.assign({}, secret), Object.entries(secret)]),
    'property names': Reflect.ownKeys(secret).map(String).join(' '),
    'cause of an error': inspect(failure, { depth: 9, showHidden: true }),
    'failed assertion': messageOf(() => { assert.deepEqual({ card }, { card: null }); }),
    'use as a number': messageOf(() => BigInt(secret as unknown as string)),
  }; // prettier-ignore
  for (const [name, text] of Object.entries(forms)) {
    test(name, () => {
      assert.doesNotMatch(text, /4242|739/);
    });
  }

  test('but gives itself to a gateway dialect that asks for it', () => {
    assert.equal(secret.reveal(), NUMBER);
  });
});

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return inspect(error, { depth: 9, showHidden: true });
  }
  return assert.fail('nothing was thrown');
}
