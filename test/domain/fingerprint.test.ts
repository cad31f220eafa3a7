import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Secret } from '../../src/domain/card.ts';
import { fingerprintOf } from '../../src/domain/fingerprint.ts';

const KEY = Buffer.from('test fingerprint key');

/** Few characters and no fixed lengths, so that neighbours often join to the same text. */
const text = fc.string({
  unit: fc.constantFrom('1', '2', ':', 'a', '\ud800', '\udfff', '\ufffd'),
  maxLength: 4,
});
const means = fc.oneof(
  fc.record({ kind: fc.constant('card' as const), number: text, expiry: text }),
  fc.record({ kind: fc.constant('token' as const), paymentMethod: text }),
);
const charge = fc.record({
  means,
  amountMinor: fc.bigInt({ min: 1n, max: 120n }),
  currency: text,
  customerId: text,
});
type Charge = typeof charge extends fc.Arbitrary<infer T> ? T : never;

describe('a fingerprint', () => {
  test('differs wherever a field differs, also where neighbours join to the same text', () => {
    const seen = new Map<string, string>();
    fc.assert(
      fc.property(charge, (drawn) => {
        const identity = JSON.stringify([
          drawn.means,
          drawn.amountMinor.toString(),
          drawn.currency,
          drawn.customerId,
        ]);
        const fingerprint = fingerprintOfCharge(drawn);
        assert.equal(seen.get(fingerprint) ?? identity, identity);
        seen.set(fingerprint, identity);
      }),
      { numRuns: 5000 },
    );
    assert.equal(new Set(seen.values()).size, seen.size);
  });

  test('does not move a character over a boundary', () => {
    const card = {
      means: { kind: 'card' as const, number: '12', expiry: '3' },
      amountMinor: 4n,
      currency: '5',
      customerId: '6',
    };
    const moved: readonly Charge[] = [
      { ...card, means: { kind: 'card', number: '1', expiry: '23' } },
      { ...card, means: { kind: 'card', number: '123', expiry: '' } },
      { ...card, means: { kind: 'token', paymentMethod: '123' } },
      { ...card, amountMinor: 45n, currency: '' },
      { ...card, currency: '', customerId: '56' },
      { ...card, means: { kind: 'card', number: '121:3', expiry: '' } },
    ];
    const fingerprints = [card, ...moved].map(fingerprintOfCharge);
    assert.equal(new Set(fingerprints).size, fingerprints.length);
  });

  test('is stable: a changed encoding would turn every stored order into a conflict', () => {
    const stored = fingerprintOfCharge({
      means: { kind: 'card', number: '4242424242424242', expiry: '012030' },
      amountMinor: 4223n,
      currency: 'USD',
      customerId: '5678',
    });
    assert.equal(stored, 'f99ca81a372611a9abdedb3ccdbc5a4b9f067c214c9bb07573ecd7a1f2443083');
  });
});

function fingerprintOfCharge({ means: drawn, amountMinor, currency, customerId }: Charge): string {
  const identity =
    drawn.kind === 'card'
      ? { kind: 'card' as const, number: new Secret(drawn.number), expiry: drawn.expiry }
      : drawn;
  return fingerprintOf(KEY, { amountMinor, currency }, customerId, identity);
}
