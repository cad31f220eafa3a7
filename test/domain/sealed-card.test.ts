import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { admit, admitOpened } from '../../src/domain/admission.ts';
import type { OpenAdmission } from '../../src/domain/order.ts';
import { bytes, orderText, RULES, WITHOUT_CARD } from './order-text.ts';

/** The shape of one; nothing in the domain opens it. */
const JWE = `eyJhbGciOiJkaXIifQ..${'i'.repeat(16)}.${'c'.repeat(40)}.${'t'.repeat(22)}`;
const CONTENT = '{"creditCardNumber":1111222233334444,"creditCardExpiration":"012014","creditCardCode":123}';

describe('the field card', () => {
  test('is opened to the very order that the three fields make', () => {
    assert.deepEqual(openedAs(CONTENT), admit(bytes(orderText()), RULES));
  });

  const contents: readonly (readonly [content: string, disposition: string])[] = [
    [CONTENT.replace('4444', '4441'), 'deny invalid_card_data'],
    [CONTENT.replace('123}', '"12"}'), 'deny invalid_card_data'],
    [CONTENT.replace('123}', '12}'), 'ok'],
    [CONTENT.replace('123}', '12.0}'), 'park card_format'],
    [CONTENT.replace('"creditCardCode":123', '"note":1'), 'park card_format'],
    ['{}', 'park card_format'],
    ['', 'park card_unreadable'],
    ['[]', 'park card_unreadable'],
    ['1111222233334444', 'park card_unreadable'],
    [`${CONTENT}${' '.repeat(1024)}`, 'park card_unreadable'],
    [CONTENT.replace('{', '{"creditCardCode":123,'), 'park card_unreadable'],
    [CONTENT.replace('"creditCardCode":123', '"cvvRemoved":true'), 'spent'],
    [CONTENT.replace('"creditCardCode":123', '"cvvRemoved":"true"'), 'park card_format'],
    [CONTENT.replace('{', '{"cvvRemoved":true,'), 'ok'],
    ['{"cvvRemoved":true}', 'park card_format'],
  ];
  for (const [content, disposition] of contents) {
    test(`with ${content.slice(0, 120)} inside: ${disposition}`, () => {
      const admission = openedAs(content);
      assert.equal(`${admission.kind} ${reasonOf(admission)}`.trim(), disposition);
    });
  }

  test('that no key opens says nothing but that', () => {
    const admission = openedAs(undefined);
    assert.equal(reasonOf(admission), 'card_unreadable');
    assert.deepEqual(admission, openedAs('no JSON'));
  });

  test('keeps the terms of the order when its CVV is gone', () => {
    const spent = openedAs(CONTENT.replace('"creditCardCode":123', '"cvvRemoved":true'));
    const whole = openedAs(CONTENT);
    assert.ok(spent.kind === 'spent' && whole.kind === 'ok');
    assert.deepEqual(spent.terms, whole.order.terms);
  });

  // prettier-ignore
  const shapeless = [
    '""', '"4242424242424242"', '42', 'true', '{}', '[]', `"${JWE}."`, `" ${JWE}"`, `"${JWE.slice(0, -1)}"`, `"${JWE}="`,
    `"${JWE.replace('..', '.')}"`, `"${JWE.replace('eyJ', 'abc')}"`, `"${JWE.replace('ccc', 'c c')}"`,
    `"${JWE.replace('ccc', 'c'.repeat(7_000))}"`,
  ];
  for (const card of shapeless) {
    test(`that is ${card.slice(0, 80)} is parked as card_format`, () => {
      const admission = admit(bytes(orderText({ ...WITHOUT_CARD, card })), RULES);
      assert.ok(admission.kind === 'park');
      assert.deepEqual([admission.orderId, admission.reason], ['1234', 'card_format']);
    });
  }

  for (const beside of [
    {},
    { ...WITHOUT_CARD, paymentMethod: '"pm_1"' },
    { ...WITHOUT_CARD, creditCardCode: '123' },
  ]) {
    test(`beside other means to pay (${Object.keys(beside).join(', ')}) is parked: which one counts is a guess`, () => {
      const admission = admit(bytes(orderText({ ...beside, card: `"${JWE}"` })), RULES);
      assert.ok(admission.kind === 'park');
      assert.equal(admission.reason, 'card_format');
    });
  }

  test('that is null is absent', () => {
    assert.equal(admit(bytes(orderText({ card: 'null' })), RULES).kind, 'ok');
  });
});

function openedAs(content: string | undefined): OpenAdmission {
  const admission = admit(bytes(orderText({ ...WITHOUT_CARD, card: `"${JWE}"` })), RULES);
  assert.ok(admission.kind === 'sealed');
  assert.equal(admission.order.card, JWE);
  return admitOpened(admission.order, content === undefined ? undefined : bytes(content), RULES);
}

function reasonOf(admission: OpenAdmission): string {
  return 'reason' in admission ? admission.reason : '';
}
