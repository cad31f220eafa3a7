import type { AddCommand } from '../context.ts';
import { addDiscardCommand } from './parked-discard.ts';
import { addExportCommand } from './parked-export.ts';
import { addGroupsCommand } from './parked-groups.ts';
import { addListCommand } from './parked-list.ts';
import { addReplayCommand } from './parked-replay.ts';
import { addShowCommand } from './parked-show.ts';

export const addParkedCommand: AddCommand = (program, context) => {
  if (context.parts.parked === undefined) return;
  const parked = program
    .command('parked')
    .summary('orders that were given to a person: find, replay and discard them');
  addListCommand(parked, context);
  addGroupsCommand(parked, context);
  addShowCommand(parked, context);
  addReplayCommand(parked, context);
  addDiscardCommand(parked, context);
  addExportCommand(parked, context);
};
