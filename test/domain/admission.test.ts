import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { admit } from '../../src/domain/admission.ts';
import type { Admission, InputParkReason } from '../../src/domain/order.ts';
import { bytes, orderText, RULES, WITHOUT_CARD } from './order-text.ts';

type Changes = Readonly<Record<string, string | undefined>>;

describe('the canonical order', () => {
  test('is admitted, with nothing lost', () => {
    const admission = admitText(orderText());
    assert.equal(admission.kind, 'ok');
    const { terms, means } = admission.order;
    assert.equal(terms.orderId, '1234');
    assert.equal(terms.customerId, '5678');
    assert.equal(terms.amountMinor, 4223n);
    assert.equal(terms.currency, 'USD');
    assert.equal(terms.cardBrand, undefined);
    assert.equal(terms.cardLast4, '4444');
    assert.match(terms.fingerprint, /^[0-9a-f]{64}$/);
    assert.equal(means.kind, 'card');
    assert.equal(means.card.number.reveal(), '1111222233334444');
    assert.equal(means.card.cvv?.reveal(), '123');
    assert.equal(means.card.expiryMonth, 1);
    assert.equal(means.card.expiryYear, 2014);
  });

  test('is the same order whatever its members are ordered like, with unknown fields and white space', () => {
    const shuffled =
      ' {\r\n"note": {"id": 9, "tags": ["\\u0000", "\\ud800", {"__proto__": null}]}, "chargeAmount":42.23 ,\t' +
      '"creditCardCode":123,"creditCardExpiration":"012014","creditCardNumber":1111222233334444,"customerId":5678,"id":1234}\n';
    assert.deepEqual(admitText(shuffled), admitText(orderText()));
  });
});

describe('ids: number and string name one order', () => {
  const accepted: readonly (readonly [json: string, orderId: string])[] = [
    ['1234', '1234'],
    ['"1234"', '1234'],
    ['1', '1'],
    ['9007199254740993', '9007199254740993'],
    ['9223372036854775807', '9223372036854775807'],
    ['"9223372036854775808"', '9223372036854775808'],
    ['"2026113014050000000000000042"', '2026113014050000000000000042'],
    ['"007"', '007'],
    ['"1e3"', '1e3'],
    ['"1001.5"', '1001.5'],
    ['"12-1"', '12-1'],
    ['"a/b?c#d%20\\"<>"', 'a/b?c#d%20"<>'],
    ['"\\u0041"', 'A'],
    ['"__proto__"', '__proto__'],
    [`"${'x'.repeat(128)}"`, 'x'.repeat(128)],
  ];
  for (const [json, orderId] of accepted) {
    test(`id ${shown(json)} is order ${shown(orderId)}`, () => {
      assert.equal(okTerms({ id: json }).orderId, orderId);
    });
  }

  // prettier-ignore
  const idFormat = [
    '0', '-0', '-5', '1234.0', '1e3', '12.5', '9223372036854775808', '1e400',
    '"0"', '"000"', '"-5"', '"+1"', '"-0"', '"1234.0"', '"1234."', '"-5.00"',
    '""', '" "', '" 1234"', '"1234 "', '"12 34"', '"12\\r\\n34"', '"12\\u000034"', '"\\ud800"', '"é"', '"１２３４"',
    `"${'x'.repeat(129)}"`,
  ];
  for (const json of idFormat) testPark({ id: json }, 'id_format');
  for (const json of [undefined, 'null', 'true', '{}', '[1234]']) testPark({ id: json }, 'unparseable');
});

