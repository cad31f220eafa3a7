import type { ParkedView } from '../../ops/parked/parked-view.ts';
import type { ParkedState } from '../../ports/parked-search.ts';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand } from '../context.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { printJson } from '../json-outputs.ts';
import { countUpTo } from '../limits.ts';
import { ageText, textTable, type Column } from '../table.ts';
import { addFilterOptions, filterOf, parkedOf, states, termsOf, uuidOf } from './parked-selection.ts';
import type { FilterFlags } from './parked-selection.ts';

interface ListFlags extends ConfigOptions, FilterFlags {
  readonly reason?: string;
  readonly state?: readonly ParkedState[];
  readonly batch?: string;
  readonly limit: number;
  readonly after?: string;
  readonly json?: true;
}

const MOST = 1_000;

export const addListCommand: AddCommand = (parked, context) => {
  addFilterOptions(addConfigOptions(parked.command('list')), context)
    .summary('find parked orders, and see what a replay would do')
    .description(
      'Lists parked orders that fit all of the flags, the longest parked first: why each is there, whether its money ' +
        'has moved, and what a replay would come to. Needs the database only.',
    )
    .option('--reason <reason>', 'only those parked for this reason, e.g. replays_exhausted')
    .option(
      '--state <state>',
      'only these: parked, replaying, replayed, discarded, any; default: parked and replaying',
      states,
    )
    .option('--batch <id>', 'only members of this replay')
    .option('--limit <n>', `how many at most, 1-${MOST}`, countUpTo(MOST), 50)
    .option('--after <cursor>', 'go on where the page before ended')
    .option('--json', 'print {"parked":[...],"next":"..."}')
    .addHelpText(
      'after',
      '\nExamples:\n' +
        '  cardauth parked list\n' +
        '  cardauth parked list --reason replays_exhausted --older-than 1h\n' +
        '  cardauth parked list --order 1234 --state any\n' +
        '  cardauth parked list --json | jq -r .parked[].parkId\n',
    )
    .action(async (flags: ListFlags) => {
      const { listParked, parkedPageEnd } = await import('../../ops/parked/list-parked.ts');
      const after = flags.after === undefined ? undefined : cursorOf(flags.after, parkedPageEnd);
      const batchId = flags.batch === undefined ? undefined : uuidOf(flags.batch, 'the id of a replay');
      const config = await configFor(context, flags, ['broker', 'database']);
      const search = (await parkedOf(context)).openParkedSearch(config);
      try {
        const filter = {
          ...filterOf(flags),
          states: flags.state ?? (batchId === undefined ? (['parked', 'replaying'] as const) : []),
          reason: flags.reason,
          batchId,
          limit: flags.limit,
          after,
        };
        const list = await listParked(search, filter, termsOf(config));
        const { terminal } = context;
        if (flags.json === true) {
          printJson(terminal, 'parked list', list);
          return;
        }
        if (list.parked.length === 0) terminal.err('no parked orders fit\n');
        else terminal.out(textTable(list.parked, columnsAt(context.nowMs()), terminal.width));
        if (list.next !== null) terminal.err(`there are more: --after ${list.next}\n`);
      } finally {
        await search.close();
      }
    });
};

function cursorOf<End>(text: string, parse: (text: string) => End): End {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new CommandError(exitCodes.usage, error.message, { cause: error });
  }
}

const columnsAt = (nowMs: number): readonly Column<ParkedView>[] => [
  { header: 'PARKED', text: ({ parkId }) => parkId },
  { header: 'ORDER', text: ({ orderId }) => orderId ?? '-' },
  { header: 'AGE', align: 'right', text: ({ parkedAt }) => ageText(nowMs - Date.parse(parkedAt)) },
  { header: 'STATE', text: ({ state }) => state },
  { header: 'REASON', text: ({ reason }) => reason },
  { header: 'MONEY', text: ({ money }) => money.verdict },
  { header: 'REPLAY', text: ({ replay }) => replay },
  { header: 'BATCH', ifRoom: true, text: ({ batchId }) => batchId ?? '-' },
  { header: 'ADVICE', ifRoom: true, text: ({ advice }) => advice ?? '-' },
];
