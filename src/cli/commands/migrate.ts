import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand, CommandContext } from '../context.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { printJson } from '../json-outputs.ts';
import type { MigrationState, Migrations, RoleNames } from '../parts.ts';

interface RolesOptions extends ConfigOptions, RoleNames {
  readonly yes?: true;
}

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
  addConfigOptions(migrate.command('roles'))
    .summary('give database roles the least rights they need')
    .description(
      'Prints the SQL that gives an existing role what a worker needs, or what operators need, and nothing else; with ' +
        '--yes runs it, as the owner of the schema. Run it again after `migrate up`.',
    )
    .option('--worker <role>', 'the role that workers connect as')
    .option('--operator <role>', 'the role that people connect as for the other commands')
    .option('--yes', 'run it instead of printing it')
    .addHelpText(
      'after',
      '\nExamples:\n  cardauth migrate roles --worker cardauth_worker --operator cardauth_ops\n' +
        '  cardauth migrate roles --worker cardauth_worker --yes\n',
    )
    .action(async (options: RolesOptions) => {
      await roles(context, await open(options), options);
    });
};

async function roles(context: CommandContext, migrations: Migrations, options: RolesOptions): Promise<void> {
  const { operator, worker, yes } = options;
  if (worker === undefined && operator === undefined)
    throw new CommandError(exitCodes.usage, 'name a role: --worker, --operator or both');
  const statements = statementsFor(migrations, { worker, operator });
  if (yes === true) await migrations.grant({ worker, operator });
  context.terminal.out(
    yes === true ? 'the rights are given\n' : statements.map((sql) => `${sql};\n`).join(''),
  );
}

function statementsFor(migrations: Migrations, names: RoleNames): readonly string[] {
  try {
    return migrations.grants(names);
  } catch (error) {
    if (error instanceof RangeError) throw new CommandError(exitCodes.usage, error.message, { cause: error });
    throw error;
  }
}

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