describe('amounts: exact or parked', () => {
  const accepted: readonly (readonly [json: string, amountMinor: bigint])[] = [
    ['42.23', 4223n],
    ['"42.23"', 4223n],
    ['42.230', 4223n],
    ['42', 4200n],
    ['4.223E1', 4223n],
    ['"4.223E1"', 4223n],
    ['1e-2', 1n],
    ['0.01', 1n],
    ['0.1e-1', 1n],
    ['100e-2', 100n],
    ['1E+2', 10000n],
    ['0.29', 29n],
    ['1.15', 115n],
    ['999999.99', 99999999n],
    ['999999.990000', 99999999n],
    [`42.23${'0'.repeat(1000)}`, 4223n],
    [`0.${'0'.repeat(1000)}1e1001`, 100n],
  ];
  for (const [json, amountMinor] of accepted) {
    test(`amount ${shown(json)} is ${amountMinor} minor units`, () => {
      assert.equal(okTerms({ chargeAmount: json }).amountMinor, amountMinor);
    });
  }

  // prettier-ignore
  const refused: readonly (readonly [InputParkReason, ...(string | undefined)[]])[] = [
    ['amount_precision', '1.005', '42.235', '30.299999999999997', '0.001', '1e-3', '1e-99999', '"42.231"'],
    ['amount_zero', '0', '0.00', '-0', '-0.0', '0e999', '0e-999', '"0"', `0e${'9'.repeat(1000)}`],
    ['amount_negative', '-1', '-0.001', '-1e400', '"-42.23"'],
    ['amount_range', '1000000', '999999.991', '1e6', '1e400', '1000000.00', `1e${'9'.repeat(1000)}`, '1'.repeat(999)],
    [
      'amount_format',
      '"42,23"', '" 42.23"', '"42.23 "', '"007"', '"NaN"', '"Infinity"', '""', '"+42.23"', '".5"', '"5."', '"0x10"',
      '"1_000"', '"1,000.00"', '"$42.23"', '"42.23\\n"', '"٤٢"', '"--1"', '"1e"', '"1e1.5"', '"4 2"', '"null"',
    ],
    ['amount_type', undefined, 'null', 'true', 'false', '[42.23]', '{"value":42.23}', '{"value":"42.23","isLosslessNumber":true}'],
  ];
  for (const [reason, ...texts] of refused) {
    for (const json of texts) testPark({ chargeAmount: json }, reason);
  }
});

describe('currencies', () => {
  const accepted: readonly (readonly [currency: string, amount: string, amountMinor: bigint])[] = [
    ['"USD"', '42.23', 4223n],
    ['"EUR"', '42.2', 4220n],
    ['"JPY"', '500', 500n],
    ['"JPY"', '500.0', 500n],
    ['"KWD"', '1.005', 1005n],
    ['"BHD"', '42.235', 42235n],
    ['"CLF"', '0.0001', 1n],
    ['"UYW"', '1', 10000n],
    ['"CLP"', '990', 990n],
  ];
  for (const [currency, amount, amountMinor] of accepted) {
    test(`${currency} ${amount} is ${amountMinor} minor units`, () => {
      const terms = okTerms({ currency, chargeAmount: amount });
      assert.equal(terms.amountMinor, amountMinor);
      assert.equal(terms.currency, JSON.parse(currency));
    });
  }
  testPark({ currency: '"JPY"', chargeAmount: '500.5' }, 'amount_precision');
  testPark({ currency: '"KWD"', chargeAmount: '1.0005' }, 'amount_precision');
  // prettier-ignore
  const unknown = ['"usd"', '"ABC"', '"XXX"', '"XTS"', '"XAU"', '"XDR"', '"BGN"', '""', '" USD"', '"USD\\u0000"', '"__proto__"', '"constructor"', '840', 'null', 'true', '{}', '["USD"]'];
  for (const currency of unknown) testPark({ currency }, 'currency_unknown');

  test('an absent currency is the configured one', () => {
    const admission = admit(bytes(orderText({ chargeAmount: '500' })), { ...RULES, defaultCurrency: 'JPY' });
    assert.equal(admission.kind, 'ok');
    assert.equal(admission.order.terms.currency, 'JPY');
    assert.equal(admission.order.terms.amountMinor, 500n);
  });
});

describe('the maximum', () => {
  const cases: readonly (readonly [max: string, amount: string, admitted: boolean])[] = [
    ['100', '100.00', true],
    ['100', '100.01', false],
    ['0.1', '0.10', true],
    ['0.1', '0.11', false],
    ['1e2', '100', true],
    ['1e30', '9999999999999999.99', true],
    ['1e30', '10000000000000000', false],
  ];
  for (const [maxAmount, amount, admitted] of cases) {
    test(`${amount} against a maximum of ${maxAmount}`, () => {
      const admission = admit(bytes(orderText({ chargeAmount: amount })), { ...RULES, maxAmount });
      if (admitted) assert.equal(admission.kind, 'ok');
      else assertParked(admission, 'amount_range');
    });
  }

  test('a maximum that is no number is a bug of ours, said aloud', () => {
    assert.throws(() => admit(bytes(orderText()), { ...RULES, maxAmount: 'lots' }), /maximum amount/);
  });
});

