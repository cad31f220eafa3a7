import { Option } from 'commander';
import type { UnknownPage } from '../../ops/list-unknown.ts';
import type { Settlement } from '../../ops/resolve-unknown.ts';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand } from '../context.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { printJson } from '../json-outputs.ts';
import { countUpTo } from '../limits.ts';
import { closeAll, moneyOf, operateOnOrders, orderIdsOf, usageErrors } from '../operate.ts';
import { addWriteOptions, operatorCommandOf, type WriteOptions } from '../write-options.ts';

export const addUnknownCommand: AddCommand = (program, context) => {
  if (context.parts.money === undefined) return;
  const unknown = program.command('unknown').summary('list and end orders without a verdict');
  addListCommand(unknown, context);
  addResolveCommand(unknown, context);
};

// --- list --------------------------------------------------------------------------------------------------------

interface ListFlags extends ConfigOptions {
  readonly limit: number;
  readonly after?: string;
  readonly json?: true;
}

const addListCommand: AddCommand = (unknown, context) => {
  addConfigOptions(unknown.command('list'))
    .summary('list orders without a verdict, the oldest first')
    .description(
      'Lists orders that were sent to the gateway and have no verdict, the oldest first: what was heard last, and ' +
        'when the gateway is asked next. Needs the database only.',
    )
    .option('--limit <n>', 'how many at most, 1-1000', countUpTo(1_000), 50)
    .option('--after <cursor>', 'go on where the page before ended')
    .option('--json', 'print {"orders":[...],"next":"..."}')
    .addHelpText(
      'after',
      '\nExamples:\n  cardauth unknown list\n  cardauth unknown list --json --limit 1000\n',
    )
    .action(async ({ limit, after, json, ...options }: ListFlags) => {
      const { listUnknown } = await import('../../ops/list-unknown.ts');
      const config = await configFor(context, options, ['database']);
      const lists = (await moneyOf(context)).openAttentionLists(config);
      try {
        const page = await usageErrors(listUnknown(lists, { limit, after }));
        if (json === true) printJson(context.terminal, 'unknown list', page);
        else context.terminal.out(listText(page));
        if (json !== true && page.next !== null)
          context.terminal.err(`there may be more: --after ${page.next}\n`);
      } finally {
        await lists.close();
      }
    });
};

function listText({ orders }: UnknownPage): string {
  if (orders.length === 0) return 'no order is without a verdict\n';
  return orders
    .map((order) => {
      const reason = order.statusReason === null ? '' : ` (${order.statusReason})`;
      const next = order.nextInquiryAt === null ? 'a person decides' : `asked next at ${order.nextInquiryAt}`;
      return (
        `${order.orderId}  ${order.admittedAt}  ${order.amountMinor} ${order.currency}  ${order.status}${reason}\n` +
        `    ${order.attempts} claim(s), asked ${order.inquiries} time(s), last heard: ` +
        `${order.lastHeard ?? 'nothing'}; ${next}\n`
      );
    })
    .join('');
}

// --- resolve -----------------------------------------------------------------------------------------------------

interface ResolveFlags extends ConfigOptions, WriteOptions {
  readonly as?: 'approved' | 'declined';
  readonly reference?: string;
  readonly offlineEvidence?: true;
  readonly yes?: true;
  readonly json?: true;
}

const addResolveCommand: AddCommand = (unknown, context) => {
  addWriteOptions(addConfigOptions(unknown.command('resolve <id...>')))
    .summary('ask the gateway now, or settle orders with evidence')
    .description(
      'Asks the gateway what became of each order (- reads ids from stdin) and records its verdict, as the worker does ' +
        'on its schedule. With --as the orders are settled by your word: the gateway is asked first, and its own word ' +
        'counts more. Nothing is ever charged. Only says what it would do unless --yes is given.',
    )
    .addOption(new Option('--as <verdict>', 'settle them').choices(['approved', 'declined']))
    .option('--reference <id>', "the gateway's id of the approval; for --as approved, of one order")
    .option('--offline-evidence', 'you have seen it elsewhere: settle even if the gateway cannot be asked')
    .option('--yes', 'do it')
    .option('--json', 'print one line of JSON for each order')
    .addHelpText(
      'after',
      `
Examples:
  cardauth unknown resolve 1234 --reason 'customer asks'
  cardauth unknown resolve 1234 --reason 'customer asks' --yes
  cardauth unknown resolve 1234 --as approved --reference pi_3abc --reason 'seen in the dashboard' --yes
Exit codes: 0 all done, 5 --yes is needed, 3 some are still open, 1 none could be done.
`,
    )
    .action(async (given: string[], flags: ResolveFlags) => {
      const settlement = settlementOf(given, flags);
      const orderIds = await orderIdsOf(context, given);
      const config = await configFor(context, flags, [
        'database',
        'gateway',
        'topology',
        'orders',
        'operator',
      ]);
      const command = operatorCommandOf('unknown resolve', flags, config, context);
      const { askNow, settle } = await import('../../ops/resolve-unknown.ts');
      const money = await moneyOf(context);
      const [book, gateway] = [money.openVerdictBook(config), money.openInquiry(config)];
      const parts = { book, gateway, nowMs: context.nowMs };
      const confirmed = flags.yes === true ? command : undefined;
      const options = {
        command: 'unknown resolve',
        json: flags.json,
        isDryRun: flags.yes !== true,
        done: 'recorded',
      } as const;
      try {
        await operateOnOrders(context, orderIds, options, (orderId) =>
          settlement === undefined
            ? askNow(parts, orderId, confirmed)
            : settle(parts, orderId, settlement, confirmed),
        );
      } finally {
        await closeAll(book, gateway);
      }
    });
};

function settlementOf(given: readonly string[], flags: ResolveFlags): Settlement | undefined {
  const { as, reference } = flags;
  const isOffline = flags.offlineEvidence === true;
  if (as === 'approved') {
    if (reference === undefined || !/^(?!\d+$)[\w-]{1,255}$/.test(reference)) {
      throw new CommandError(
        exitCodes.usage,
        "--as approved needs --reference, the gateway's id of the approval",
      );
    }
    if (given.length !== 1 || given[0] === '-') {
      throw new CommandError(exitCodes.usage, 'a reference is of one order: name one id');
    }
    return { as, reference, isOffline };
  }
  if (reference !== undefined) throw new CommandError(exitCodes.usage, '--reference goes with --as approved');
  if (as === 'declined') return { as, isOffline };
  if (isOffline) throw new CommandError(exitCodes.usage, '--offline-evidence goes with --as');
  return undefined;
}
