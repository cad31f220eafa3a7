import type { WorkerRecord } from '../../ports/worker-reports.ts';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand } from '../context.ts';
import { printJson } from '../json-outputs.ts';

type ShowFlags = ConfigOptions & { readonly json?: true };

export const addBreakerCommand: AddCommand = (program, context) => {
  const { fleet: open } = context.parts;
  if (open === undefined) return;
  const breaker = program.command('breaker').summary('see whether orders go to the gateway');
  addConfigOptions(breaker.command('show'))
    .description(
      'Shows, for each living worker, whether requests go to the gateway: flowing, opening (step by step), probing (one ' +
        'at a time) or stopped, and why. Each worker judges by itself.',
    )
    .option('--json', 'print [{"worker","host","pid","name","valve","mostInWork","because","seenAt"}]')
    .addHelpText('after', '\nExample:\n  cardauth breaker show\n')
    .action(async (options: ShowFlags) => {
      const config = await configFor(context, options, ['database']);
      const fleet = (await open())(config);
      try {
        const valves = (await fleet.workers.list()).filter(({ isAlive }) => isAlive).flatMap(valvesOf);
        if (options.json === true) printJson(context.terminal, 'breaker show', valves);
        else context.terminal.out(valvesText(valves));
      } finally {
        await fleet.close();
      }
    });
};

type Valve = ReturnType<typeof valvesOf>[number];

function valvesOf({ host, pid, report, seenAtMs, worker }: WorkerRecord) {
  const seenAt = new Date(seenAtMs).toISOString();
  return report.gateways.map((gateway) => ({ worker, host, pid, ...gateway, seenAt }));
}

function valvesText(valves: readonly Valve[]): string {
  if (valves.length === 0) return 'no worker is running\n';
  return valves
    .map(({ because, host, mostInWork, name, pid, valve, worker }) => {
      const limit = mostInWork === null ? '' : `, at most ${mostInWork} order(s) at work`;
      const why = because === null ? '' : `: ${because}`;
      return `worker ${worker} (${host}, process ${pid})  ${name}  ${valve}${limit}${why}\n`;
    })
    .join('');
}