describe('customers', () => {
  const accepted: readonly (readonly [json: string, customerId: string])[] = [
    ['5678', '5678'],
    ['"5678"', '5678'],
    ['0', '0'],
    ['9007199254740993', '9007199254740993'],
    ['"Zoë Müller"', 'Zoë Müller'],
    ['"中"', '中'],
    ['"\\ud83d\\ude00"', '😀'],
  ];
  for (const [json, customerId] of accepted) {
    test(`customer ${json} is passed through`, () => {
      assert.equal(okTerms({ customerId: json }).customerId, customerId);
    });
  }
  // prettier-ignore
  const refused = [undefined, 'null', 'true', '{}', '[]', '-1', '1.5', '1e3', '9223372036854775808', '""', '" "', '" x"', '"x "', '"a\\nb"', '"a\\u0000b"', '"\\ud800"', '"a\\u202eb"', `"${'x'.repeat(129)}"`];
  for (const json of refused) testPark({ customerId: json }, 'customer_format');
});

describe('card numbers', () => {
  const accepted: readonly (readonly [json: string, digits: string, brand: string | undefined])[] = [
    ['"4242 4242 4242 4242"', '4242424242424242', 'visa'],
    ['"4242-4242-4242-4242"', '4242424242424242', 'visa'],
    ['" 4242424242424242 "', '4242424242424242', 'visa'],
    ['4242424242424242', '4242424242424242', 'visa'],
    ['"5555555555554444"', '5555555555554444', 'mastercard'],
    ['2223003122003222', '2223003122003222', 'mastercard'],
    ['6011111111111117', '6011111111111117', 'discover'],
    ['3056930009020004', '3056930009020004', 'diners'],
    ['36227206271667', '36227206271667', 'diners'],
    ['3566002020360505', '3566002020360505', 'jcb'],
    ['6205500000000000004', '6205500000000000004', 'unionpay'],
    ['"6205500000000000004"', '6205500000000000004', 'unionpay'],
    ['1111222233334444', '1111222233334444', undefined],
  ];
  for (const [json, digits, brand] of accepted) {
    test(`card number ${json} is exact`, () => {
      const order = okOrder({ creditCardNumber: json });
      assert.equal(order.terms.cardBrand, brand);
      assert.equal(order.terms.cardLast4, digits.slice(-4));
      assert.equal(order.means.kind, 'card');
      assert.equal(order.means.card.number.reveal(), digits);
    });
  }
  // prettier-ignore
  const hopeless = [
    '4242424242424241', '"4242424242424241"', '6205500000000000000', '0', '"0000000000000000"', '"000000000000"',
    '42424242424', '"42424242420"', '"42424242424242424242"', '"4242x42424242424"', '"４２４２４２４２４２４２４２４２"',
    '"٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢"', '""', '" "', '"4242\\t4242\\t4242\\t4242"', '"4242\\u00a04242\\u00a04242\\u00a04242"', '"+4242424242424242"',
    '"4242424242424242\\u0000"', '"\\ud800"', '"4.2E15"',
  ];
  for (const json of hopeless) testDeny({ creditCardNumber: json }, undefined);
  // prettier-ignore
  const parked = ['4.2E15', '4242424242424242.0', '42424242424242420e-1', '-4242424242424242', 'null', '{}', '[]', 'true', undefined];
  for (const json of parked) testPark({ creditCardNumber: json }, 'card_format');
});

