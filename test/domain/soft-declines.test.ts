import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Declined } from '../../src/domain/outcome.ts';
import { MOST_TRIES, NETWORK_CAPS, nextTry, RETRIED_FOR_MS } from '../../src/domain/soft-declines.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW_MS = Date.UTC(2026, 0, 1);
const policy = { waitsMs: [HOUR_MS, DAY_MS] };
const declined: Declined = {
  kind: 'declined',
  reason: 'card_declined',
  class: 'soft',
  code: 'insufficient_funds',
};
const first = { declines: 1, untilMs: undefined };

describe('the next try after a soft decline', () => {
  it('comes after the wait of its number, and ends with the first decline’s 30 days', () => {
    const untilMs = NOW_MS + 30 * DAY_MS;
    assert.deepEqual(nextTry(declined, first, policy, NOW_MS), { atMs: NOW_MS + HOUR_MS, untilMs });
    const second = { declines: 2, untilMs };
    assert.deepEqual(nextTry(declined, second, policy, NOW_MS), { atMs: NOW_MS + DAY_MS, untilMs });
  });

  it('comes no earlier than the card network wishes', () => {
    const wish = { ...declined, retryAfterMs: 10 * DAY_MS };
    assert.equal(nextTry(wish, first, policy, NOW_MS)?.atMs, NOW_MS + 10 * DAY_MS);
    const shorter = { ...declined, retryAfterMs: 1 };
    assert.equal(nextTry(shorter, first, policy, NOW_MS)?.atMs, NOW_MS + HOUR_MS);
  });

  const never: readonly (readonly [string, Declined, { declines: number; untilMs: number | undefined }])[] = [
    ['a hard decline', { ...declined, class: 'hard' }, first],
    ['a decline that nobody knows', { ...declined, class: 'unknown' }, first],
    ['a wish for authentication', { ...declined, reason: 'authentication_required' }, first],
    ['the last wait', declined, { declines: 3, untilMs: NOW_MS + DAY_MS }],
    ['the end of its time', declined, { declines: 2, untilMs: NOW_MS + DAY_MS - 1 }],
    ['a wish beyond the end of its time', { ...declined, retryAfterMs: RETRIED_FOR_MS + 1 }, first],
  ];
  for (const [what, outcome, soFar] of never) {
    it(`does not come after ${what}`, () => {
      assert.equal(nextTry(outcome, soFar, policy, NOW_MS), undefined);
    });
  }

  it('does not come once a network would count the order as asked too often, whatever the policy', () => {
    const restless = { waitsMs: Array.from({ length: 50 }, () => 1) };
    let soFar: { declines: number; untilMs: number | undefined } = first;
    for (;;) {
      const next = nextTry(declined, soFar, restless, NOW_MS);
      if (next === undefined) break;
      soFar = { declines: soFar.declines + 1, untilMs: next.untilMs };
    }
    assert.equal(soFar.declines, MOST_TRIES);
    for (const { tries } of NETWORK_CAPS) assert.ok(soFar.declines <= tries);
  });
});
