import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { admit } from '../../src/domain/admission.ts';
import type { Admission, OrderTerms } from '../../src/domain/order.ts';
import { bytes, CANONICAL_FIELDS, orderText, RULES } from './order-text.ts';

const FIELD_NAMES = [...Object.keys(CANONICAL_FIELDS), 'currency', 'paymentMethod'];

/** Published test cards, and what is made of them on the way. */
const CARDS = [
  '4242424242424242',
  '378282246310005',
  '6205500000000000004',
  '4000000000000002',
  '4242424242424241',
];
const cardText = fc
  .tuple(fc.constantFrom(...CARDS), fc.constantFrom('', ' ', '-'), fc.boolean())
  .map(([card, separator, quoted]) =>
    quoted ? `"${card.replaceAll(/(.{4})(?=.)/g, `$1${separator}`)}"` : card,
  );

/** CVVs that occur in no other field of the canonical order and in no test card. */
const CVVS = ['739', '"739"', '7391', '"7391"', '"73"', '"73917"', '739.0', '-739'];

const NASTY = [
  'null', 'true', '{}', '[]', '""', '0', '-1', '1e400', '1e-99999', '"\\u0000"', '"\\ud800"', '"a\\r\\nb"', '"NaN"',
  '{"__proto__":1}', '[[[[[[[[[[1]]]]]]]]]]', '12014.0', '"12 34"',
]; // prettier-ignore

const mutatedOrder = fc
  .record({
    card: cardText,
    cvv: fc.constantFrom(...CVVS),
    changes: fc.array(
      fc.tuple(
        fc.constantFrom(...FIELD_NAMES),
        fc.oneof(
          fc.constantFrom(...NASTY),
          fc.constant(undefined),
          cardText.filter((text) => !text.includes(' ')),
        ),
      ),
      { maxLength: 2 },
    ),
  })
  // A card number in the place of an id would be one for all we know: ids are passed through by contract.
  .filter(({ changes }) => changes.every(([name, text]) => !isId(name) || !/\d{12}/.test(text ?? '')))
  .map(({ card, cvv, changes }) =>
    orderText({ creditCardNumber: card, creditCardCode: cvv, ...Object.fromEntries(changes) }),
  );

const cutOrSpliced = fc
  .tuple(mutatedOrder, fc.nat(), fc.nat(20), fc.uint8Array({ maxLength: 8 }))
  .map(([text, start, length, insert]) => {
    const body = bytes(text);
    const at = start % (body.length + 1);
    return Buffer.concat([body.subarray(0, at), insert, body.subarray(at + length)]);
  });

describe('whatever the bytes are, there is one disposition and no throw', () => {
  test('arbitrary bytes', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (body) => { assertOneDisposition(admit(body, RULES)); })); // prettier-ignore
  });

  test('arbitrary JSON', () => {
    fc.assert(fc.property(fc.json({ maxDepth: 10 }), (text) => { assertOneDisposition(admit(bytes(text), RULES)); })); // prettier-ignore
  });

  test('objects with the right names and arbitrary values', () => {
    const object = fc.dictionary(fc.constantFrom(...FIELD_NAMES, '__proto__', 'toString'), fc.jsonValue());
    fc.assert(
      fc.property(object, (value) => {
        assertOneDisposition(admit(bytes(JSON.stringify(value)), RULES));
      }),
    );
  });

  test('mutated orders, cut or spliced: and nothing of the card can be printed', () => {
    const seen = new Set<Admission['kind']>();
    fc.assert(
      fc.property(fc.oneof(mutatedOrder.map(bytes), cutOrSpliced), (body) => {
        const admission = admit(body, RULES);
        seen.add(admission.kind);
        assertOneDisposition(admission);
        // A splice can turn card digits into an id, which is passed through by contract.
        fc.pre(!/\d{12}|739/.test(idsOf(admission)));
        assertNoCardData(admission, body);
      }),
      { numRuns: 3000 },
    );
    assert.deepEqual([...seen].sort(), ['deny', 'ok', 'park']);
  });
});

