import { InvalidArgumentError, type Command } from 'commander';
import type { Config } from '../config/config.ts';
import type { Group } from '../config/variables.ts';
import type { CommandContext } from './context.ts';
import { CommandError, exitCodes } from './exit-codes.ts';

/** How every command that reads the configuration can be told of it, besides the environment. */
export interface ConfigOptions {
  readonly envFile?: string;
  readonly set?: Readonly<Record<string, string>>;
}

export function addConfigOptions(command: Command): Command {
  return command
    .option(
      '--env-file <file>',
      'read variables from a file of NAME=value lines; the environment goes before it',
    )
    .option(
      '--set <name=value>',
      'set a variable (repeatable; no secrets); goes before everything else',
      collectFlag,
    );
}

function collectFlag(text: string, earlier: Record<string, string> = {}): Record<string, string> {
  const [, name, value] = /^([A-Z_]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError('Expected NAME=value.');
  return { ...earlier, [name]: value };
}

/** The part of the configuration that a command needs. Throws a CommandError with every problem there is. */
export async function configFor<G extends Group>(
  context: CommandContext,
  options: ConfigOptions,
  groups: readonly G[],
): Promise<Pick<Config, G>> {
  const { loadConfig } = await import('../config/config.ts');
  const { problemsText } = await import('../config/problem.ts');
  const loaded = loadConfig({ ...(await configSources(context, options)), groups });
  if (loaded.ok) return loaded.config;
  throw new CommandError(
    exitCodes.configuration,
    `the configuration has ${loaded.problems.length} problem(s)\n\n${problemsText(loaded.problems)}`,
  );
}

/** Where the configuration comes from, for `loadConfig`. */
export async function configSources(context: CommandContext, options: ConfigOptions) {
  const flags = options.set ?? {};
  await refuseSecrets(flags);
  return { flags, env: context.env, envFile: options.envFile, readFile: context.readFile };
}

/** Flags are seen by everyone who can list processes, and stay in the shell's history. */
async function refuseSecrets(flags: Readonly<Record<string, string>>): Promise<void> {
  const { variables } = await import('../config/variables.ts');
  const secret = variables.find((variable) => variable.secret && Object.hasOwn(flags, variable.name));
  if (secret === undefined) return;
  throw new CommandError(
    exitCodes.usage,
    `${secret.name} is a secret and cannot be a flag; use the environment, ${secret.name}_FILE or --env-file`,
  );
}
