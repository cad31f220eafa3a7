import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { minorUnitExponent } from '../../src/domain/currencies.ts';
import { compareMagnitudes, decimalPlaces, parseDecimal, type Decimal } from '../../src/domain/decimal.ts';
import { readMoney } from '../../src/domain/money.ts';

const RULES = { defaultCurrency: 'USD', maxAmount: '1e18' };
const currency = fc.constantFrom('JPY', 'USD', 'KWD', 'CLF');

describe('minor units', () => {
  test('of every amount in plain digits come back exactly, however it is written', () => {
    const amountMinor = fc.bigInt({ min: 1n, max: 10n ** 14n });
    fc.assert(
      fc.property(
        amountMinor,
        currency,
        fc.nat(5),
        fc.integer({ min: -30, max: 30 }),
        (minor, code, zeros, shift) => {
          const exponent = exponentOf(code);
          const plain = majorUnits(minor, exponent);
          const spellings = [
            plain,
            (plain.includes('.') ? plain : `${plain}.`) + '0'.repeat(zeros + 1),
            `${minor}e-${exponent}`,
            `${minor}${'0'.repeat(zeros)}E${-exponent - zeros}`,
            `${majorUnits(minor, exponent + 30 + shift)}e${30 + shift}`,
          ];
          for (const spelling of spellings) {
            assert.deepEqual(readMoney(spelling, code, RULES), {
              kind: 'read',
              value: { amountMinor: minor, currency: code },
            });
          }
        },
      ),
    );
  });

  test('are never rounded: a digit below the minor unit is refused', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 10n ** 12n }),
        currency,
        fc.integer({ min: 1, max: 9 }),
        (minor, code, digit) => {
          const tooFine = majorUnits(minor * 10n + BigInt(digit), exponentOf(code) + 1);
          const reading = readMoney(tooFine, code, RULES);
          assert.equal(reading.kind === 'unreadable' && reading.reason, 'amount_precision');
        },
      ),
    );
  });
});

describe('decimals', () => {
  const decimalText = fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.bigInt({ min: 0n, max: 10n ** 9n }),
      fc.nat(9),
      fc.integer({ min: -9, max: 9 }),
    )
    .map(([sign, coefficient, places, exponent]) => `${sign}${majorUnits(coefficient, places)}e${exponent}`);

  test('compare as their values do', () => {
    fc.assert(
      fc.property(decimalText, decimalText, (a, b) => {
        const sign = Math.sign(compareMagnitudes(parsed(a), parsed(b)));
        const [x, y] = [scaled(a), scaled(b)];
        assert.equal(sign, x < y ? -1 : x > y ? 1 : 0);
      }),
      { numRuns: 1000 },
    );
  });

  test('know how many places they need', () => {
    for (const [text, places] of [['42.23', 2], ['42.230', 2], ['42', 0], ['4200', -2], ['1e-7', 7], ['0.001e3', 0]] as const) {
      assert.equal(decimalPlaces(parsed(text)), places);
    } // prettier-ignore
  });

  test('follow the grammar of JSON numbers to the letter', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('0', '1', '9', '.', '-', '+', 'e', 'E', ' '), maxLength: 8 }),
        (text) => {
          assert.equal(parseDecimal(text) !== undefined, isJsonNumber(text));
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe('currencies', () => {
  test('have the minor units of ISO 4217', () => {
    const expected = {
      0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
      2: 'AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF IDR INR MGA MRU MXN NOK NZD PLN SEK SGD TRY TWD USD XAD XCG ZAR ZWG',
      3: 'BHD IQD JOD KWD LYD OMR TND',
      4: 'CLF UYW',
    };
    for (const [exponent, codes] of Object.entries(expected)) {
      for (const code of codes.split(' ')) assert.equal(minorUnitExponent(code), Number(exponent), code);
    }
  });

  test('are exactly the 165 codes with minor units', () => {
    const letters = Array.from({ length: 26 }, (_, n) => String.fromCharCode(65 + n));
    const all = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => a + b + c)));
    assert.equal(all.filter((code) => minorUnitExponent(code) !== undefined).length, 165);
  });

  test('withdrawn codes, metals, test codes and other words are unknown', () => {
    for (const code of ['BGN', 'HRK', 'ANG', 'CUC', 'SLL', 'ZWL', 'XXX', 'XTS', 'XAU', 'XDR', 'usd', '', 'toString', 'US D']) {
      assert.equal(minorUnitExponent(code), undefined, code);
    } // prettier-ignore
  });
});

// --- helpers -----------------------------------------------------------------------------------------------------

function exponentOf(code: string): number {
  return minorUnitExponent(code) ?? assert.fail(code);
}

/** `minor` divided by ten to the `places`, in plain digits. */
function majorUnits(minor: bigint, places: number): string {
  if (places === 0) return minor.toString();
  const digits = minor.toString().padStart(places + 1, '0');
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

function parsed(text: string): Decimal {
  return parseDecimal(text) ?? assert.fail(text);
}

/** |value| x 10^18, exact for the texts above. */
function scaled(text: string): bigint {
  const match = /^-?(\d+)(?:\.(\d+))?e(-?\d+)$/.exec(text) ?? assert.fail(text);
  const [, integer = '', fraction = '', exponent = ''] = match;
  return BigInt(integer + fraction) * 10n ** BigInt(18 + Number(exponent) - fraction.length);
}

function isJsonNumber(text: string): boolean {
  if (text.trim() !== text) return false;
  try {
    return typeof JSON.parse(text) === 'number';
  } catch {
    return false;
  }
}
