import type { ValidationReport } from '../../ops/validate-orders.ts';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand, CommandContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { printJson } from '../json-outputs.ts';

type ValidateFlags = ConfigOptions & { readonly json?: true };

const PROGRESS_EVERY = 1_000;
/** Nothing is stored under a fingerprint here, so any key will do. */
const ANY_FINGERPRINT_KEY = { CARDAUTH_FINGERPRINT_KEY: 'nothing is stored under it' };

export const addValidateCommand: AddCommand = (orders, context) => {
  addConfigOptions(orders.command('validate <file>'))
    .summary('check orders before they are published')
    .description(
      'Reads each line of FILE (- for stdin), one JSON object a line, exactly as a worker would, and says which lines ' +
        'it would deny or park, and why. Sends nothing, needs no service, prints no card data. Takes default currency ' +
        'and highest amount from the configuration. Exits 1 when any line has a problem.',
    )
    .option('--json', 'print the report as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n' +
        '  cardauth orders validate orders.ndjson\n' +
        '  generate-orders | cardauth orders validate - --json | jq .problems\n' +
        '  cardauth schema order     the JSON Schema of an order\n',
    )
    .action(async (file: string, options: ValidateFlags) => {
      const report = await validate(context, file, options);
      if (options.json === true) printJson(context.terminal, 'orders validate', report);
      else printReport(context, report);
    });
};

async function validate(
  context: CommandContext,
  file: string,
  options: ValidateFlags,
): Promise<ValidationReport> {
  const { validateOrders } = await import('../../ops/validate-orders.ts');
  const env = { ...ANY_FINGERPRINT_KEY, ...context.env };
  const { orders } = await configFor({ ...context, env }, options, ['orders']);
  const { defaultCurrency, maxAmount } = orders;
  const fingerprintKey = Buffer.from(orders.fingerprintKey.reveal());
  const cipher = orders.cardKeys && (await context.parts.cardCipher?.())?.(orders.cardKeys);
  const interruption = context.interruption();
  const { terminal } = context;
  try {
    const report = await validateOrders((end) => context.openInput(file, end), {
      rules: { defaultCurrency, maxAmount, fingerprintKey },
      openCard: cipher && ((jwe) => cipher.open(jwe)),
      signal: interruption.signal,
      onProgress: (lines) => {
        if (lines % PROGRESS_EVERY === 0) terminal.progress(`${lines} lines`);
      },
    });
    const isGood = report.ok === report.lines;
    context.exitWith(interruption.exitCode() ?? (isGood ? exitCodes.ok : exitCodes.failed));
    return report;
  } finally {
    terminal.clearProgress();
    interruption.release();
  }
}

function printReport({ terminal }: CommandContext, report: ValidationReport): void {
  for (const { line, disposition, reason, detail } of report.problems) {
    terminal.out(`line ${line}: ${disposition} ${reason}: ${detail}\n`);
  }
  if (report.problemsLeftOut > 0) terminal.err(`... and ${report.problemsLeftOut} more problems\n`);
  terminal.err(`${summary(report)}\n`);
}

function summary({
  lines,
  ok,
  repeated,
  deny,
  park,
  conflict,
  sealed,
  isComplete,
}: ValidationReport): string {
  const parts = [`${lines} lines: ${ok} good`];
  if (repeated > 0) parts.push(`${repeated} the same order again`);
  if (sealed > 0) parts.push(`${sealed} with a sealed card that was not opened: no key is configured`);
  if (deny > 0) parts.push(`${deny} would be denied`);
  if (park > 0) parts.push(`${park} would be parked`);
  if (conflict > 0) parts.push(`${conflict} would conflict with an earlier line`);
  if (!isComplete) parts.push('interrupted before the end of the input');
  return parts.join(', ');
}
