import { Command, CommanderError } from 'commander';
import { addAuditCommand } from './commands/audit.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addBreakerCommand } from './commands/breaker.ts';
import { addConfigCommand } from './commands/config.ts';
import { addDemoCommand } from './commands/demo.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addMigrateCommand } from './commands/migrate.ts';
import { addNotificationsCommand } from './commands/notifications.ts';
import { addOrdersCommand } from './commands/orders.ts';
import { addSchemaCommand } from './commands/schema.ts';
import { addParkedCommand } from './commands/parked.ts';
import { addPauseCommand, addResumeCommand } from './commands/pause.ts';
import { addReconcileCommand } from './commands/reconcile.ts';
import { addSimulatorCommand } from './commands/simulator.ts';
import { addStatusCommand } from './commands/status.ts';
import { addUnknownCommand } from './commands/unknown.ts';
import { addWorkerCommand } from './commands/worker.ts';
import type { CommandContext } from './context.ts';
import { CommandError, exitCodes, isUnreachable } from './exit-codes.ts';

export interface CliContext extends Omit<CommandContext, 'exitWith'> {
  readonly version: string;
}

/** Runs one command line (without `node cardauth`) and resolves to the exit code. */
export async function runCli(args: readonly string[], context: CliContext): Promise<number> {
  let exitCode: number = exitCodes.ok;
  const exitWith = (code: number): void => {
    exitCode = code;
  };
  try {
    await createProgram({ ...context, exitWith }, context.version).parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    return failed(error, context);
  }
}

/** All commands, each with its options; nothing is run. */
export function createProgram(context: CommandContext, version: string): Command {
  const program = new Command('cardauth')
    .description("Authorizes each order's credit card at most once, and loses none.")
    .version(version)
    // Before any subcommand is added: they inherit what stands here.
    .exitOverride()
    .showHelpAfterError('Run it with --help to see how it is used.')
    .configureOutput({
      writeOut: (text) => {
        context.terminal.out(text);
      },
      writeErr: (text) => {
        context.terminal.err(text);
      },
    })
    .addHelpText('after', HELP_END);
  // In the order in which --help and the README list them.
  addWorkerCommand(program, context);
  addMigrateCommand(program, context);
  addDoctorCommand(program, context);
  addStatusCommand(program, context);
  addOrdersCommand(program, context);
  addParkedCommand(program, context);
  addUnknownCommand(program, context);
  addNotificationsCommand(program, context);
  addReconcileCommand(program, context);
  addPauseCommand(program, context);
  addResumeCommand(program, context);
  addBreakerCommand(program, context);
  addConfigCommand(program, context);
  addAuditCommand(program, context);
  addSchemaCommand(program, context);
  addSimulatorCommand(program, context);
  addDemoCommand(program, context);
  addCompletionCommand(program, context);
  return program;
}

const HELP_END = `
Configuration is read from the environment: \`cardauth config show\` lists it.
Exit codes: 0 ok, 1 failed, 2 usage, 3 partly, 5 confirmation needed, 69 service unreachable,
            78 bad configuration, 130/143 interrupted.

Examples:
  cardauth config check
  cardauth migrate up
  cardauth worker
  cardauth orders publish orders.ndjson
  cardauth orders list --status review
  cardauth orders explain 1234
  cardauth parked groups
  cardauth status --watch
`;

function failed(error: unknown, { terminal }: CliContext): number {
  if (error instanceof CommanderError) {
    // Help and version were asked for, or help stands in for a command that is missing.
    return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  }
  if (error instanceof CommandError) {
    terminal.err(`cardauth: ${error.message}\n`);
    return error.exitCode;
  }
  if (isUnreachable(error)) {
    terminal.err(`cardauth: a service cannot be reached: ${messageOf(error)}\n`);
    return exitCodes.unreachable;
  }
  terminal.err(`cardauth: ${messageOf(error)}\n`);
  return exitCodes.failed;
}

/** Messages of `JSON.parse` and `new URL` quote what they were given. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return 'something that is no Error was thrown';
  const quotesInput = error instanceof SyntaxError || ('code' in error && error.code === 'ERR_INVALID_URL');
  if (quotesInput) return `${error.name} (its message is withheld: it may quote its input)`;
  if (error.message !== '') return error.message;
  // Connecting to several addresses fails with an AggregateError that says nothing by itself.
  return 'code' in error ? String(error.code) : error.name;
}
