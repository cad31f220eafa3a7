import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { loadEvidence } from './evidence.ts';
import { planOf } from './plan.ts';

it('evidence has the lines of each worker with their time, and those that a kill has cut off as they are', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cardauth-evidence-'));
  t.after(() => {
    rmSync(folder, { recursive: true });
  });
  const line = '{"level":"warn","time":"2026-01-01T00:00:01.000Z","ageMs":6000.5,"msg":"tuple tree failed"}';
  writeFileSync(join(folder, 'worker-2.log'), `${line}\n{"level":"info","ti`);
  writeFileSync(join(folder, 'operator-1.log'), `${line}\n`);
  const { logs } = loadEvidence(folder, planOf(10, 1), {});
  const [first, second, ...more] = logs;
  assert.deepEqual([first?.worker, first?.msg, first?.ageMs], [2, 'tuple tree failed', 6000.5]);
  assert.equal(first?.time, Date.parse('2026-01-01T00:00:01Z'));
  assert.deepEqual([second?.msg, second?.text, more], ['', '{"level":"info","ti', []]);
});
