/** A small storm; `npm run chaos` raises larger ones. The seed is in the output, and repeats the plan. */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { it } from 'node:test';
import { findPostgres, findRabbitmq } from '../support/private-services.ts';
import { asTable } from './report.ts';
import { holdTrial } from './trial.ts';

const ORDERS = 300;
const areInstalled = findRabbitmq() !== undefined && findPostgres() !== undefined;
const options = {
  timeout: 400_000,
  skip: !areInstalled && 'rabbitmq-server and PostgreSQL are not both installed',
};

it('chaos: three broker nodes, a database and three workers in a small storm', options, async (t) => {
  const seed = Number(process.env['CARDAUTH_CHAOS_SEED'] ?? randomInt(2 ** 32));
  t.diagnostic(`seed ${seed}`);
  const report = await holdTrial({ orders: ORDERS, seed, commit: 'under test', show: () => undefined });
  t.diagnostic(`${report.workersKilled} workers killed, ${report.gatewayFaults} faults at the gateway`);
  assert.deepEqual([report.violations, report.wasStorm], [0, true], asTable(report));
  assert.ok(report.workersKilled >= 3 && report.approvals > 0.5 * ORDERS, asTable(report));
});
