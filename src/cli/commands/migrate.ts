import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand, CommandContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { printJson } from '../json-outputs.ts';
import type { MigrationState, Migrations } from '../parts.ts';

type MigrateOptions = ConfigOptions & { readonly json?: true };

export const addMigrateCommand: AddCommand = (program, context) => {
  const { migrations } = context.parts;
  if (migrations === undefined) return;
  const open = async (options: MigrateOptions): Promise<Migrations> =>
    (await migrations())(await configFor(context, options, ['database']));

  const migrate = program.command('migrate').summary("bring the database's schema up to date");
  addConfigOptions(migrate.command('up'))
    .description(
      'Applies the migrations that are missing. Safe to run again, and from several places at once.',
    )
    .option('--json', 'print {"applied":[...]}')
    .addHelpText('after', '\nExample:\n  cardauth migrate up\n')
    .action(async (options: MigrateOptions) => {
      const { applied } = await (await open(options)).up();
      if (options.json === true) printJson(context.terminal, 'migrate up', { applied });
      else context.terminal.out(appliedText(applied));
    });
  addConfigOptions(migrate.command('status'))
    .description('Shows which migrations are applied and which are missing. Changes nothing.')
    .option('--json', 'print {"applied":[...],"pending":[...],"problem":null}')
    .addHelpText('after', '\nExample:\n  cardauth migrate status --json\n')
    .action(async (options: MigrateOptions) => {
      showStatus(context, await (await open(options)).status(), options.json === true);
    });
};

function appliedText(applied: readonly string[]): string {
  if (applied.length === 0) return 'nothing to do: the schema is up to date\n';
  return applied.map((name) => `applied ${name}\n`).join('');
}

function showStatus(context: CommandContext, state: MigrationState, asJson: boolean): void {
  const { applied, pending, problem } = state;
  const lines = [
    ...applied.map((name) => `applied  ${name}\n`),
    ...pending.map((name) => `pending  ${name}\n`),
  ];
  if (asJson) printJson(context.terminal, 'migrate status', { applied, pending, problem: problem ?? null });
  else context.terminal.out(lines.join(''));
  if (problem === undefined) return;
  context.terminal.err(`cardauth: ${problem}\n`);
  context.exitWith(exitCodes.failed);
}
