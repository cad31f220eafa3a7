import { Option } from 'commander';
import { addConfigOptions, configFor, configSources, type ConfigOptions } from '../configuration.ts';
import type { AddCommand, CommandContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { printJson } from '../json-outputs.ts';

type ShowFlags = ConfigOptions & { readonly json?: true };

export const addConfigCommand: AddCommand = (program, context) => {
  const config = program.command('config').summary('check and show the configuration');
  addConfigOptions(config.command('check'))
    .description(
      'Says everything that is wrong with the configuration of a worker; exits 78 if there is anything.',
    )
    .addHelpText('after', '\nExample:\n  cardauth config check --env-file prod.env\n')
    .action(async (options: ConfigOptions) => {
      const { allGroups } = await import('../../config/config.ts');
      await configFor(context, options, allGroups);
      context.terminal.out('the configuration is complete\n');
    });
  addConfigOptions(config.command('show'))
    .description(
      'Prints every variable with its effective value and where that comes from; secrets are masked.',
    )
    .option('--json', 'print [{"name","value","origin"}]')
    .addHelpText('after', '\nExample:\n  cardauth config show\n')
    .action(async (options: ShowFlags) => {
      await show(context, options);
    });
  config
    .command('example')
    .description("Prints .env.example, or the README's table of variables.")
    .addOption(new Option('--format <format>', 'what to print').choices(['env', 'markdown']).default('env'))
    .addHelpText('after', '\nExample:\n  cardauth config example > .env.example\n')
    .action(async ({ format }: { format: string }) => {
      const { envExample, variablesTable } = await import('../../config/documents.ts');
      context.terminal.out(format === 'env' ? envExample() : variablesTable());
    });
  config
    .command('schema')
    .description('Prints the JSON Schema of the environment: every variable as the text that it is given as.')
    .addHelpText('after', '\nExample:\n  cardauth config schema > cardauth-env.json\n')
    .action(async () => {
      const { environmentSchema } = await import('../../config/environment-schema.ts');
      context.terminal.out(`${JSON.stringify(environmentSchema(), undefined, 2)}\n`);
    });
};

async function show(context: CommandContext, options: ShowFlags): Promise<void> {
  const { allGroups, loadConfig } = await import('../../config/config.ts');
  const { settingsTable, shownSettings } = await import('../../config/show.ts');
  const { problemsText } = await import('../../config/problem.ts');
  const loaded = loadConfig({ ...(await configSources(context, options)), groups: allGroups });
  const shown = shownSettings(loaded.settings).map((setting) => ({
    ...setting,
    value: setting.value ?? null,
  }));
  if (options.json === true) printJson(context.terminal, 'config show', shown);
  else context.terminal.out(settingsTable(loaded.settings));
  if (loaded.ok) return;
  context.terminal.err(`\n${problemsText(loaded.problems)}`);
  context.exitWith(exitCodes.configuration);
}
