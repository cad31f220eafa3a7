import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitFor } from './wait-for.ts';

test('returns the first truthy answer', async () => {
  const answers = [0, undefined, 'yes', 'too late'];
  assert.equal(await waitFor('an answer', () => answers.shift(), { intervalMs: 1 }), 'yes');
});

test('an error counts as not yet', async () => {
  let asked = 0;
  const condition = (): Promise<boolean> =>
    ++asked < 3 ? Promise.reject(new Error('not there')) : Promise.resolve(true);
  assert.equal(await waitFor('the third time', condition, { intervalMs: 1 }), true);
  assert.equal(asked, 3);
});

test('says what was waited for and what was seen last', async () => {
  const never = waitFor('three orders', () => [1, 2].length === 3, { timeoutMs: 5, intervalMs: 1 });
  await assert.rejects(never, /waited 5 ms for three orders; the last answer was false/);

  const failing = waitFor('the row', () => Promise.reject(new Error('no such table')), { timeoutMs: 5 });
  await assert.rejects(failing, /for the row; the last answer was the error Error: no such table/);
});
