import type { LineProblem, PublishReport } from '../../ops/publish-orders.ts';
import type { OrderPublisher } from '../../ports/order-publisher.ts';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand, CommandContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { printJson } from '../json-outputs.ts';
import type { Terminal } from '../terminal.ts';

type PublishFlags = ConfigOptions & { readonly json?: true };

const MAX_SHOWN_PROBLEMS = 20;
const PROGRESS_EVERY = 100;

export const addPublishCommand: AddCommand = (orders, context) => {
  const { orderPublisher } = context.parts;
  if (orderPublisher === undefined) return;
  addConfigOptions(orders.command('publish <file>'))
    .summary('put orders on the queue')
    .description(
      'Publishes each line of FILE (- for stdin), one JSON object a line, as an order, and waits until the broker has ' +
        'confirmed all of them. Lines that are no JSON object are reported by number and left out. ' +
        'Exits 3 when only some were published, 69 when the broker cannot be reached.',
    )
    .option('--json', 'print the summary as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  cardauth orders publish orders.ndjson\n  generate-orders | cardauth orders publish - --json\n',
    )
    .action(async (file: string, options: PublishFlags) => {
      const config = await configFor(context, options, ['broker']);
      const publisher = await (await orderPublisher())(config);
      try {
        const report = await publish(context, file, publisher);
        const queue = config.broker.ordersQueue;
        const { stopped = null, ...counts } = report;
        if (options.json === true)
          printJson(context.terminal, 'orders publish', { queue, ...counts, stopped });
        else context.terminal.out(reportText(report, queue));
      } finally {
        await publisher.close();
      }
    });
};

async function publish(
  context: CommandContext,
  file: string,
  publisher: OrderPublisher,
): Promise<PublishReport> {
  const { publishOrders } = await import('../../ops/publish-orders.ts');
  const { terminal, newMessageId } = context;
  const interruption = context.interruption();
  const problems = problemPrinter(terminal);
  try {
    const { signal } = interruption;
    const report = await publishOrders((end) => context.openInput(file, end), {
      publisher,
      newMessageId,
      signal,
      onProblem: problems.print,
      onProgress: ({ published }) => {
        if (published % PROGRESS_EVERY === 0) terminal.progress(`${published} published`);
      },
    });
    problems.printRest();
    context.exitWith(interruption.exitCode() ?? exitCodeOf(report));
    return report;
  } finally {
    terminal.clearProgress();
    interruption.release();
  }
}

function exitCodeOf({ published, refused, failed, stopped }: PublishReport): number {
  if (refused + failed === 0) return exitCodes.ok;
  if (published > 0) return exitCodes.partly;
  return stopped === 'broker' ? exitCodes.unreachable : exitCodes.failed;
}

function problemPrinter(terminal: Terminal) {
  let count = 0;
  return {
    print: ({ line, what }: LineProblem) => {
      count++;
      if (count <= MAX_SHOWN_PROBLEMS) terminal.err(`line ${line} ${what}\n`);
    },
    printRest: () => {
      if (count > MAX_SHOWN_PROBLEMS) terminal.err(`... and ${count - MAX_SHOWN_PROBLEMS} more lines\n`);
    },
  };
}

function reportText({ published, refused, failed, stopped }: PublishReport, queue: string): string {
  const parts = [`published ${published} to ${queue}`];
  if (refused > 0) parts.push(`refused ${refused}`);
  if (failed > 0) parts.push(`not confirmed ${failed}`);
  if (stopped === 'interrupted') parts.push('interrupted before the end of the input');
  if (stopped === 'broker') parts.push('given up before the end of the input: the broker confirms nothing');
  return `${parts.join(', ')}\n`;
}
