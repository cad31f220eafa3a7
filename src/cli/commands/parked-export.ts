import type { ParkedState } from '../../ports/parked-search.ts';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand } from '../context.ts';
import { printJson } from '../json-outputs.ts';
import {
  addFilterOptions,
  filterOf,
  parkedOf,
  states,
  termsOf,
  type FilterFlags,
} from './parked-selection.ts';

interface ExportFlags extends ConfigOptions, FilterFlags {
  readonly reason?: string;
  readonly state?: readonly ParkedState[];
}

export const addExportCommand: AddCommand = (parked, context) => {
  addFilterOptions(addConfigOptions(parked.command('export')), context)
    .summary('write parked orders as NDJSON, without card data')
    .description(
      'Writes one line of JSON for each parked order that fits, as `parked show --json` has it. Needs the database only.',
    )
    .option('--reason <reason>', 'only those parked for this reason')
    .option(
      '--state <state>',
      'only these: parked, replaying, replayed, discarded, any; default: parked',
      states,
    )
    .option('--json', 'it prints NDJSON in any case')
    .addHelpText(
      'after',
      '\nExample:\n  cardauth parked export --class input --newer-than 7d > for-upstream.ndjson\n',
    )
    .action(async (flags: ExportFlags) => {
      const { exportParked } = await import('../../ops/parked/list-parked.ts');
      const config = await configFor(context, flags, ['broker', 'database']);
      const search = (await parkedOf(context)).openParkedSearch(config);
      const interruption = context.interruption();
      try {
        const filter = {
          ...filterOf(flags),
          states: flags.state ?? ['parked' as const],
          reason: flags.reason,
        };
        for await (const detail of exportParked(search, filter, termsOf(config))) {
          if (interruption.signal.aborted) break;
          printJson(context.terminal, 'parked export', detail);
        }
        context.exitWith(interruption.exitCode() ?? 0);
      } finally {
        interruption.release();
        await search.close();
      }
    });
};
