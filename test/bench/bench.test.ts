import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CONTESTANT_NAMES } from '../../bench/contestants/contestants.ts';
import type { Figures } from '../../bench/report/figures.ts';
import { testServices } from '../support/services.ts';

const bench = fileURLToPath(new URL('../../bench/bench-process.js', import.meta.url));
const timeoutMs = 300_000;

/** Runs it and reads what it prints; it ends with an error when any contestant's work was wrong. */
async function runBench(...args: readonly string[]): Promise<Figures> {
  const { amqpUrl, databaseUrl } = testServices();
  const { stdout } = await promisify(execFile)(process.execPath, [bench, '--json', ...args], {
    env: { ...process.env, AMQP_URL: amqpUrl, DATABASE_URL: databaseUrl },
    timeout: timeoutMs,
  });
  return JSON.parse(stdout) as Figures;
}

it('every contestant does its work, and is measured', async () => {
  const { contest, machine } = await runBench(
    ...['--orders', '200', '--rounds', '1', '--series', 'none', '--flush-ms', '0.5'],
  );
  assert.equal(machine.flushMs, 0.5);
  assert.deepEqual(contest.map(({ contestant }) => contestant).sort(), CONTESTANT_NAMES.toSorted());
  for (const { contestant, ordersPerSecond, cpuMsPerOrder } of contest) {
    assert.ok(ordersPerSecond.median > 0, `${contestant} has a rate`);
    assert.ok(cpuMsPerOrder.median >= 0, `${contestant} has a CPU time`);
  }
});

it('the series that kill, cut off and pace a worker come to an end, and every order with them', async () => {
  const { runtime, latency, lives } = await runBench(
    ...['--orders', '200', '--rounds', '0', '--series', 'runtime,latency,lives'],
  );
  assert.ok(runtime !== undefined && runtime.microsecondsPerTuple > 0);
  assert.ok(latency !== undefined);
  assert.deepEqual(
    latency.map(({ share }) => share),
    [0.1, 0.5, 0.8],
  );
  for (const { p50Ms, p99Ms, maxMs, gatewayP50Ms } of latency) {
    assert.ok(p50Ms >= gatewayP50Ms, 'an order takes at least as long as its charge');
    assert.ok(p99Ms >= p50Ms && maxMs >= p99Ms * 0.99);
  }
  assert.ok(lives !== undefined && lives.startMs.median > 0 && lives.kill.decidedAfterMs > 0);
});
