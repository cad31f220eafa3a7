/** A quarter of a minute: that everything is measured. `npm run soak` takes half an hour. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { findPostgres, findRabbitmq } from '../support/private-services.ts';
import { runSoak } from './run-soak.ts';

const areInstalled = findRabbitmq() !== undefined && findPostgres() !== undefined;
const options = {
  timeout: 300_000,
  skip: !areInstalled && 'rabbitmq-server and PostgreSQL are not both installed',
};

it('soak: a steady load, a kill, every figure measured, and the books balance', options, async (t) => {
  const report = await runSoak({
    ...{ minutes: 0.25, rate: 40, share: 1, commit: 'under test' },
    show: (line) => {
      t.diagnostic(line);
    },
  });
  assert.deepEqual([report.problems, report.chargedTwice, report.lost], [[], 0, 0]);
  assert.deepEqual([report.orders, report.flatness.isFlat], [600, undefined]);
  assert.ok(report.workersKilled > 0, 'nobody was killed');
  const [minute, ...more] = report.minutes;
  assert.ok(minute !== undefined && more.length === 0);
  assert.ok(minute.published > 300, JSON.stringify(minute));
  for (const name of ['p99Ms', 'rssMib', 'heapMib', 'resources'] as const)
    assert.ok(minute[name] > 0, `${name} was not measured`);
});