describe('the same order again', () => {
  test('has the same terms, whatever its CVV and however its card number is spaced', () => {
    const spelled = fc.tuple(fc.constantFrom('4242424242424242', '"4242 4242 4242 4242"', '"4242-4242-4242-4242"'), fc.constantFrom('1', '123', '"999"', '"12"', '12345')); // prettier-ignore
    const first = termsOf(admit(bytes(orderText({ creditCardNumber: '4242424242424242' })), RULES));
    fc.assert(
      fc.property(spelled, ([number, cvv]) => {
        const again = admit(bytes(orderText({ creditCardNumber: number, creditCardCode: cvv })), RULES);
        assert.deepEqual(termsOf(again), first);
      }),
    );
  });

  test('with another card, expiry, amount, currency, customer or key has another fingerprint', () => {
    const others = [
      {},
      { creditCardNumber: '4242424242424242' },
      { creditCardNumber: '"4242424242424241"' },
      { creditCardExpiration: '"022014"' },
      { chargeAmount: '42.24' },
      { currency: '"EUR"' },
      { customerId: '5679' },
    ];
    const fingerprints = others.map(
      (changes) => termsOf(admit(bytes(orderText(changes)), RULES)).fingerprint,
    );
    const otherKey = admit(bytes(orderText()), { ...RULES, fingerprintKey: Buffer.from('another key') });
    assert.equal(new Set([...fingerprints, termsOf(otherKey).fingerprint]).size, others.length + 1);
  });
});

// --- helpers -----------------------------------------------------------------------------------------------------

function isId(name: string): boolean {
  return name === 'id' || name === 'customerId' || name === 'paymentMethod';
}

function assertOneDisposition(admission: Admission): void {
  switch (admission.kind) {
    case 'ok':
      assertTerms(admission.order.terms);
      return;
    case 'deny':
      assertTerms(admission.terms);
      assert.equal(admission.reason, 'invalid_card_data');
      return;
    case 'park':
      assert.ok(admission.orderId === undefined || /^[!-~]{1,128}$/.test(admission.orderId));
      assert.match(admission.detail, /^[ -~]{10,200}$/);
      return;
    case 'sealed':
    case 'spent':
      assert.fail('none of these orders comes with a sealed card');
  }
}

function assertTerms(terms: OrderTerms): void {
  assert.match(terms.orderId, /^[!-~]{1,128}$/);
  assert.ok(terms.amountMinor > 0n && terms.amountMinor < 2n ** 63n);
  assert.match(terms.fingerprint, /^[0-9a-f]{64}$/);
}

function termsOf(admission: Admission): OrderTerms {
  if (admission.kind === 'park') assert.fail(`parked as ${admission.reason}`);
  if (admission.kind === 'sealed') assert.fail('its card is sealed');
  return admission.kind === 'ok' ? admission.order.terms : admission.terms;
}

function idsOf(admission: Admission): string {
  if (admission.kind === 'park') return admission.orderId ?? '';
  if (admission.kind === 'sealed') return `${admission.order.orderId} ${admission.order.customerId}`;
  const { orderId, customerId } = termsOf(admission);
  return `${orderId} ${customerId}`;
}

/** No run of 12 or more digits of the input, and no CVV. */
function assertNoCardData(admission: Admission, body: Uint8Array): void {
  const printed = [
    JSON.stringify(admission, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)),
    inspect(admission, { depth: 20, showHidden: true, getters: true }),
    inspect(admission, { depth: 20, customInspect: false, showHidden: true }),
    inspect(structuredClone(admission), { depth: 20 }),
    inspect(new Error('it failed', { cause: admission }), { depth: 20 }),
  ].map(withoutFingerprint);
  const digitRuns = Buffer.from(body).toString('latin1').replaceAll(/[ -]/g, '').match(/\d{12,}/g) ?? []; // prettier-ignore
  for (const text of printed) {
    for (const run of digitRuns) assert.ok(!text.includes(run), 'a card number is printed');
    assert.doesNotMatch(text, /739/, 'a CVV is printed');
  }
}

/** Its hexadecimal digits contain any three digits by chance. */
function withoutFingerprint(text: string): string {
  return text.replaceAll(/[0-9a-f]{64}/g, '<fingerprint>');
}
