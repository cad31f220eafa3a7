import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand } from '../context.ts';

export const addWorkerCommand: AddCommand = (program, context) => {
  const { worker } = context.parts;
  if (worker === undefined) return;
  addConfigOptions(program.command('worker'))
    .summary('take orders in and authorize them')
    .description(
      'Takes orders from the queue, authorizes each at most once, and announces what became of it. ' +
        'Logs one line `ready` when it consumes. SIGTERM drains and exits 0; a second signal ends it at once. ' +
        'Keeps trying, with readiness red, while a service is away.',
    )
    .addHelpText(
      'after',
      '\nExamples:\n' +
        '  cardauth worker --env-file prod.env\n' +
        '  cardauth worker --set LOG_FORMAT=text --set CARDAUTH_HTTP_PORT=0\n',
    )
    .action(async (options: ConfigOptions) => {
      const { allGroups } = await import('../../config/config.ts');
      const config = await configFor(context, options, allGroups);
      const runWorker = await worker();
      context.exitWith(await runWorker(config));
    });
};
