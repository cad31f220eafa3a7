/** `npm run chaos`: one run, its progress on stderr, its verdict on stdout. See options.ts. */
import { randomInt } from 'node:crypto';
import { commit } from './commit.ts';
import { optionsOf, USAGE, type ChaosOptions } from './options.ts';
import { asTable } from './report.ts';
import type { Progress } from './settle.ts';
import { holdTrial } from './trial.ts';

const USAGE_EXIT_CODE = 64;
const LINE_EVERY_MS = 5_000;

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(USAGE);
    return 0;
  }
  let options: ChaosOptions;
  try {
    options = optionsOf(args, () => randomInt(2 ** 32));
  } catch (error) {
    process.stderr.write(`chaos: ${error instanceof Error ? error.message : 'bad arguments'}\n\n${USAGE}`);
    return USAGE_EXIT_CODE;
  }
  process.stderr.write(`chaos: ${options.orders} orders, seed ${options.seed}\n`);
  const report = await holdTrial({ ...options, commit: commit(), show: shower(options.orders) });
  const isPlanted = options.plant !== undefined;
  process.stdout.write(
    options.json ? `${JSON.stringify({ ...report, plant: options.plant })}\n` : asTable(report),
  );
  if (isPlanted && !options.json)
    process.stdout.write(`  The planted bug was ${report.violations > 0 ? 'found' : 'NOT FOUND'}.\n`);
  // Whatever a planted bug does to a worker, the storm may have missed it.
  return isPlanted ? Number(report.violations === 0) : Number(report.violations > 0 || !report.wasStorm);
}

/** One line that changes on a terminal; elsewhere a line now and then. */
function shower(orders: number): (progress: Progress) => void {
  let shownAtMs = -Infinity;
  let shownDoing = '';
  return ({ blows, decided, doing }) => {
    const text = `chaos: ${decided} of ${orders} orders announced, ${blows} blows; ${doing}`;
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
    else if (doing !== shownDoing || performance.now() - shownAtMs > LINE_EVERY_MS) {
      process.stderr.write(`${text}\n`);
      shownAtMs = performance.now();
      shownDoing = doing;
    }
  };
}
