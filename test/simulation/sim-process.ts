/**
 * `npm run sim`: see USAGE. Data on stdout, progress on stderr; exit code 1 when something was violated, or a planted bug
 * was not found, or a kind of fault never struck.
 */
import { parseArgs } from 'node:util';

import { runCampaign } from './campaign.ts';
import { exhaust } from './exhaustive.ts';
import { huntPlant, PLANTS } from './hunt.ts';
import { killTable, spoiledBadly, tableInWords } from './kill-table.ts';
import { readRegression, writeRegression } from './regressions.ts';
import { shrink, type Scenario } from './shrink.ts';
import { simulate } from './simulation.ts';
import { missingFrom, type Failure, type Tally } from './tally.ts';

const USAGE = `npm run sim -- [options]

  --seeds N           N random runs (default 50,000), then planted bugs and every single fault
  --first S           the first seed (default 1)
  --kills             one order, every write on its ways: killed before, after, and its reply lost
  --pairs             also every pair of faults for one order (about 40,000 runs)
  --seed S            one run: prints its trace
  --shrink            with --seed: makes its failure as small as it gets, and stores it
  --replay FILE       one stored run: prints its trace

  npm run sim -- --seed 4711
  npm run sim -- --seeds 2000 --first 100000
  npm run sim -- --replay test/simulation/regressions/some-failure.json
`;

/** A planted bug that is not found in so many runs is a hole in the net. */
const SEEDS_FOR_A_PLANT = 3_000;

let lastSaidMs = -Infinity;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '50000' },
    first: { type: 'string', default: '1' },
    kills: { type: 'boolean', default: false },
    pairs: { type: 'boolean', default: false },
    seed: { type: 'string' },
    shrink: { type: 'boolean', default: false },
    replay: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) process.stdout.write(USAGE);
else if (values.kills) process.exitCode = await showKills();
else if (values.replay !== undefined) process.exitCode = await showRun(readRegression(values.replay));
else if (values.seed !== undefined) {
  const seed = wholeNumber(values.seed);
  process.exitCode = values.shrink ? await storeShrunk(seed) : await showRun({ seed });
} else process.exitCode = await everything();

/** The trace of one run. */
async function showRun(scenario: Pick<Scenario, 'seed'> & Partial<Scenario>): Promise<number> {
  const { struck, trace, violations } = await simulate({ ...scenario, keepTrace: true });
  process.stdout.write(`${trace.join('\n')}\n`);
  process.stderr.write(`${struck.length} faults struck, ${violations.length} violations\n`);
  return violations.length === 0 ? 0 : 1;
}

async function showKills(): Promise<number> {
  Error.stackTraceLimit = 0;
  const rows = await killTable({ onRow: ({ way }) => { say(way); } }); // prettier-ignore
  say('');
  process.stdout.write(tableInWords(rows));
  return spoiledBadly(rows).length === 0 ? 0 : 1;
}

async function storeShrunk(seed: number): Promise<number> {
  const { orders, struck, violations } = await simulate({ seed });
  const [first] = violations;
  if (first === undefined) {
    process.stderr.write(`seed ${seed} breaks nothing\n`);
    return 0;
  }
  const least = await shrink({ seed, orders, workers: 2, plan: struck });
  const about = `${first.invariant}: ${first.what}`;
  const path = writeRegression(`${first.invariant}-seed-${seed}`, { about, ...least });
  process.stdout.write(`${about}\n${least.plan.length} of ${struck.length} faults are left: ${path}\n`);
  return 1;
}

