import type { Command } from 'commander';
import type { IntakeChange } from '../../ports/intake-control.ts';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand, CommandContext } from '../context.ts';
import { printJson } from '../json-outputs.ts';
import type { Parts } from '../parts.ts';
import { addWriteOptions, operatorCommandOf, type WriteOptions } from '../write-options.ts';

type Flags = ConfigOptions & WriteOptions & { readonly json?: true };
type OpenFleet = NonNullable<Parts['fleet']>;

export const addPauseCommand: AddCommand = (program, context) => {
  const { fleet } = context.parts;
  if (fleet === undefined) return;
  withFlags(program.command('pause'))
    .summary('stop taking orders in, on all workers')
    .description(
      'Stops the intake of all workers within two seconds: orders in flight are completed, everything else waits ' +
        'where it is, replays and inquiries too. Workers that start later stay paused. Changes nothing when it is ' +
        'paused already.',
    )
    .addHelpText('after', "\nExample:\n  cardauth pause --reason 'the gateway is being migrated'\n")
    .action((options: Flags) => change('pause', options, context, fleet));
};

export const addResumeCommand: AddCommand = (program, context) => {
  const { fleet } = context.parts;
  if (fleet === undefined) return;
  withFlags(program.command('resume'))
    .summary('take orders in again, on all workers')
    .description('Ends what `cardauth pause` began. Changes nothing when the intake is not paused.')
    .addHelpText('after', "\nExample:\n  cardauth resume --reason 'the gateway is migrated'\n")
    .action((options: Flags) => change('resume', options, context, fleet));
};

function withFlags(command: Command): Command {
  return addWriteOptions(addConfigOptions(command)).option(
    '--json',
    'print {"outcome","paused","by","since","reason"}; outcome is changed, unchanged or repeated',
  );
}

async function change(
  action: 'pause' | 'resume',
  options: Flags,
  context: CommandContext,
  open: OpenFleet,
): Promise<void> {
  const config = await configFor(context, options, ['database', 'operator']);
  const command = operatorCommandOf(action, options, config, context);
  const { viewOfIntake } = await import('../../ops/status.ts');
  const fleet = (await open())(config);
  try {
    const done = await fleet.intake[action](command);
    const view = { outcome: done.outcome, ...viewOfIntake(done.state) };
    if (options.json === true) printJson(context.terminal, action, view);
    else context.terminal.out(changeText(done));
  } finally {
    await fleet.close();
  }
}

function changeText({ outcome, state: { isPaused, last } }: IntakeChange): string {
  const now = isPaused ? 'paused' : 'open';
  if (outcome === 'changed') return `the intake is ${now}\n`;
  const who =
    last === undefined ? '' : `, by ${last.actor} at ${new Date(last.atMs).toISOString()}: ${last.reason}`;
  const why = outcome === 'repeated' ? 'this command was carried out before' : 'nothing to do';
  return `${why}: the intake is ${now}${who}\n`;
}
