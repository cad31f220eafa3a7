import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { examineAll, reportOf } from '../../src/ops/doctor.ts';
import { findingsOf, type Examination, type Finding } from '../../src/ports/examination.ts';

const { ok, warning, error, skipped, unreachable } = findingsOf('a.check');

function examination(area: string, ...findings: readonly Finding[]): Examination {
  return { area, examine: () => Promise.resolve(findings) };
}

describe('the report of doctor', () => {
  for (const [findings, status] of [
    [[ok('1')], 'ok'],
    [[ok('1'), skipped('2')], 'ok'],
    [[ok('1'), warning('2'), skipped('3')], 'warning'],
    [[warning('1'), error('2'), ok('3')], 'error'],
    [[unreachable('1')], 'error'],
    [[], 'ok'],
  ] as const) {
    it(`is as bad as the worst finding: ${findings.map((one) => one.status).join(', ') || 'none'}`, async () => {
      const report = await examineAll([examination('a', ...findings)]);
      assert.equal(report.status, status);
      assert.equal(
        Object.values(report.counts).reduce((sum, count) => sum + count, 0),
        findings.length,
      );
    });
  }

  it('is as documented, field by field', async () => {
    const report = await examineAll([
      examination('one', ok('fine'), warning('so so', 'mend it')),
      examination('two', unreachable('away')),
    ]);
    assert.deepEqual(report, {
      status: 'error',
      unreachable: ['two'],
      counts: { ok: 1, warning: 1, error: 1, skipped: 0 },
      findings: [
        { area: 'one', check: 'a.check', status: 'ok', what: 'fine', remedy: null },
        { area: 'one', check: 'a.check', status: 'warning', what: 'so so', remedy: 'mend it' },
        { area: 'two', check: 'a.check', status: 'error', what: 'away', remedy: null },
      ],
    });
    assert.equal(reportOf('configuration', [error('x')]).status, 'error');
  });

  it('tells of an examination that broke, without what its error says, and of the others', async () => {
    const broken: Examination = { area: 'bad', examine: () => Promise.reject(new TypeError('secret')) };
    const report = await examineAll([broken, examination('good', ok('fine'))]);
    assert.deepEqual(
      report.findings.map(({ area, status, what }) => [area, status, what]),
      [
        ['bad', 'error', 'the bad could not be examined: TypeError'],
        ['good', 'ok', 'fine'],
      ],
    );
    assert.deepEqual(report.unreachable, []);
  });
});
