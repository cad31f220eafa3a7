import { InvalidArgumentError } from 'commander';
import type { FaultScript } from '../../simulator/fault-script.ts';
import type { AddCommand, CommandContext } from '../context.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { SimulatorPart } from '../parts.ts';

interface SimulatorOptions {
  readonly port: number;
  readonly host: string;
  readonly ledger: string;
  readonly faults?: string;
}

export const addSimulatorCommand: AddCommand = (program, context) => {
  const { simulator } = context.parts;
  if (simulator === undefined) return;
  program
    .command('simulator')
    .summary('stand in for the payment gateway')
    .description(
      'Speaks the Stripe and Adyen dialects, knows the published test cards, and writes one JSON line per approval to its ' +
        'ledger before it answers. Point the worker at it with CARDAUTH_GATEWAY_URL. GET /__ledger shows the ledger.',
    )
    .requiredOption('--port <port>', 'port to listen on; 0 for any free one', portOf)
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .requiredOption('--ledger <file>', 'ledger file; created when missing, taken up when not')
    .option('--faults <file|json>', 'what is to go wrong: a fault script, or the file that holds it')
    .addHelpText(
      'after',
      '\nExamples:\n' +
        '  cardauth simulator --port 8080 --ledger ledger.ndjson\n' +
        `  cardauth simulator --port 8080 --ledger ledger.ndjson --faults '[{"match":{"share":0.1},"fault":{"kind":"html-502"}}]'\n`,
    )
    .action(async (options: SimulatorOptions) => {
      await runSimulator(context, await simulator(), options);
    });
};

async function runSimulator(
  context: CommandContext,
  part: SimulatorPart,
  options: SimulatorOptions,
): Promise<void> {
  const { port, host, ledger } = options;
  const faults = faultsOf(context, part, options.faults);
  const interruption = context.interruption();
  const logger = {
    error: (details: object, message: string) => {
      context.terminal.err(`simulator: ${message} ${JSON.stringify(details)}\n`);
    },
  };
  const simulator = await part.startSimulator({ port, host, ledgerFile: ledger, faults, logger });
  context.terminal.err(`simulator: listening on ${simulator.url}, ledger ${ledger}\n`);
  await interruption.requested;
  await simulator.close();
}

function faultsOf(context: CommandContext, part: SimulatorPart, given: string | undefined): FaultScript {
  if (given === undefined) return [];
  const isJson = given.trimStart().startsWith('[');
  try {
    return part.faultScriptFromJson(isJson ? given : context.readFile(given));
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unknown error';
    throw new CommandError(exitCodes.usage, `--faults ${isJson ? 'as given' : given}: ${why}`, {
      cause: error,
    });
  }
}

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Infinity;
  if (port > 65_535) throw new InvalidArgumentError('Expected a port, 0-65535.');
  return port;
}
