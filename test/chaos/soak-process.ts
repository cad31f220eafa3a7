/** `npm run soak`: a steady load for long, its progress on stderr, figures and verdict on stdout. See soak-options.ts. */
import { commit } from './commit.ts';
import { runSoak, type SoakReport } from './run-soak.ts';
import type { Minute } from './soak-minutes.ts';
import { SOAK_USAGE, soakOptionsOf, type SoakOptions } from './soak-options.ts';

const USAGE_EXIT_CODE = 64;

async function main(args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(SOAK_USAGE);
    return 0;
  }
  let options: SoakOptions;
  try {
    options = soakOptionsOf(args);
  } catch (error) {
    process.stderr.write(
      `soak: ${error instanceof Error ? error.message : 'bad arguments'}\n\n${SOAK_USAGE}`,
    );
    return USAGE_EXIT_CODE;
  }
  const report = await runSoak({
    ...options,
    commit: commit(),
    show: (line) => process.stderr.write(`soak: ${line}\n`),
  });
  process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : asText(report));
  return Number(report.problems.length > 0 || report.flatness.isFlat === false);
}

const COLUMNS: readonly (readonly [header: string, text: (minute: Minute) => string])[] = [
  ['minute', ({ minute }) => String(minute + 1)],
  ['orders', ({ published }) => String(published)],
  ['announced', ({ announced }) => String(announced)],
  ['p50 ms', ({ p50Ms }) => String(p50Ms)],
  ['p99 ms', ({ p99Ms }) => String(p99Ms)],
  ['backlog', ({ backlog }) => String(backlog)],
  ['RSS MiB', ({ rssMib }) => rssMib.toFixed(1)],
  ['heap MiB', ({ heapMib }) => heapMib.toFixed(1)],
  ['files', ({ descriptors }) => String(descriptors)],
  ['resources', ({ resources }) => String(resources)],
];

function asText(report: SoakReport): string {
  const { chargedTwice, flatness, lost, minutes, orders, problems, rate, topRate, workersKilled } = report;
  const header = COLUMNS.map(([name]) => name.padStart(10)).join('');
  const rows = minutes.map((minute) => COLUMNS.map(([, text]) => text(minute).padStart(10)).join(''));
  const shown = flatness.isFlat === undefined ? [] : flatness.trends;
  const trends = shown.map(({ isFlat, limit, mean, name, rise }) => {
    const mark = isFlat ? 'ok ' : 'NO ';
    return `  ${mark} ${name.padEnd(12)} mean ${mean.toFixed(1)}, rises by ${rise.toFixed(1)} of ${limit.toFixed(1)} allowed`;
  });
  const measured = topRate === undefined ? '' : ` of ${topRate.toFixed(0)} at the most`;
  return [
    '',
    header,
    ...rows,
    '',
    ...trends,
    ...problems.slice(0, 10).map((problem) => `  NO  ${problem}`),
    '',
    `  ${orders} orders, ${rate.toFixed(0)} a second${measured}; ${workersKilled} workers killed; commit ${report.commit}`,
    `  charged twice ${chargedTwice}, lost ${lost}; ${verdictOf(report)}`,
    '',
  ].join('\n');
}

function verdictOf({ flatness: { isFlat }, problems }: SoakReport): string {
  const books = problems.length === 0 ? 'the books balance' : 'the books do not balance';
  if (isFlat === undefined) return `${books}; too short to tell whether it is flat`;
  return `${books}; memory, handles, latency and backlog are ${isFlat ? 'flat' : 'NOT flat'}`;
}

process.exitCode = await main(process.argv.slice(2));
