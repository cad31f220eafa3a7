import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { admit } from '../../src/domain/admission.ts';
import { fieldOf, isJsonObject, MAX_BODY_BYTES, numberTextOf, readJson, type JsonReading } from '../../src/domain/json-text.ts'; // prettier-ignore
import { bytes, orderText, RULES } from './order-text.ts';

describe('reading JSON', () => {
  test('agrees with JSON.parse on every JSON text whose keys are unique', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (text) => {
        const reading = readJson(bytes(text));
        assert.equal(reading.kind, 'read');
        assert.deepEqual(plain(reading.value), JSON.parse(text));
      }),
    );
  });

  test('refuses what JSON.parse refuses, and quotes nothing of it', () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.nat(),
        fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', '0', 'x', ' '),
        (text, position, char) => {
          const at = position % (text.length + 1);
          const edited = text.slice(0, at) + char + text.slice(at);
          const reading = readJson(bytes(edited));
          if (reading.kind === 'read') JSON.parse(edited);
          else assert.match(reading.detail, /^[a-zA-Z0-9 :,-]+$/);
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('keeps the text of numbers', () => {
    for (const text of ['6205500000000000004', '9007199254740993', '42.230', '-0', '1e400', '1E-99999']) {
      const reading = readJson(bytes(text));
      assert.equal(numberTextOf(reading.kind === 'read' ? reading.value : undefined), text);
    }
  });

  test('says of a byte order mark that it is one', () => {
    const reading = readJson(bytes(`\uFEFF${orderText()}`));
    assert.match(reading.kind === 'refused' ? reading.detail : '', /byte order mark/);
  });

  test('no object of upstream’s passes for a number', () => {
    const reading = readJson(bytes('{"value":"1","isLosslessNumber":true}'));
    assert.equal(reading.kind, 'read');
    assert.equal(numberTextOf(reading.value), undefined);
    assert.ok(isJsonObject(reading.value));
  });

  test('reads own fields only', () => {
    const reading = readJson(bytes('{"__proto__":{"id":1}}'));
    assert.ok(reading.kind === 'read' && isJsonObject(reading.value));
    assert.equal(fieldOf(reading.value, 'id'), undefined);
    assert.equal(fieldOf(reading.value, 'toString'), undefined);
    assert.notEqual(fieldOf(reading.value, '__proto__'), undefined);
  });
});

describe('limits', () => {
  test('64 KiB are read, one byte more is not', () => {
    const padded = orderText().padEnd(MAX_BODY_BYTES, ' ');
    assert.equal(admit(bytes(padded), RULES).kind, 'ok');
    assertRefused(readJson(bytes(`${padded} `)), 'too_large');
  });

  test('8 levels are read, 9 are not', () => {
    assert.equal(readJson(bytes('['.repeat(8) + ']'.repeat(8))).kind, 'read');
    assertRefused(readJson(bytes('['.repeat(9) + ']'.repeat(9))), 'unparseable');
    assert.equal(readJson(bytes('{"a":'.repeat(8) + '1' + '}'.repeat(8))).kind, 'read');
    assertRefused(readJson(bytes('{"a":'.repeat(9) + '1' + '}'.repeat(9))), 'unparseable');
  });

  test('brackets in strings nest nothing', () => {
    assert.equal(readJson(bytes(JSON.stringify('[{"\\"'.repeat(100)))).kind, 'read');
  });

  const nines = '9'.repeat(60_000);
  const hostile: readonly (readonly [name: string, body: Uint8Array])[] = [
    ['64 KiB of [', bytes('['.repeat(MAX_BODY_BYTES))],
    ['20,000 levels', bytes('['.repeat(20_000) + ']'.repeat(20_000))],
    ['20,000 levels of objects', bytes('{"a":'.repeat(12_000))],
    ['16 MB', Buffer.alloc(16 * 1024 * 1024, 0x20)],
    ['a million keys', bytes(`{${Array.from({ length: 1e6 }, (_, n) => `"${n}":0`).join(',')}}`)],
    ['as many keys as fit', bytes(orderText().replace('}', `${keys(7000)}}`))],
    ['one key as often as it fits', bytes(`{${Array.from({ length: 9000 }, () => '"a":[]').join(',')}}`)],
    ['64 KiB of quotes', bytes('"'.repeat(MAX_BODY_BYTES))],
    ['64 KiB of backslashes', bytes('"' + '\\'.repeat(MAX_BODY_BYTES - 2))],
    ['64 KiB of digits', bytes(nines)],
    ['a long amount', bytes(orderText({ chargeAmount: nines }))],
    ['a long exponent', bytes(orderText({ chargeAmount: `1e${nines}` }))],
    ['a long negative exponent', bytes(orderText({ chargeAmount: `1e-${nines}` }))],
    ['an amount of 1e400', bytes(orderText({ chargeAmount: '1e400' }))],
    ['an amount of 1e999999999', bytes(orderText({ chargeAmount: '1e999999999' }))],
    ['an amount of 1e-99999', bytes(orderText({ chargeAmount: '1e-99999' }))],
    ['zeros before the last digit', bytes(orderText({ chargeAmount: `0.1${'0'.repeat(60_000)}1` }))],
    ['a long id', bytes(orderText({ id: nines }))],
    ['a long customer of spaces', bytes(orderText({ customerId: `"a${' '.repeat(60_000)}b"` }))],
    ['a long card number', bytes(orderText({ creditCardNumber: nines }))],
    [
      'a long card number with separators',
      bytes(orderText({ creditCardNumber: `"${'4 -'.repeat(20_000)}"` })),
    ],
    ['a long CVV', bytes(orderText({ creditCardCode: nines }))],
    ['a long expiry', bytes(orderText({ creditCardExpiration: nines }))],
    ['a long currency', bytes(orderText({ currency: `"${'U'.repeat(60_000)}"` }))],
  ];
  for (const [name, body] of hostile) {
    // Ordinary orders take some 20 microseconds; quadratic time on 64 KiB takes seconds.
    test(`${name}: decided within a second`, () => {
      const startMs = performance.now();
      const admission = admit(body, RULES);
      const tookMs = performance.now() - startMs;
      assert.ok(['ok', 'deny', 'park'].includes(admission.kind));
      assert.ok(tookMs < 1000, `took ${tookMs} ms`);
    });
  }

  test('as many keys as fit are no reason to refuse an order', () => {
    assert.equal(admit(bytes(orderText().replace('}', `${keys(6000)}}`)), RULES).kind, 'ok');
  });
});

// --- helpers -----------------------------------------------------------------------------------------------------

function keys(count: number): string {
  return Array.from({ length: count }, (_, n) => `,"${n}":0`).join('');
}

function assertRefused(reading: JsonReading, reason: 'too_large' | 'unparseable'): void {
  assert.equal(reading.kind, 'refused');
  assert.equal(reading.reason, reason);
}

/** With numbers as JSON.parse has them. */
function plain(value: unknown): unknown {
  const numberText = numberTextOf(value as never);
  if (numberText !== undefined) return Number(numberText);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return JSON.parse(
    `{${Object.entries(value)
      .map(([key, item]) => `${JSON.stringify(key)}:${JSON.stringify(plain(item))}`)
      .join(',')}}`,
  );
}