async function everything(): Promise<number> {
  Error.stackTraceLimit = 0;
  const firstSeed = wholeNumber(values.first);
  const seeds = wholeNumber(values.seeds);
  const beganAtMs = performance.now();
  const usedBefore = process.cpuUsage();
  const tally = await runCampaign({ firstSeed, seeds, onProgress: progressLine(seeds, beganAtMs) });
  const randomMs = performance.now() - beganAtMs;
  const { system, user } = process.cpuUsage(usedBefore);
  const cpuMs = (system + user) / 1000;

  const exhausted = { runs: 0, failures: [] as Failure[] };
  await exhaust({
    ...(values.pairs ? { everyNthFirst: 1 } : {}),
    onRun: ({ seed, violations }, plan) => {
      exhausted.runs += 1;
      if (violations.length > 0) exhausted.failures.push({ seed, violations, struck: plan });
      if (exhausted.runs % 100 === 0) say(`${exhausted.runs} single and double faults of one order`);
    },
  });

  const survivors: string[] = [];
  for (const plant of PLANTS) {
    say(`planted: ${plant.name}`);
    const found = await huntPlant(plant, firstSeed, SEEDS_FOR_A_PLANT);
    if (found === undefined) survivors.push(plant.name);
  }
  say('');

  // With few seeds, the rare ones may well be missing.
  const missing = seeds >= 5_000 ? missingFrom(tally, 1) : [];
  process.stdout.write(closingTable(tally, { randomMs, cpuMs }, exhausted, survivors, missing));
  const isClean = tally.failures.length + exhausted.failures.length + survivors.length + missing.length === 0;
  return isClean ? 0 : 1;
}

function progressLine(seeds: number, beganAtMs: number): (soFar: Tally) => void {
  return (soFar) => {
    const perSecond = (soFar.seeds / (performance.now() - beganAtMs)) * 1000;
    const figures = `${soFar.orders} orders, ${soFar.kills} kills, ${soFar.failures.length} violated`;
    say(`${soFar.seeds} of ${seeds} seeds, ${perSecond.toFixed(0)} a second: ${figures}`);
  };
}

/** One line that is written over in a terminal; elsewhere one every ten seconds. */
function say(line: string): void {
  if (process.stderr.isTTY) {
    process.stderr.write(`\r\u001B[K${line}`);
  } else if (performance.now() - lastSaidMs > 10_000 && line !== '') {
    lastSaidMs = performance.now();
    process.stderr.write(`${line}\n`);
  }
}

function closingTable(
  tally: Tally,
  { randomMs, cpuMs }: { readonly randomMs: number; readonly cpuMs: number },
  exhausted: { readonly runs: number; readonly failures: readonly Failure[] },
  survivors: readonly string[],
  missing: readonly string[],
): string {
  const rows: [string, string][] = [
    ['seeds', `${tally.seeds} in ${seconds(randomMs)} s, ${seconds(cpuMs)} s of CPU`],
    ['orders', String(tally.orders)],
    ['kills of workers', String(tally.kills)],
    ['faults and commands', String(sum(tally.faults))],
    ['violations, of seeds', boundOf(tally.failures.length, tally.seeds)],
    ['violations, of orders', boundOf(tally.failures.length, tally.orders)],
    ['violations, of kills', boundOf(tally.failures.length, tally.kills)],
    ['one order, every fault', boundOf(exhausted.failures.length, exhausted.runs)],
    ['planted bugs', `${PLANTS.length - survivors.length} of ${PLANTS.length} found`],
  ];
  return [
    ...sectionOf('faults by kind', tally.faults),
    ...sectionOf('changes of status', tally.edges),
    ...sectionOf('failed trees by error class', tally.errorClasses),
    ...sectionOf('what operators came to', tally.commands),
    ...rows.map(([name, value]) => `${name.padEnd(24)} ${value}`),
    ...survivors.map((name) => `not found: ${name}`),
    ...missing.map((name) => `never happened: ${name}`),
    ...[...tally.failures, ...exhausted.failures].slice(0, 20).map(lineOf),
    '',
  ].join('\n');
}

function sectionOf(title: string, times: Readonly<Record<string, number>>): string[] {
  const sorted = Object.entries(times).sort(([one], [other]) => one.localeCompare(other));
  return [title, ...sorted.map(([name, count]) => `  ${name.padEnd(48)} ${String(count).padStart(8)}`), ''];
}

/** "Rule of three": with nothing seen in n trials, the rate is below 3/n with 95 % confidence. */
function boundOf(violations: number, runs: number): string {
  const bound = violations === 0 ? `, 95 % upper bound ${(3 / runs).toExponential(1)}` : '';
  return `${violations} of ${runs}${bound}`;
}

function lineOf({ seed, struck, violations: [first] }: Failure): string {
  return `seed ${seed} (${struck.length} faults): ${first?.invariant ?? ''} ${first?.what ?? ''}`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(0);
}

function sum(times: Readonly<Record<string, number>>): number {
  return Object.values(times).reduce((total, count) => total + count, 0);
}

function wholeNumber(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new Error(`a whole number is wanted, not "${text}"\n${USAGE}`);
}
