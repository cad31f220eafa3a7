import type { DiscardResult } from '../../ops/parked/discard-parked.ts';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { printJson } from '../json-outputs.ts';
import { closeAll } from '../operate.ts';
import {
  addConfirmedWriteOptions,
  confirmedCommandOf,
  type ConfirmedWriteOptions,
} from '../write-options.ts';
import {
  addSelectionOptions,
  parkedOf,
  selectionOf,
  termsOf,
  type SelectionFlags,
} from './parked-selection.ts';

interface DiscardFlags extends ConfigOptions, SelectionFlags, ConfirmedWriteOptions {
  readonly json?: true;
}

const MOST_SHOWN = 20;

export const addDiscardCommand: AddCommand = (parked, context) => {
  const command = addSelectionOptions(addConfigOptions(parked.command('discard [park-id...]')), context);
  addConfirmedWriteOptions(command)
    .summary('end parked orders without a replay')
    .description(
      'Marks parked orders (- reads ids from stdin) as discarded: ask upstream for a new order. Refused where money is ' +
        'held, or may be, and nobody was told. Only says what it would do unless --yes is given. Needs the database only.',
    )
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Examples:
  cardauth parked discard 0190163d-8694-739b-aea5-966c26f8ad91
  cardauth parked discard --with-reason amount_negative --reason 'upstream sends them again, OPS-17' --yes
Exit codes: 0 all discarded, 5 --yes is needed, 3 some were refused, 1 all were.
`,
    )
    .action(async (given: string[], flags: DiscardFlags) => {
      const filter = await selectionOf(context, given, flags);
      const config = await configFor(context, flags, ['broker', 'database', 'operator']);
      const confirmed = confirmedCommandOf('parked discard', flags, config, context);
      const { discardParked } = await import('../../ops/parked/discard-parked.ts');
      const parts = await parkedOf(context);
      const [search, discards] = [parts.openParkedSearch(config), parts.openParkedDiscards(config)];
      try {
        const result = await discardParked({ search, discards }, filter, termsOf(config), confirmed);
        if (flags.json === true) printJson(context.terminal, 'parked discard', result);
        else context.terminal.out(resultText(result));
        context.exitWith(exitCodeOf(result));
      } finally {
        await closeAll(search, discards);
      }
    });
};

function exitCodeOf({ isDryRun, discarded, refused }: DiscardResult): number {
  if (isDryRun && discarded > 0) return exitCodes.confirmationNeeded;
  if (refused.length === 0) return exitCodes.ok;
  return discarded > 0 ? exitCodes.partly : exitCodes.failed;
}

function resultText({ isDryRun, discarded, refused }: DiscardResult): string {
  const shown = refused.slice(0, MOST_SHOWN).map(({ because, orderId, parkId }) => {
    return `refused ${parkId} (order ${orderId ?? 'without id'}): ${because}\n`;
  });
  const more = refused.length > MOST_SHOWN ? [`... and ${refused.length - MOST_SHOWN} more refused\n`] : [];
  const told = isDryRun ? 'would be discarded; --yes does it' : 'discarded';
  return [...shown, ...more, `${discarded} ${told}, ${refused.length} refused\n`].join('');
}
