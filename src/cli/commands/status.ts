import { Option } from 'commander';
import type { StatusView } from '../../ops/status-view.ts';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand, CommandContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { printJson } from '../json-outputs.ts';
import { timeOf } from '../limits.ts';
import { statusLine, statusScreen } from '../status-text.ts';

interface StatusFlags extends ConfigOptions {
  /** How far back from now, in milliseconds. */
  readonly since: number;
  readonly watch?: true;
  readonly json?: true;
}

const WATCH_EVERY_MS = 2_000;
const DAY_MS = 86_400_000;

export const addStatusCommand: AddCommand = (program, context) => {
  const { fleet: openFleet, queueDepths: openQueues } = context.parts;
  if (openFleet === undefined || openQueues === undefined) return;
  addConfigOptions(program.command('status'))
    .summary('see how things stand')
    .description(
      'Shows the oldest unprocessed order, the queues, what is in flight, how many are authorized, what waits for a ' +
        'person, the books, and every worker. Shows what it can when broker or database are away, and exits 3 then, ' +
        '69 when both are, 1 when the books do not balance.',
    )
    .option('--watch', 'show it again every two seconds, until Ctrl-C; one line each in a pipe')
    .addOption(
      new Option('--since <time>', 'how far the books go back: an age like 7d, or a time')
        .argParser((text) => context.nowMs() - timeOf(text, context.nowMs()))
        .default(DAY_MS, '24h'),
    )
    .option('--json', 'print it as JSON; with --watch one object a line')
    .addHelpText('after', '\nExamples:\n  cardauth status\n  cardauth status --watch --json | jq .oldest\n')
    .action(async (options: StatusFlags) => {
      const config = await configFor(context, options, ['database', 'broker', 'topology']);
      const { statusReader } = await import('../../ops/status.ts');
      const fleet = (await openFleet())(config);
      const queues = (await openQueues())(config);
      const look = statusReader({ ...fleet, queues, nowMs: context.nowMs }, options.since);
      try {
        if (options.watch === true) await watch(look, options, context);
        else show(await look(), options, context);
      } finally {
        await Promise.all([fleet.close(), queues.close()]);
      }
    });
};

function show(status: StatusView, { json }: StatusFlags, { exitWith, terminal }: CommandContext): void {
  if (json === true) printJson(terminal, 'status', status);
  else terminal.out(statusScreen(status));
  exitWith(exitCodeOf(status));
}

function exitCodeOf({ books, missing }: StatusView): number {
  if (missing.length > 1) return exitCodes.unreachable;
  if (missing.length > 0) return exitCodes.partly;
  return books?.balanced === false ? exitCodes.failed : exitCodes.ok;
}

async function watch(
  look: () => Promise<StatusView>,
  { json }: StatusFlags,
  context: CommandContext,
): Promise<void> {
  const { terminal } = context;
  const interruption = context.interruption();
  try {
    while (!interruption.signal.aborted) {
      const status = await Promise.race([look(), interruption.requested]);
      if (status === undefined) break;
      if (json === true) printJson(terminal, 'status', status);
      else terminal.redraw(terminal.isScreen ? statusScreen(status) : statusLine(status));
      await Promise.race([pause(WATCH_EVERY_MS, interruption.signal), interruption.requested]);
    }
    context.exitWith(interruption.exitCode() ?? exitCodes.ok);
  } finally {
    interruption.release();
  }
}

function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, delayMs);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
