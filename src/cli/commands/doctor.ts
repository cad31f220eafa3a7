import type { DoctorReport, FindingView } from '../../ops/doctor.ts';
import { addConfigOptions, configSources, type ConfigOptions } from '../configuration.ts';
import type { AddCommand, CommandContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { printJson } from '../json-outputs.ts';

type DoctorFlags = ConfigOptions & { readonly json?: true; readonly strict?: true };

export const addDoctorCommand: AddCommand = (program, context) => {
  const { examinations } = context.parts;
  if (examinations === undefined) return;
  addConfigOptions(program.command('doctor'))
    .summary('check broker, database and gateway before trusting them')
    .description(
      'Says of everything a worker depends on whether it is as it has to be, and what to do if not. ' +
        'Changes nothing, charges nothing, and works with any of the services down. What AMQP cannot tell ' +
        'comes from the management API when CARDAUTH_BROKER_MANAGEMENT_URL is set, and is skipped otherwise.',
    )
    .option('--json', 'print {"status","unreachable","counts","findings":[{"area","check","status",...}]}')
    .option('--strict', 'exit 1 on warnings, too')
    .addHelpText(
      'after',
      '\nExit codes: 0 nothing worse than warnings, 1 an error, 69 a service cannot be reached,\n' +
        '            78 bad configuration.\n' +
        '\nExamples:\n' +
        '  cardauth doctor --env-file prod.env\n' +
        '  cardauth doctor --strict --json | jq \'.findings[] | select(.status != "ok")\'\n',
    )
    .action(async (options: DoctorFlags) => {
      const report = await examined(context, options);
      context.terminal.clearProgress();
      if (options.json === true) printJson(context.terminal, 'doctor', report);
      else context.terminal.out(reportText(report));
    });
};

async function examined(context: CommandContext, options: DoctorFlags): Promise<DoctorReport> {
  const { allGroups, loadConfig } = await import('../../config/config.ts');
  const { examineAll, reportOf } = await import('../../ops/doctor.ts');
  const loaded = loadConfig({ ...(await configSources(context, options)), groups: allGroups });
  if (!loaded.ok) {
    context.exitWith(exitCodes.configuration);
    return reportOf(
      'configuration',
      loaded.problems.map(({ what, rule, example }) => ({
        check: 'configuration.complete',
        status: 'error' as const,
        what,
        remedy: `${rule}; e.g. ${example}`,
      })),
    );
  }
  context.terminal.progress('examining broker, database and gateway ...');
  const open = await context.parts.examinations?.();
  const report = await examineAll(open?.(loaded.config) ?? []);
  context.exitWith(exitCodeOf(report, options.strict === true));
  return report;
}

function exitCodeOf({ status, unreachable }: DoctorReport, isStrict: boolean): number {
  if (unreachable.length > 0) return exitCodes.unreachable;
  if (status === 'error' || (status === 'warning' && isStrict)) return exitCodes.failed;
  return exitCodes.ok;
}

const MARKS = { ok: 'ok', skipped: 'skipped', warning: 'WARNING', error: 'ERROR' } as const;

/** One block an area: status, finding, and below it what to do. */
function reportText({ findings, counts }: DoctorReport): string {
  const areas = [...new Set(findings.map(({ area }) => area))];
  const blocks = areas.map((area) => {
    const lines = findings.filter((finding) => finding.area === area).map(findingText);
    return `${area}\n${lines.join('')}`;
  });
  const { error, warning, ok, skipped } = counts;
  return `${blocks.join('\n')}\n${error} error(s), ${warning} warning(s), ${ok} ok, ${skipped} skipped\n`;
}

function findingText({ status, what, remedy }: FindingView): string {
  const advice = remedy === null ? '' : `             -> ${remedy}\n`;
  return `  ${MARKS[status].padEnd(9)}  ${what}\n${advice}`;
}