describe('CVVs', () => {
  const AMEX = '378282246310005';
  const VISA = '4242424242424242';
  const accepted: readonly (readonly [card: string, json: string, cvv: string])[] = [
    [VISA, '12', '012'],
    [VISA, '0', '000'],
    [VISA, '123', '123'],
    [VISA, '"012"', '012'],
    [AMEX, '123', '0123'],
    [AMEX, '0', '0000'],
    [AMEX, '1234', '1234'],
    [AMEX, '"0123"', '0123'],
    ['1111222233334444', '"1234"', '1234'],
    ['1111222233334444', '1234', '1234'],
    ['1111222233334444', '12', '012'],
  ];
  for (const [card, json, cvv] of accepted) {
    test(`CVV ${json} on ${card} is ${cvv}`, () => {
      const { means } = okOrder({ creditCardNumber: card, creditCardCode: json });
      assert.equal(means.kind, 'card');
      assert.equal(means.card.cvv?.reveal(), cvv);
    });
  }
  const hopeless: readonly (readonly [card: string, ...string[]])[] = [
    [VISA, '"12"', '"1234"', '1234', '12345', '""', '"12a"', '" 123"', '"１２３"', '"-12"', '"1e2"'],
    [AMEX, '"123"', '"12345"', '12345'],
    ['1111222233334444', '"12"', '"12345"', '12345'],
  ];
  for (const [card, ...codes] of hopeless) {
    for (const json of codes) {
      testDeny({ creditCardNumber: card, creditCardCode: json }, card.slice(-4));
    }
  }
  for (const json of ['12.0', '-1', '1e2', 'null', 'true', '{}', '["123"]', undefined]) {
    testPark({ creditCardCode: json }, 'card_format');
  }
});

describe('expiries', () => {
  const accepted: readonly (readonly [json: string, month: number, year: number])[] = [
    ['12014', 1, 2014],
    ['"012014"', 1, 2014],
    ['122030', 12, 2030],
    ['"122030"', 12, 2030],
  ];
  for (const [json, month, year] of accepted) {
    test(`expiry ${json} is month ${month} of ${year}`, () => {
      const { means } = okOrder({ creditCardExpiration: json });
      assert.equal(means.kind, 'card');
      assert.equal(means.card.expiryMonth, month);
      assert.equal(means.card.expiryYear, year);
    });
  }
  for (const json of [
    '"132014"',
    '"002014"',
    '"0114"',
    '"01/2014"',
    '"201401"',
    '2014',
    '1',
    '1012014',
    '""',
    '" 012014"',
    '"12014"',
    '"０１２０１４"',
  ]) {
    testDeny({ creditCardExpiration: json }, '4444');
  }
  for (const json of ['12014.0', '-12014', '1.2014e4', 'null', 'true', '{}', undefined]) {
    testPark({ creditCardExpiration: json }, 'card_format');
  }
});

describe('gateway tokens', () => {
  for (const json of ['"pm_1AbC-9"', `"${'x'.repeat(255)}"`]) {
    test(`paymentMethod ${shown(json)} stands for the card`, () => {
      const order = okOrder({ ...WITHOUT_CARD, paymentMethod: json });
      assert.deepEqual(order.means, { kind: 'token', paymentMethod: JSON.parse(json) as string });
      assert.equal(order.terms.cardLast4, undefined);
    });
  }
  test('null card fields beside a token, and a null token beside a card, are absent', () => {
    const nulls = { creditCardNumber: 'null', creditCardExpiration: 'null', creditCardCode: 'null' };
    assert.equal(okOrder({ ...nulls, paymentMethod: '"pm_1"' }).means.kind, 'token');
    assert.equal(okOrder({ paymentMethod: 'null' }).means.kind, 'card');
  });
  for (const json of [
    '""',
    '"pm 1"',
    '"pm_é"',
    '"a/b"',
    '"a\\u0000"',
    `"${'x'.repeat(256)}"`,
    '7',
    'true',
    '{}',
  ]) {
    testPark({ ...WITHOUT_CARD, paymentMethod: json }, 'card_format');
  }
  testPark({ paymentMethod: '"pm_1"' }, 'card_format');
  testPark({ ...WITHOUT_CARD, paymentMethod: '"pm_1"', creditCardCode: '123' }, 'card_format');
  testPark(WITHOUT_CARD, 'card_format');
});

