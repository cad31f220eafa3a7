import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { soakOptionsOf } from './soak-options.ts';

describe('options of npm run soak', () => {
  it('have defaults: half an hour at 70 % of what is measured', () => {
    assert.deepEqual(soakOptionsOf([]), { minutes: 30, rate: undefined, share: 0.7, json: false });
  });

  it('take a rate instead, and parts of a minute', () => {
    const { minutes, rate } = soakOptionsOf(['--minutes', '0.5', '--rate', '40']);
    assert.deepEqual([minutes, rate], [0.5, 40]);
  });

  for (const args of [
    ['--minutes', '0'],
    ['--minutes', '2000'],
    ['--share', '1.1'],
    ['--share', '0.5', '--rate', '10'],
    ['--rate', '-1'],
    ['x'],
  ])
    it(`refuse ${args.join(' ')}`, () => {
      assert.throws(() => soakOptionsOf(args));
    });
});
