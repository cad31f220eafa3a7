import type { EventView, OrderView } from '../../ops/show-order.ts';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand } from '../context.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { printJson } from '../json-outputs.ts';

type ShowFlags = ConfigOptions & { readonly json?: true };

export const addShowCommand: AddCommand = (orders, context) => {
  const { orderHistory } = context.parts;
  if (orderHistory === undefined) return;
  addConfigOptions(orders.command('show <id>'))
    .summary('show what became of an order')
    .description(
      'Shows the order of that id, its authorizations and everything that happened to it; no card data.',
    )
    .option('--json', 'print it as JSON')
    .addHelpText('after', '\nExample:\n  cardauth orders show 1234 --json\n')
    .action(async (orderId: string, options: ShowFlags) => {
      refuseImpossibleId(orderId);
      const { showOrder } = await import('../../ops/show-order.ts');
      const config = await configFor(context, options, ['database']);
      const history = await (await orderHistory())(config);
      try {
        const order = await showOrder(history, orderId);
        if (order === undefined)
          throw new CommandError(exitCodes.failed, `nothing is known of order ${orderId}`);
        if (options.json === true) printJson(context.terminal, 'orders show', order);
        else context.terminal.out(orderText(order));
      } finally {
        await history.close();
      }
    });
};

function refuseImpossibleId(orderId: string): void {
  if (/^[\x21-\x7e]{1,128}$/.test(orderId)) return;
  throw new CommandError(exitCodes.usage, 'an order id is 1-128 visible ASCII characters');
}

function orderText(order: OrderView): string {
  const { authorizations, events, ...fields } = order;
  const lines = Object.entries(fields).map(([name, value]) => `${name.padEnd(18)}${value ?? '-'}\n`);
  const attempts = authorizations.map(({ generation, idempotencyKey, state, lastOutcome }) => {
    return `  ${generation}. ${idempotencyKey}  ${state}  ${lastOutcome ?? 'no answer yet'}\n`;
  });
  const history = events.map((event) => `  ${event.at}  ${eventText(event)}\n`);
  return `${lines.join('')}\nauthorizations\n${attempts.join('')}\nhistory\n${history.join('')}`;
}

function eventText(event: EventView): string {
  const { fact, statusBefore, statusAfter, outcome, detail, alarm } = event;
  const moved =
    statusBefore === statusAfter ? undefined : `${statusBefore ?? 'new'} -> ${statusAfter ?? 'none'}`;
  const told = [fact, moved, outcome, detail, alarm === null ? undefined : `ALARM: ${alarm}`];
  return told.filter((part) => part !== undefined && part !== null).join('  ');
}
