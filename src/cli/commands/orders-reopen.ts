import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand } from '../context.ts';
import { closeAll, moneyOf, operateOnOrders, orderIdsOf } from '../operate.ts';
import { addWriteOptions, operatorCommandOf, type WriteOptions } from '../write-options.ts';

interface ReopenFlags extends ConfigOptions, WriteOptions {
  readonly offlineEvidence?: true;
  readonly yes?: true;
  readonly json?: true;
}

export const addReopenCommand: AddCommand = (orders, context) => {
  if (context.parts.money === undefined) return;
  addWriteOptions(addConfigOptions(orders.command('reopen <id...>')))
    .summary('allow denied orders another try')
    .description(
      'Opens the next generation of each denied order (- reads ids from stdin), under a new key, if it is proven that ' +
        'nothing is held for it; the gateway is asked first. Charges nothing by itself: publish the order again, or ' +
        'replay its parked message. Only says what it would do unless --yes is given.',
    )
    .option(
      '--offline-evidence',
      'you have seen elsewhere that nothing is held, where the gateway cannot be asked',
    )
    .option('--yes', 'do it')
    .option('--json', 'print one line of JSON for each order')
    .addHelpText(
      'after',
      "\nExample:\n  cardauth orders reopen 1234 --reason 'new limit on the card' --yes\n",
    )
    .action(async (given: string[], flags: ReopenFlags) => {
      const orderIds = await orderIdsOf(context, given);
      const config = await configFor(context, flags, [
        'database',
        'gateway',
        'topology',
        'orders',
        'operator',
      ]);
      const command = operatorCommandOf('orders reopen', flags, config, context);
      const { reopenOrder } = await import('../../ops/reopen-order.ts');
      const money = await moneyOf(context);
      const [book, gateway] = [money.openVerdictBook(config), money.openInquiry(config)];
      const confirmed = flags.yes === true ? command : undefined;
      const options = {
        command: 'orders reopen',
        json: flags.json,
        isDryRun: flags.yes !== true,
        done: 'reopened',
      } as const;
      try {
        await operateOnOrders(context, orderIds, options, (orderId) =>
          reopenOrder({ book, gateway }, orderId, flags.offlineEvidence === true, confirmed),
        );
      } finally {
        await closeAll(book, gateway);
      }
    });
};
