import type { ParkedGroup } from '../../ops/parked/group-parked.ts';
import type { ParkedState } from '../../ports/parked-search.ts';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand } from '../context.ts';
import { printJson } from '../json-outputs.ts';
import { usageErrors } from '../operate.ts';
import { ageText, textTable, type Column } from '../table.ts';
import {
  addFilterOptions,
  filterOf,
  parkedOf,
  states,
  termsOf,
  type FilterFlags,
} from './parked-selection.ts';

interface GroupsFlags extends ConfigOptions, FilterFlags {
  readonly reason?: string;
  readonly state?: readonly ParkedState[];
  readonly json?: true;
}

export const addGroupsCommand: AddCommand = (parked, context) => {
  addFilterOptions(addConfigOptions(parked.command('groups')), context)
    .summary('parked orders by cause')
    .description(
      'Groups parked orders by their cause, the largest group first: since when, an example, how many can be replayed, ' +
        'whether their money has moved, and what a replay of each would come to. Needs the database only.',
    )
    .option('--reason <reason>', 'only those parked for this reason')
    .option(
      '--state <state>',
      'only these: parked, replaying, replayed, discarded, any; default: parked',
      states,
    )
    .option('--json', 'print {"groups":[...]}')
    .addHelpText(
      'after',
      '\nExamples:\n  cardauth parked groups\n  cardauth parked groups --newer-than 2h --json\n',
    )
    .action(async (flags: GroupsFlags) => {
      const { groupParked } = await import('../../ops/parked/group-parked.ts');
      const config = await configFor(context, flags, ['broker', 'database']);
      const search = (await parkedOf(context)).openParkedSearch(config);
      try {
        const filter = {
          ...filterOf(flags),
          states: flags.state ?? ['parked' as const],
          reason: flags.reason,
        };
        const { groups } = await usageErrors(groupParked(search, filter, termsOf(config)));
        const { terminal } = context;
        if (flags.json === true) printJson(terminal, 'parked groups', { groups });
        else if (groups.length === 0) terminal.err('no parked orders fit\n');
        else terminal.out(textTable(groups, columnsAt(context.nowMs()), terminal.width));
      } finally {
        await search.close();
      }
    });
};

const columnsAt = (nowMs: number): readonly Column<ParkedGroup>[] => [
  { header: 'COUNT', align: 'right', text: ({ count }) => String(count) },
  { header: 'CAUSE', text: ({ cause }) => cause },
  {
    header: 'FIRST',
    align: 'right',
    text: ({ firstParkedAt }) => ageText(nowMs - Date.parse(firstParkedAt)),
  },
  { header: 'LAST', align: 'right', text: ({ lastParkedAt }) => ageText(nowMs - Date.parse(lastParkedAt)) },
  { header: 'REPLAYABLE', align: 'right', text: ({ replayable }) => String(replayable) },
  { header: 'MONEY', text: ({ verdicts }) => countsText(verdicts) },
  { header: 'REPLAY', text: ({ replay }) => countsText(replay) },
  { header: 'EXAMPLE', ifRoom: true, text: ({ example }) => example },
];

/** `3 not-sent, 1 unknown`. */
export function countsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
}
