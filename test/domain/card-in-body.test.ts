import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { admit, admitOpened } from '../../src/domain/admission.ts';
import { cardContentOf, cardInBody } from '../../src/domain/card-in-body.ts';
import { MAX_BODY_BYTES } from '../../src/domain/json-text.ts';
import type { OpenAdmission } from '../../src/domain/order.ts';
import { bytes, orderText, RULES, WITHOUT_CARD } from './order-text.ts';

const JWE = `eyJhbGciOiJkaXIifQ..${'i'.repeat(16)}.${'c'.repeat(40)}.${'t'.repeat(22)}`;

describe('a body whose card is sealed', () => {
  test('keeps everything else: members, order, the text of numbers', () => {
    const text = orderText({
      chargeAmount: '42.230',
      big: '9007199254740993',
      float: '1e2',
      __proto__: '{"a":[null,true,"\\u0000"]}',
      text: '"\\ud800é\\""',
    });
    assert.equal(
      sealedText(text),
      `{"id":1234,"customerId":5678,"chargeAmount":42.230,"big":9007199254740993,"float":1e2,` +
        `"text":"\\ud800é\\"","card":"${JWE}"}`,
    );
  });

  test('keeps a member called __proto__', () => {
    const text = orderText().replace('{', '{"__proto__":{"id":9},');
    assert.match(sealedText(text), /^\{"__proto__":\{"id":9\},"id":1234,/);
  });

  test('is the same order as before, for whatever the worker takes as one', () => {
    const card = fc.constantFrom(
      '1111222233334444',
      '"4242 4242-4242 4242"',
      '6205500000000000004',
      '"4242"',
      '"\\ud800"',
    );
    const expiry = fc.constantFrom('12014', '"012014"', '"132014"');
    const cvv = fc.constantFrom('12', '0', '"012"', '"12"', '1234');
    const note = fc.json().map((text) => text.replaceAll(/\s/g, ' '));
    fc.assert(
      fc.property(card, expiry, cvv, note, (creditCardNumber, creditCardExpiration, creditCardCode, note) => {
        const text = orderText({ creditCardNumber, creditCardExpiration, creditCardCode, note });
        const admission = admit(bytes(text), RULES);
        fc.pre(admission.kind !== 'park');
        const found = clear(text);
        assert.deepEqual(readAgain(found.replacedBy(JWE), found.content.whole), admission);
        const spent = readAgain(found.replacedBy(JWE), found.content.withoutCvv);
        assert.ok(spent.kind === 'spent' && admission.kind !== 'sealed');
        assert.deepEqual(spent.terms, admission.kind === 'ok' ? admission.order.terms : admission.terms);
      }),
      { numRuns: 200 },
    );
  });

  test('that grew too large to be read again loses what nobody reads, and nothing else', () => {
    const text = orderText({ note: `"${'x'.repeat(MAX_BODY_BYTES - 180)}"` });
    assert.equal(admit(bytes(text), RULES).kind, 'ok');
    const found = clear(text);
    assert.deepEqual(readAgain(found.replacedBy(JWE), found.content.whole), admit(bytes(text), RULES));
  });

  test('gives the card, and without a CVV no trace of it', () => {
    const { content } = clear(orderText({ creditCardCode: '"739"' }));
    assert.equal(
      Buffer.from(content.whole).toString(),
      '{"creditCardNumber":1111222233334444,"creditCardExpiration":"012014","creditCardCode":"739"}',
    );
    const withoutCvv =
      '{"creditCardNumber":1111222233334444,"creditCardExpiration":"012014","cvvRemoved":true}';
    assert.equal(Buffer.from(content.withoutCvv).toString(), withoutCvv);
    const again = cardContentOf(content.withoutCvv);
    assert.equal(Buffer.from(again?.withoutCvv ?? []).toString(), withoutCvv);
  });

  test('is nothing to seal without a card, and known as sealed when it is', () => {
    assert.equal(cardInBody(bytes(orderText({ ...WITHOUT_CARD, paymentMethod: '"pm_1"' }))).kind, 'none');
    assert.equal(cardInBody(bytes('no JSON')).kind, 'none');
    const sealed = cardInBody(bytes(orderText({ ...WITHOUT_CARD, card: `"${JWE}"` })));
    assert.ok(sealed.kind === 'sealed');
    assert.equal(sealed.jwe, JWE);
    assert.equal(cardContentOf(bytes('no JSON')), undefined);
  });
});

function clear(text: string) {
  const found = cardInBody(bytes(text));
  assert.ok(found.kind === 'clear');
  return found;
}

function sealedText(text: string): string {
  return Buffer.from(clear(text).replacedBy(JWE)).toString();
}

function readAgain(body: Uint8Array, content: Uint8Array): OpenAdmission {
  const admission = admit(body, RULES);
  assert.ok(admission.kind === 'sealed');
  return admitOpened(admission.order, content, RULES);
}
