import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand } from '../context.ts';
import { printJson } from '../json-outputs.ts';
import { nothingKnown, refuseImpossibleId } from '../order-id.ts';
import { oneLine } from '../table.ts';

type ExplainFlags = ConfigOptions & { readonly json?: true };

export const addExplainCommand: AddCommand = (orders, context) => {
  const { orderHistory } = context.parts;
  if (orderHistory === undefined) return;
  addConfigOptions(orders.command('explain <id>'))
    .summary('say in one sentence where an order is')
    .description(
      'Says in one plain sentence, without card data, what became of an order, whether money is held, and what comes ' +
        'next. Needs the database only. Exits 1 when nothing is known of it.',
    )
    .option('--json', 'print it as JSON, with the verdict')
    .addHelpText(
      'after',
      '\nExamples:\n  cardauth orders explain 1234\n  cardauth orders explain 1234 --json\n',
    )
    .action(async (orderId: string, options: ExplainFlags) => {
      refuseImpossibleId(orderId);
      const { explainedOrder } = await import('../../ops/explain-order.ts');
      const history = await (await orderHistory())(await configFor(context, options, ['database']));
      try {
        const explained = await explainedOrder(history, orderId);
        if (explained === undefined) throw nothingKnown(orderId);
        if (options.json === true) printJson(context.terminal, 'orders explain', explained);
        else context.terminal.out(`${oneLine(explained.explanation)}\n`);
      } finally {
        await history.close();
      }
    });
};
