import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { maskCardNumbers } from '../../src/domain/card-numbers.ts';
import { testCards } from '../telemetry/test-cards.ts';

/** All digits of a text, whatever stands between them. */
function digitsOf(text: string): string {
  return text.replace(/[^\d*]/g, '').replace(/\*/g, '#');
}

const separators = [
  '',
  ' ',
  '-',
  '  ',
  ' - ',
  '\u00a0',
  '\u2013',
  '_',
  '+',
  '%20',
  '%2D',
  '\\n',
  '\t',
] as const;

/** The card in groups of any sizes, joined by any one separator. */
function arbitraryWriting(card: string): fc.Arbitrary<string> {
  const sizes = fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 19 });
  return fc.tuple(sizes, fc.constantFrom(...separators)).map(([groupSizes, separator]) => {
    const groups: string[] = [];
    let rest = card;
    for (const size of groupSizes) {
      groups.push(rest.slice(0, size));
      rest = rest.slice(size);
    }
    return [...groups, rest].filter((group) => group !== '').join(separator);
  });
}

describe('maskCardNumbers', () => {
  it('leaves a UUID whole, also one with digits in it that pass for a card number', () => {
    for (const uuid of ['734d0693-8aac-43e2-90b2-18064990185e', '00000000-0000-4000-8000-000000000000'])
      assert.equal(maskCardNumbers(`batch ${uuid}: 3 of 5`), `batch ${uuid}: 3 of 5`);
    fc.assert(
      fc.property(fc.uuid(), (uuid) => {
        assert.equal(maskCardNumbers(`{"id":"${uuid}"}`), `{"id":"${uuid}"}`);
      }),
    );
  });

  it('takes nothing for a UUID that is longer, shorter, or of no version', () => {
    const card = '4242424242424242';
    for (const text of [
      `42424242-4242-4242-4242-${card.slice(4)}`,
      `x12345678-1234-4234-8234-${card}`,
      `12345678-1234-4234-8234-${card.slice(4)}-1`,
      `${card} 734d0693-8aac-43e2-90b2-18064990185e`,
    ])
      assert.ok(maskCardNumbers(text).includes('*'), text);
  });

  for (const card of testCards) {
    it(`hides ...${card.slice(-4)}, however it is written and whatever stands around it`, () => {
      const around = fc.string({ maxLength: 20 }).map((text) => text.replace(/[\d%]/g, 'x'));
      fc.assert(
        fc.property(around, arbitraryWriting(card), around, (before, written, after) => {
          const masked = maskCardNumbers(`${before}${written}${after}`);
          assert.ok(!digitsOf(masked.replace(/%2[0dD]/g, '')).includes(card), masked);
          assert.ok((masked.match(/\*/g) ?? []).length >= 5, masked);
        }),
        { numRuns: 200 },
      );
    });

    it(`hides ...${card.slice(-4)} beside other digits that stand apart`, () => {
      for (const text of [
        `${card} 123`,
        `123 ${card}`,
        `12/2030-${card}-123`,
        `${card} ${card}`,
        `1 ${card} 012030 123`,
      ]) {
        assert.ok(!digitsOf(maskCardNumbers(text)).includes(card), text);
      }
    });

    it(`hides ...${card.slice(-4)} glued to expiry and CVV`, () => {
      assert.ok(!maskCardNumbers(`${card}012030123`).includes(card));
    });
  }

  it('keeps at most the first six and the last four digits', () => {
    assert.equal(maskCardNumbers('card 4242424242424242.'), 'card 424242******4242.');
    assert.equal(maskCardNumbers('5555 5555-5555  4444'), '5555 55**-****  4444');
    assert.equal(maskCardNumbers('378282246310005'), '37828******0005');
    assert.equal(maskCardNumbers('order-6205500000000000004-1'), 'order-620550*********0004-1');
  });

  it('leaves alone what cannot be a card number', () => {
    for (const text of [
      'order 1234 of 5678, 42.23 USD',
      '2026-11-30T13:54:57.123Z',
      '2026-11-30 13:54:57',
      '4242424242424241',
      '9223372036854775807',
      'order-9223372036854775807-ready-to-ship-1',
      '127.0.0.1:5672, levels 1000,5000,30000,120000',
      '42424242424',
    ]) {
      assert.equal(maskCardNumbers(text), text);
    }
  });

  it('masks about one random 19-digit id in ten, and those stay searchable by their ends', () => {
    const ids = Array.from({ length: 2000 }, (_, index) =>
      (7_300_000_000_000_000_000n + BigInt(index) * 7919n).toString(),
    );
    const masked = ids.filter((id) => maskCardNumbers(id) !== id);
    assert.ok(masked.length > 120 && masked.length < 280, `${masked.length} of 2000`);
    for (const id of masked)
      assert.match(maskCardNumbers(id), new RegExp(`^${id.slice(0, 6)}\\*{9}${id.slice(-4)}$`));
  });

  it('takes linear time on hostile text', () => {
    const before = process.cpuUsage();
    maskCardNumbers('1 '.repeat(200_000));
    maskCardNumbers('1'.repeat(400_000));
    maskCardNumbers(`${'1'.repeat(11)}x`.repeat(40_000));
    // CPU time, however busy the machine is: some tenths of a second; quadratic time would be minutes.
    assert.ok(process.cpuUsage(before).user < 10_000_000);
  });
});
