/** `npm run bench`: progress on stderr, the result on stdout. See options.ts. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { measure } from './bench.ts';
import { optionsOf, USAGE, type BenchOptions } from './options.ts';
import { targetsOf } from './report/targets.ts';
import { asText } from './report/text.ts';
import { WrongResult } from './stage/books.ts';
import { setUpStage, type Stage } from './stage/stage.ts';

const USAGE_EXIT_CODE = 64;

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(USAGE);
    return 0;
  }
  let options: BenchOptions;
  try {
    options = optionsOf(args);
  } catch (error) {
    process.stderr.write(`bench: ${messageOf(error)}\n\n${USAGE}`);
    return USAGE_EXIT_CODE;
  }
  try {
    await bench(options);
    return 0;
  } catch (error) {
    const isVerdict = error instanceof WrongResult;
    process.stderr.write(`bench: ${isVerdict ? `WRONG: ${error.message}` : traceOf(error)}\n`);
    return 1;
  }
}

async function bench(options: BenchOptions): Promise<void> {
  const { AMQP_URL: amqpUrl, DATABASE_URL: databaseUrl } = process.env;
  if (amqpUrl === undefined || databaseUrl === undefined)
    throw new Error('AMQP_URL and DATABASE_URL are not set: start the bench with npm run bench');
  const folder = options.keep ?? mkdtempSync(join(tmpdir(), 'cardauth-bench-'));
  mkdirSync(folder, { recursive: true });
  const stage = await setUpStage({
    amqpUrl,
    databaseUrl,
    flushMs: options.flushMs,
    folder,
    profiled: options.profile,
  });
  strikeOnSignal(stage);
  try {
    const figures = await measure(stage, options, show);
    const targets = targetsOf(figures);
    const result = options.json ? `${JSON.stringify({ ...figures, targets })}\n` : asText(figures, targets);
    process.stdout.write(result);
  } finally {
    await stage.strike();
    if (options.keep === undefined) rmSync(folder, { recursive: true });
  }
}

/** The services may be the caller's own: nothing of ours is to stay on them. */
function strikeOnSignal(stage: Stage): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      void stage.strike().finally(() => process.exit(128 + constants.signals[signal]));
    });
  }
}

function show(progress: string): void {
  process.stderr.write(`bench: ${progress}\n`);
}

function traceOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
