import type { Config } from '../../config/config.ts';
import type { OperatorCommand } from '../../domain/audit.ts';
import type { Reconciliation } from '../../ops/reconcile/run.ts';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand, CommandContext } from '../context.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { printJson } from '../json-outputs.ts';
import { timeOf } from '../limits.ts';
import type { MoneyParts } from '../money-parts.ts';
import { closeAll, moneyOf, usageErrors } from '../operate.ts';
import { operatorCommandOf } from '../write-options.ts';

interface ReconcileFlags extends ConfigOptions {
  readonly since?: number;
  readonly until?: number;
  readonly ledger?: string;
  readonly fix?: true;
  readonly yes?: true;
  readonly reason?: string;
  readonly actor?: string;
  readonly commandId?: string;
  readonly json?: true;
}

type ReconcileConfig = Pick<Config, 'database' | 'gateway' | 'topology' | 'orders' | 'operator'>;

const DAY_MS = 86_400_000;

export const addReconcileCommand: AddCommand = (program, context) => {
  if (context.parts.money === undefined) return;
  const time = (text: string): number => timeOf(text, context.nowMs());
  addConfigOptions(program.command('reconcile'))
    .summary("compare our approvals with the gateway's")
    .description(
      "Compares what we recorded with the gateway's own list, or with a ledger of it, both ways: approvals nobody " +
        'recorded, recorded ones that the gateway does not know, other amounts or currencies, two approvals of one ' +
        'order, money held for denied orders. What was found is kept in the database. With --fix --yes, what is certain ' +
        "is settled by the gateway's word; the rest is left for a person. Orders that may be in flight are left out.",
    )
    .option('--since <time>', 'from: an age like 24h, or a time', time)
    .option('--until <time>', 'to: an age like 1h, or a time', time)
    .option('--ledger <file>', 'compare with a file (NDJSON or CSV) instead of the list; - is stdin')
    .option('--fix', 'say what is certain and would be settled')
    .option('--yes', 'with --fix: settle it')
    .option('--reason <text>', 'with --fix: why you do this, 1-500 characters; kept in the audit log')
    .option('--actor <name>', 'who you are; default: CARDAUTH_ACTOR, else your user name and host')
    .option('--command-id <id>', 'makes it safe to run again')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Examples:
  cardauth reconcile --since 24h
  cardauth reconcile --ledger settlement.csv --since 7d --json
  cardauth reconcile --fix --reason 'nightly' --yes
The CSV's first line is reference,order_id,amount_minor,currency,state,created_at and, if you like, idempotency_key.
Exit codes: 0 no difference is left, 1 differences, 5 --yes is needed, 3 only some were settled, 69 service unreachable.
`,
    )
    .action(async (flags: ReconcileFlags) => {
      const config = await configFor(context, flags, [
        'database',
        'gateway',
        'topology',
        'orders',
        'operator',
      ]);
      const command = commandOf(context, config, flags);
      const result = await usageErrors(run(context, config, flags, command));
      if (flags.json === true) printJson(context.terminal, 'reconcile', result);
      else context.terminal.out(resultText(result));
      context.exitWith(exitCodeOf(result, flags));
    });
};

function commandOf(
  context: CommandContext,
  config: ReconcileConfig,
  { fix, yes, reason, actor, commandId }: ReconcileFlags,
): OperatorCommand | undefined {
  if (fix !== true) {
    if (yes === true) throw new CommandError(exitCodes.usage, '--yes goes with --fix');
    return undefined;
  }
  if (reason === undefined) throw new CommandError(exitCodes.usage, '--fix needs --reason');
  const given = {
    reason,
    ...(actor === undefined ? {} : { actor }),
    ...(commandId === undefined ? {} : { commandId }),
  };
  const command = operatorCommandOf('reconcile', given, config, context);
  return yes === true ? command : undefined;
}

async function run(
  context: CommandContext,
  config: ReconcileConfig,
  flags: ReconcileFlags,
  command: OperatorCommand | undefined,
): Promise<Reconciliation> {
  const { reconcile } = await import('../../ops/reconcile/run.ts');
  const money = await moneyOf(context);
  const list = flags.ledger === undefined ? listOf(money, config) : undefined;
  const holds = list ?? ledgerOf(context, money, config, flags.ledger ?? '-');
  const book = money.openReconciliationBook(config);
  const parts = command && { book: money.openVerdictBook(config), gateway: money.openInquiry(config) };
  const { nowMs } = context;
  try {
    return await reconcile(
      { holds, book, nowMs },
      {
        runId: crypto.randomUUID(),
        range: { fromMs: flags.since ?? nowMs() - DAY_MS, toMs: flags.until ?? nowMs() },
        // A message that was just claimed may be charged until its lease is over, and recorded a little later.
        settledAfterMs: config.topology.leaseMs + config.topology.messageTimeoutMs,
        fix: command && parts && { parts, command },
      },
    );
  } finally {
    await closeAll(list, book, parts?.book, parts?.gateway);
  }
}

function listOf(money: MoneyParts, config: ReconcileConfig) {
  const list = money.openGatewayHolds(config);
  if (list === undefined)
    throw new CommandError(
      exitCodes.usage,
      `${config.gateway.dialect} has no list of authorizations: use --ledger FILE`,
    );
  return list;
}

function ledgerOf(context: CommandContext, money: MoneyParts, config: ReconcileConfig, file: string) {
  const never = new AbortController().signal;
  return money.ledgerHolds(config, file, () => context.openInput(file, never));
}

function exitCodeOf(
  { remaining, settled, differences }: Reconciliation,
  { fix, yes }: ReconcileFlags,
): number {
  if (remaining === 0) return exitCodes.ok;
  const isDry = fix === true && yes !== true;
  if (isDry && differences.some(({ isCertain }) => isCertain)) return exitCodes.confirmationNeeded;
  return settled > 0 ? exitCodes.partly : exitCodes.failed;
}

function resultText(result: Reconciliation): string {
  const { source, from, to, holds, approvals, differences, settled, remaining } = result;
  const lines = differences.map(({ kind, orderId, reference, explanation, isCertain, settled: became }) => {
    const then = became ?? (isCertain ? 'certain: --fix settles it' : 'a person decides');
    return `${orderId}  ${kind.replaceAll('_', ' ')}  ${reference ?? '-'}  ${explanation}; ${then}\n`;
  });
  const what = `${holds} authorization(s) of ${source} and ${approvals} approval(s) of ours, ${from} to ${to}`;
  return `${lines.join('')}${what}: ${differences.length} difference(s), ${settled} settled, ${remaining} left\n`;
}
