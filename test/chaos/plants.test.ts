import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { cardauth, startProcess } from '../support/worker-process.ts';
import { plant, PLANT_NAMES } from './plants.ts';

describe('planted bugs', () => {
  for (const name of PLANT_NAMES) {
    it(`${name} still fits the program, and the copy runs`, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'cardauth-plant-'));
      t.after(() => {
        rmSync(folder, { recursive: true });
      });
      const program = plant(name, join(folder, 'copy'));
      assert.notEqual(program, cardauth);
      assert.equal(readFileSync(program, 'utf8'), readFileSync(cardauth, 'utf8'));
      const version = startProcess({ owner: t, args: [program, '--version'] });
      assert.deepEqual(await version.exited, { code: 0, signal: null });
    });
  }

  it('an unknown one is refused', () => {
    assert.throws(() => plant('rose', '/nowhere'), /there is no bug rose/);
  });
});
