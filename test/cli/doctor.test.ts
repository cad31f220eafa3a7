import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { DoctorReport } from '../../src/ops/doctor.ts';
import { findingsOf, type Finding } from '../../src/ports/examination.ts';
import { cli, workerEnv } from './fake-context.ts';

const { ok, warning, error, skipped, unreachable } = findingsOf('a.check');

function doctor(args: readonly string[], ...findings: readonly Finding[]) {
  const examinations = () =>
    Promise.resolve(() => [{ area: 'broker', examine: () => Promise.resolve(findings) }]);
  return cli(['doctor', ...args], { parts: { examinations }, env: workerEnv });
}

describe('cardauth doctor', () => {
  it('prints what it found by area, and below each finding what to do', async () => {
    const { stdout, stderr } = await doctor(
      [],
      ok('all well'),
      warning('not so well', 'mend it'),
      skipped('dark'),
    );
    assert.equal(
      stdout,
      'broker\n' +
        '  ok         all well\n' +
        '  WARNING    not so well\n' +
        '             -> mend it\n' +
        '  skipped    dark\n' +
        '\n0 error(s), 1 warning(s), 1 ok, 1 skipped\n',
    );
    assert.equal(stderr, '');
  });

  for (const [what, args, findings, exitCode] of [
    ['all is well', [], [ok('1'), skipped('2')], 0],
    ['there are warnings', [], [warning('1')], 0],
    ['there are warnings, with --strict', ['--strict'], [warning('1')], 1],
    ['all is well, with --strict', ['--strict'], [ok('1'), skipped('2')], 0],
    ['there is an error', [], [ok('1'), error('2')], 1],
    ['a service is away', [], [error('1'), unreachable('2')], 69],
  ] as const) {
    it(`exits ${exitCode} when ${what}`, async () => {
      assert.equal((await doctor(args, ...findings)).exitCode, exitCode);
    });
  }

  it('prints one JSON object with --json', async () => {
    const { stdout } = await doctor(['--json'], error('1', 'do'), ok('2'));
    const report = JSON.parse(stdout) as DoctorReport;
    assert.deepEqual(Object.keys(report).sort(), ['counts', 'findings', 'status', 'unreachable']);
    assert.deepEqual(report.findings[0], {
      area: 'broker',
      check: 'a.check',
      status: 'error',
      what: '1',
      remedy: 'do',
    });
  });

  it('reports a bad configuration in the same form, exits 78 and examines nothing', async () => {
    const parts = { examinations: () => assert.fail('something was examined') };
    const { exitCode, stdout } = await cli(['doctor', '--json'], {
      parts,
      env: { ...workerEnv, CARDAUTH_LEASE_MS: 'soon' },
    });
    assert.equal(exitCode, 78);
    const report = JSON.parse(stdout) as DoctorReport;
    assert.equal(report.findings[0]?.area, 'configuration');
    assert.match(report.findings[0].what, /CARDAUTH_LEASE_MS is not a whole number/);
  });

  it('has help with examples and exit codes', async () => {
    const { stdout } = await doctor(['--help']);
    assert.match(stdout, /Examples:\n {2}cardauth doctor --env-file/);
    assert.match(stdout, /69 a service cannot be reached/);
  });
});
