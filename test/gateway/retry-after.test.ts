import assert from 'node:assert/strict';
import { it } from 'node:test';
import { MAX_RETRY_AFTER_MS, retryAfterMs } from '../../src/adapters/gateway/retry-after.ts';

const NOW_MS = Date.parse('2026-11-30T12:00:00Z');

it('Retry-After is seconds or a date, within bounds, or nothing', () => {
  const cases: readonly (readonly [string | undefined, number | undefined])[] = [
    [undefined, undefined],
    ['0', 0],
    ['120', 120_000],
    ['301', MAX_RETRY_AFTER_MS],
    ['9999999999', MAX_RETRY_AFTER_MS],
    ['99999999999', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['1e3', undefined],
    ['', undefined],
    ['soon', undefined],
    ['2026-11-30T12:00:03Z', undefined],
    ['Mon, 30 Nov 2026 12:00:03 GMT', 3_000],
    ['Mon, 30 Nov 2026 11:00:00 GMT', 0],
    ['Thu, 31 Dec 2099 23:59:59 GMT', MAX_RETRY_AFTER_MS],
    ['Mon, 99 Xyz 2026 12:00:03 GMT', undefined],
  ];
  for (const [header, expected] of cases) assert.equal(retryAfterMs(header, NOW_MS), expected, header);
});
