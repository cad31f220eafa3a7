import type { OperatorCommand } from '../../domain/audit.ts';
import type { UnannouncedPage } from '../../ops/resend-notifications.ts';
import type { Config } from '../../config/config.ts';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand, CommandContext } from '../context.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { printJson } from '../json-outputs.ts';
import { countUpTo } from '../limits.ts';
import { closeAll, moneyOf, operateOnOrders, orderIdsOf, usageErrors } from '../operate.ts';
import { addWriteOptions, operatorCommandOf, type WriteOptions } from '../write-options.ts';

export const addNotificationsCommand: AddCommand = (program, context) => {
  if (context.parts.money === undefined || context.parts.orderHistory === undefined) return;
  const notifications = program.command('notifications').summary('list and send missing announcements');
  addListCommand(notifications, context);
  addResendCommand(notifications, context);
};

// --- list --------------------------------------------------------------------------------------------------------

interface ListFlags extends ConfigOptions {
  readonly limit: number;
  readonly after?: string;
  readonly json?: true;
}

const addListCommand: AddCommand = (notifications, context) => {
  addConfigOptions(notifications.command('list'))
    .summary('list decided orders that are not announced')
    .description(
      'Lists orders that are decided and not marked as announced, the longest decided first. A few of them are always ' +
        'on their way. Needs the database only.',
    )
    .option('--limit <n>', 'how many at most, 1-1000', countUpTo(1_000), 50)
    .option('--after <cursor>', 'go on where the page before ended')
    .option('--json', 'print {"orders":[...],"next":"..."}')
    .addHelpText('after', '\nExample:\n  cardauth notifications list --json\n')
    .action(async ({ limit, after, json, ...options }: ListFlags) => {
      const { listUnannounced } = await import('../../ops/resend-notifications.ts');
      const config = await configFor(context, options, ['database']);
      const lists = (await moneyOf(context)).openAttentionLists(config);
      try {
        const page = await usageErrors(listUnannounced(lists, { limit, after }));
        if (json === true) printJson(context.terminal, 'notifications list', page);
        else context.terminal.out(listText(page));
        if (json !== true && page.next !== null)
          context.terminal.err(`there may be more: --after ${page.next}\n`);
      } finally {
        await lists.close();
      }
    });
};

function listText({ orders }: UnannouncedPage): string {
  if (orders.length === 0) return 'every decided order is announced\n';
  return orders
    .map(({ orderId, decidedAt, status, reason, eventId }) => {
      return `${orderId}  ${decidedAt}  ${status}${reason === null ? '' : ` (${reason})`}  ${eventId}\n`;
    })
    .join('');
}

// --- resend ------------------------------------------------------------------------------------------------------

interface ResendFlags extends ConfigOptions, WriteOptions {
  readonly unannounced?: true;
  readonly yes?: true;
  readonly json?: true;
}

type ResendConfig = Pick<Config, 'broker' | 'database' | 'operator'>;

const addResendCommand: AddCommand = (notifications, context) => {
  addWriteOptions(addConfigOptions(notifications.command('resend [id...]')))
    .summary('announce decided orders, again or at last')
    .description(
      'Announces each order (- reads ids from stdin) under the event id it always had, waits for the broker to confirm, ' +
        'and marks it. Charges nothing, and is safe beside workers: consumers deduplicate by the event id. Only says ' +
        'what it would do unless --yes is given.',
    )
    .option('--unannounced', 'all orders that are decided and not announced, instead of ids')
    .option('--yes', 'do it')
    .option('--json', 'print one line of JSON for each order')
    .addHelpText(
      'after',
      `
Examples:
  cardauth notifications resend 1234 --reason 'downstream lost it' --yes
  cardauth notifications resend --unannounced --reason 'exchange was missing' --yes
Exit codes: 0 all done, 5 --yes is needed, 3 only some were announced, 1 none was, 69 broker or database unreachable.
`,
    )
    .action(async (given: string[], flags: ResendFlags) => {
      if ((given.length === 0) !== (flags.unannounced === true)) {
        throw new CommandError(exitCodes.usage, 'name orders, or --unannounced, one of the two');
      }
      const config = await configFor(context, flags, ['broker', 'database', 'operator']);
      const command = operatorCommandOf('notifications resend', flags, config, context);
      const orderIds =
        flags.unannounced === true ? await unannounced(context, config) : await orderIdsOf(context, given);
      if (flags.yes === true) await resend(context, config, flags, command, orderIds);
      else await foresee(context, config, flags, orderIds);
    });
};

async function unannounced(context: CommandContext, config: ResendConfig): Promise<string[]> {
  const { allUnannounced } = await import('../../ops/resend-notifications.ts');
  const lists = (await moneyOf(context)).openAttentionLists(config);
  try {
    return await allUnannounced(lists);
  } finally {
    await lists.close();
  }
}

async function foresee(
  context: CommandContext,
  config: ResendConfig,
  { json }: ResendFlags,
  orderIds: readonly string[],
): Promise<void> {
  const { orderHistory } = context.parts;
  if (orderHistory === undefined) throw new Error('bug: a command without its part was added');
  const { foreseeResend } = await import('../../ops/resend-notifications.ts');
  const history = await (await orderHistory())(config);
  try {
    await operateOnOrders(
      context,
      orderIds,
      { command: 'notifications resend', json, isDryRun: true, done: 'announced' },
      async (orderId) => foreseeResend(orderId, (await history.show(orderId))?.order),
    );
  } finally {
    await history.close();
  }
}

async function resend(
  context: CommandContext,
  config: ResendConfig,
  { json }: ResendFlags,
  command: OperatorCommand,
  orderIds: readonly string[],
): Promise<void> {
  const { resendNotification } = await import('../../ops/resend-notifications.ts');
  const money = await moneyOf(context);
  const notifier = await money.openNotifier(config);
  const book = money.openAnnouncementBook(config);
  try {
    await operateOnOrders(
      context,
      orderIds,
      { command: 'notifications resend', json, isDryRun: false, done: 'announced' },
      (orderId) => resendNotification({ book, notifier }, orderId, command),
    );
  } finally {
    await closeAll(book, notifier);
  }
}
