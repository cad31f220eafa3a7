import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { causeOf } from '../../src/domain/park-cause.ts';

const exhausted = (replays: number, since: string, errorClass: string): string =>
  `${replays} replays since ${since}; the last run failed in authorize-credit-card (executing): ${errorClass}, explicit`;

describe('the cause of a parked order', () => {
  it('is the same for orders that differ in ids, numbers and times', () => {
    const one = causeOf('replays_exhausted', '8', exhausted(8, '2026-01-01T10:00:00.000Z', 'no_answer'));
    const other = causeOf(
      'replays_exhausted',
      't-0a1b2c3d',
      exhausted(12, '2026-02-03T04:05:06Z', 'no_answer'),
    );
    assert.equal(one, other);
    assert.equal(
      one,
      'replays_exhausted: # replays since #; the last run failed in authorize-credit-card (executing): no_answer, explicit',
    );
  });

  it('differs where the error does', () => {
    const since = '2026-01-01T10:00:00.000Z';
    assert.notEqual(
      causeOf('replays_exhausted', '8', exhausted(8, since, 'no_answer')),
      causeOf('replays_exhausted', '8', exhausted(8, since, 'database')),
    );
    assert.notEqual(causeOf('amount_zero', '8', 'x'), causeOf('amount_range', '8', 'x'));
  });

  for (const [error, cause] of [
    ['order abc.1 is wrong', 'order # is wrong'],
    ['order abc.12 is wrong', 'order abc.# is wrong'],
    ['key 6f1f7c0e-9d2c-4a3f-8a51-0e7f7a4b9c11 was used', 'key # was used'],
    ['reference pi_3Nabc123XYZ', 'reference #'],
    ['the body has 70123 bytes, the limit is 65536', 'the body has # bytes, the limit is #'],
    [`it says "whatever 'they' sent"`, 'it says #'],
    ['creditCardNumber fails its check digit', 'creditCardNumber fails its check digit'],
    ['  much \n space ', 'much space'],
  ] as const) {
    it(`of ${JSON.stringify(error)} is ${JSON.stringify(cause)}`, () => {
      assert.equal(causeOf('r', 'abc.1', error), `r: ${cause}`);
    });
  }

  it('is the reason alone without an error, and never long', () => {
    assert.equal(causeOf('foreign', undefined, ''), 'foreign');
    const long = causeOf('r', undefined, '😀'.repeat(1_000));
    assert.ok(long.length <= 240);
    assert.equal(Buffer.from(long).toString(), long, 'no character is cut in two');
  });
});
