import { InvalidArgumentError } from 'commander';
import type { OrderStatus } from '../../domain/order-states.ts';
import { moneyText } from '../../domain/money-text.ts';
import type { ListedOrder } from '../../ops/list-orders.ts';
import type { OrderFilter, PageEnd } from '../../ports/order-search.ts';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand } from '../context.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { printJson } from '../json-outputs.ts';
import { countUpTo, timeOf } from '../limits.ts';
import { ageText, textTable, type Column } from '../table.ts';

interface ListFlags extends ConfigOptions {
  readonly status?: readonly OrderStatus[];
  readonly reason?: string;
  readonly olderThan?: number;
  readonly newerThan?: number;
  readonly reference?: string;
  readonly last4?: string;
  readonly customer?: string;
  readonly unannounced?: true;
  readonly newest?: true;
  readonly limit: number;
  readonly after?: string;
  readonly json?: true;
}

const MOST_ORDERS = 1_000;

export const addListCommand: AddCommand = (orders, context) => {
  const { orderSearch } = context.parts;
  if (orderSearch === undefined) return;
  const time = (text: string): number => timeOf(text, context.nowMs());
  addConfigOptions(orders.command('list'))
    .summary('find orders, and see whether money has moved')
    .description(
      'Lists orders that fit all of the flags, the oldest first: what became of each, whether its money is held, and ' +
        'what may be done about it. Needs the database only.',
    )
    .option(
      '--status <status>',
      `only these (repeatable, or comma-separated): ${STATUSES.join(', ')}`,
      statuses,
    )
    .option('--reason <reason>', 'only with this reason of their status, e.g. card_declined')
    .option('--older-than <time>', 'first seen before: an age like 30m, 24h or 7d, or a time', time)
    .option('--newer-than <time>', 'first seen since then', time)
    .option('--reference <id>', "the gateway's id of an authorization, e.g. pi_...")
    .option('--last4 <digits>', 'last four digits of the card', last4)
    .option('--customer <id>', "upstream's id of the customer")
    .option('--unannounced', 'only decided ones that downstream was not told of')
    .option('--newest', 'the newest first')
    .option('--limit <n>', `how many at most, 1-${MOST_ORDERS}`, countUpTo(MOST_ORDERS), 50)
    .option('--after <cursor>', 'go on where the page before ended')
    .option('--json', 'print {"orders":[...],"next":"..."}')
    .addHelpText(
      'after',
      '\nExamples:\n' +
        '  cardauth orders list --status review,authorization-unknown\n' +
        '  cardauth orders list --unannounced --older-than 5m\n' +
        '  cardauth orders list --last4 4242 --newer-than 2d --newest\n' +
        '  cardauth orders list --json | jq -r .orders[].orderId\n',
    )
    .action(async (options: ListFlags) => {
      const { listOrders, pageEndOf } = await import('../../ops/list-orders.ts');
      const filter = filterOf(options, pageEndOf);
      const search = await (await orderSearch())(await configFor(context, options, ['database']));
      try {
        const list = await listOrders(search, filter);
        const { terminal } = context;
        if (options.json === true) {
          printJson(terminal, 'orders list', list);
          return;
        }
        if (list.orders.length === 0) terminal.err('no orders fit\n');
        else terminal.out(textTable(list.orders, columnsAt(context.nowMs()), terminal.width));
        if (list.next !== null) terminal.err(`there are more: --after ${list.next}\n`);
      } finally {
        await search.close();
      }
    });
};

function filterOf(flags: ListFlags, pageEndOf: (cursor: string) => PageEnd | undefined): OrderFilter {
  const after = flags.after === undefined ? undefined : pageEndOf(flags.after);
  if (flags.after !== undefined && after === undefined)
    throw new CommandError(exitCodes.usage, '--after is not what a page before ended with');
  return {
    statuses: flags.status ?? [],
    reason: flags.reason,
    seenBeforeMs: flags.olderThan,
    seenSinceMs: flags.newerThan,
    reference: flags.reference,
    cardLast4: flags.last4,
    customerId: flags.customer,
    isUnannounced: flags.unannounced === true,
    newestFirst: flags.newest === true,
    limit: flags.limit,
    after,
  };
}

const STATUSES: readonly OrderStatus[] = [
  'received',
  'authorizing',
  'authorization-unknown',
  'review',
  'ready-to-ship',
  'denied',
];

function statuses(text: string, earlier: readonly OrderStatus[] = []): readonly OrderStatus[] {
  const named = text.split(',').map((one) => {
    const status = STATUSES.find((known) => known === one.trim());
    if (status === undefined) throw new InvalidArgumentError(`Expected one of ${STATUSES.join(', ')}.`);
    return status;
  });
  return [...earlier, ...named];
}

function last4(text: string): string {
  if (!/^\d{4}$/.test(text)) throw new InvalidArgumentError('Expected four digits.');
  return text;
}

const columnsAt = (nowMs: number): readonly Column<ListedOrder>[] => [
  { header: 'ORDER', text: ({ orderId }) => orderId },
  { header: 'AGE', align: 'right', text: ({ seenAt }) => ageText(nowMs - Date.parse(seenAt)) },
  { header: 'STATUS', text: ({ status, statusReason }) => [status, statusReason ?? ''].join(' ').trim() },
  { header: 'AMOUNT', align: 'right', text: amountText },
  { header: 'MONEY', text: ({ money }) => money.verdict },
  { header: 'NEXT', text: ({ money }) => money.nextAction },
  { header: 'REFERENCE', ifRoom: true, text: ({ gatewayReference }) => gatewayReference ?? '-' },
  { header: 'CARD', ifRoom: true, text: ({ card }) => card ?? '-' },
  { header: 'CUSTOMER', ifRoom: true, text: ({ customerId }) => customerId },
];

function amountText({ amountMinor, currency }: ListedOrder): string {
  return moneyText({ amountMinor: BigInt(amountMinor), currency });
}
