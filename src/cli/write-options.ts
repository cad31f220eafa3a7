import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { operatorCommand, type OperatorCommand } from '../domain/audit.ts';
import type { CommandContext } from './context.ts';
import { CommandError, exitCodes } from './exit-codes.ts';

/** What every command that changes something is told besides: why, and who says so. */
export interface WriteOptions {
  readonly reason: string;
  readonly actor?: string;
  readonly commandId?: string;
}

export function addWriteOptions(command: Command): Command {
  return addActorOptions(
    command.requiredOption('--reason <text>', 'why you do this, 1-500 characters; kept in the audit log'),
  );
}

/** The same for commands that only say what they would do until `--yes`: only then they need to be told why. */
export interface ConfirmedWriteOptions extends Omit<WriteOptions, 'reason'> {
  readonly reason?: string;
  readonly yes?: true;
}

export function addConfirmedWriteOptions(command: Command): Command {
  return addActorOptions(
    command.option(
      '--reason <text>',
      'why you do this, 1-500 characters; kept in the audit log; needed with --yes',
    ),
  ).option('--yes', 'do it');
}

function addActorOptions(command: Command): Command {
  return command
    .option('--actor <name>', 'who you are; default: CARDAUTH_ACTOR, else your user name and host')
    .option('--command-id <id>', 'makes it safe to run again: what this id did before is not done twice');
}

/** undefined: it is a dry run. Throws a CommandError that says which of the flags is wrong. */
export function confirmedCommandOf(
  action: string,
  { reason, yes, ...options }: ConfirmedWriteOptions,
  config: Pick<Config, 'operator'>,
  context: Pick<CommandContext, 'newMessageId' | 'userAtHost'>,
): OperatorCommand | undefined {
  if (yes !== true) return undefined;
  if (reason === undefined)
    throw new CommandError(exitCodes.usage, '--yes needs --reason: say why you do this');
  return operatorCommandOf(action, { ...options, reason }, config, context);
}

/** The command as it is kept. Throws a CommandError that says which of the flags is wrong. */
export function operatorCommandOf(
  action: string,
  options: WriteOptions,
  config: Pick<Config, 'operator'>,
  context: Pick<CommandContext, 'newMessageId' | 'userAtHost'>,
): OperatorCommand {
  const { reason, commandId = context.newMessageId() } = options;
  const actor = options.actor ?? config.operator.actor ?? context.userAtHost();
  try {
    return operatorCommand({ action, actor, commandId, reason });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new CommandError(exitCodes.usage, error.message, { cause: error });
  }
}
