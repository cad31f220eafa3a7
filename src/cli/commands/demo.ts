import { InvalidArgumentError } from 'commander';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand } from '../context.ts';

interface DemoFlags extends ConfigOptions {
  readonly orders: number;
  readonly json?: true;
  readonly keep?: true;
}

const MAX_ORDERS = 1_000_000;

export const addDemoCommand: AddCommand = (program, context) => {
  const { demo } = context.parts;
  if (demo === undefined) return;
  addConfigOptions(program.command('demo'))
    .summary('show all of it, with faults, and check the books')
    .description(
      'Runs a gateway simulator and a worker against the broker and the database, with declines, bad input, lost ' +
        'replies and a worker killed in the middle; prints a table of what became of the orders, and exits 1 when the ' +
        'books do not balance. `npm run demo` starts broker and database first.',
    )
    .option('--orders <n>', 'how many orders', countOf, 2000)
    .option('--json', 'print the table as JSON')
    .option('--keep', 'leave everything running until Ctrl-C')
    .addHelpText('after', '\nExample:\n  npm run demo -- --orders 500\n')
    .action(async (options: DemoFlags) => {
      const config = await configFor(context, options, ['broker', 'database']);
      const { orders, json = false, keep = false } = options;
      context.exitWith(await (await demo())({ config, orders, json, keep }));
    });
};

function countOf(text: string): number {
  const count = /^\d{1,7}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > MAX_ORDERS) throw new InvalidArgumentError(`Expected a number, 1-${MAX_ORDERS}.`);
  return count;
}