describe('no order at all', () => {
  // prettier-ignore
  const texts = [
    '', ' ', 'null', 'true', '42', '"text"', '[]', '[{"id":1234}]', 'NaN', '{', '{}', '{"id":1234', `${orderText()}x`,
    `${orderText()}${orderText()}`, `\uFEFF${orderText()}`, "{'id':1234}", '{id:1234}', '{"id":1234,}', '{"id":01234}',
    '{"id":1234}//', '{"id":"12\n34"}', '{"id":"\\x41"}', '{"id":"1234}', '\0', `${orderText()}\0`,
  ];
  for (const text of texts) {
    test(`${shown(JSON.stringify(text))} is parked as unparseable`, () => {
      assertParked(admitText(text), 'unparseable');
    });
  }

  test('a key that comes twice is parked, with another or an equal value, anywhere, escaped or not', () => {
    // prettier-ignore
    const twice = ['"id":1234', '"id":5', '"\\u0069d":1234', '"__proto__":1,"__proto__":1', '"x":{"a":[1],"a":[1]}', '"x":[{"a":{},"a":[]}]', '"x":{"a":1,"a":1},"y":{}'];
    for (const member of twice) {
      assertParked(admitText(orderText().replace('}', `,${member}}`)), 'unparseable');
    }
  });

  test('__proto__ and the names of Object.prototype are harmless', () => {
    const polluted = orderText().replace(
      '{',
      '{"__proto__":{"currency":"JPY","polluted":1},"constructor":{},"toString":1,',
    );
    assert.deepEqual(admitText(polluted), admitText(orderText()));
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
    const inherited = '{"__proto__":' + orderText() + '}';
    assertParked(admitText(inherited), 'unparseable');
  });

  test('bytes that are not UTF-8 are parked', () => {
    for (const bad of [
      [0xff],
      [0xc0, 0x80],
      [0xed, 0xa0, 0x80],
      [0xe2, 0x82],
      [0xf8, 0x88, 0x80, 0x80, 0x80],
    ]) {
      const body = Buffer.concat([
        bytes('{"note":"'),
        Buffer.from(bad),
        bytes('",'),
        bytes(orderText().slice(1)),
      ]);
      assertParked(admit(body, RULES), 'unparseable');
    }
    assertParked(admit(Buffer.from(orderText(), 'utf16le'), RULES), 'unparseable');
  });
});

describe('which fault counts', () => {
  test('upstream’s fault parks before hopeless card data denies', () => {
    const hopeless = { creditCardNumber: '"4242424242424241"' };
    assert.equal(admitText(orderText(hopeless)).kind, 'deny');
    assertParked(admitText(orderText({ ...hopeless, chargeAmount: '1.005' })), 'amount_precision');
    assertParked(admitText(orderText({ ...hopeless, customerId: 'null' })), 'customer_format');
    assertParked(admitText(orderText({ ...hopeless, creditCardCode: 'null' })), 'card_format');
    assertParked(admitText(orderText({ ...hopeless, id: '-5' })), 'id_format');
  });

  test('a parked order keeps its id when it has one', () => {
    const parked = admitText(orderText({ chargeAmount: '-1' }));
    assert.equal(parked.kind === 'park' && parked.orderId, '1234');
    const nameless = admitText(orderText({ id: '-5' }));
    assert.equal(nameless.kind === 'park' && nameless.orderId, undefined);
  });
});

// --- helpers -----------------------------------------------------------------------------------------------------

function admitText(text: string): Admission {
  return admit(bytes(text), RULES);
}

function okOrder(changes: Changes) {
  const admission = admitText(orderText(changes));
  assert.equal(admission.kind, 'ok', 'detail' in admission ? admission.detail : undefined);
  return admission.order;
}

function okTerms(changes: Changes) {
  return okOrder(changes).terms;
}

function testPark(changes: Changes, reason: InputParkReason): void {
  test(`${describeChanges(changes)} is parked as ${reason}`, () => {
    assertParked(admitText(orderText(changes)), reason);
  });
}

function assertParked(admission: Admission, reason: InputParkReason): void {
  assert.equal(admission.kind, 'park');
  assert.equal(admission.reason, reason, admission.detail);
  assert.ok(admission.detail.length > 10);
}

function testDeny(changes: Changes, last4: string | undefined): void {
  test(`${describeChanges(changes)} is denied`, () => {
    const admission = admitText(orderText(changes));
    assert.equal(admission.kind, 'deny', 'detail' in admission ? admission.detail : undefined);
    assert.equal(admission.reason, 'invalid_card_data');
    assert.equal(admission.terms.orderId, '1234');
    assert.equal(admission.terms.amountMinor, 4223n);
    assert.equal(admission.terms.cardLast4, last4);
    assert.match(admission.terms.fingerprint, /^[0-9a-f]{64}$/);
  });
}

function describeChanges(changes: Changes): string {
  return Object.entries(changes)
    .map(([name, json]) => `${name} ${json === undefined ? 'missing' : shown(json)}`)
    .join(', ');
}

function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 24)}... (${text.length} characters)` : text;
}
