/** Which parked orders a command is about: the flags that several commands have. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Config } from '../../config/config.ts';
import type { ParkedClass } from '../../ports/parked-orders.ts';
import type { ParkedFilter, ParkedState } from '../../ports/parked-search.ts';
import type { ReplayTerms } from '../../ops/parked/selection.ts';
import type { CommandContext } from '../context.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { timeOf } from '../limits.ts';
import { orderIdsOf } from '../operate.ts';
import { refuseImpossibleId } from '../order-id.ts';
import type { ParkedParts } from '../parked-parts.ts';

export interface FilterFlags {
  readonly class?: ParkedClass;
  readonly cause?: string;
  readonly order?: string;
  readonly queue?: string;
  readonly olderThan?: number;
  readonly newerThan?: number;
}

const CLASSES: readonly ParkedClass[] = ['input', 'review', 'exhausted', 'broker', 'foreign'];
const STATES: readonly ParkedState[] = ['parked', 'replaying', 'replayed', 'discarded'];

export function addFilterOptions(command: Command, { nowMs }: CommandContext): Command {
  const time = (text: string): number => timeOf(text, nowMs());
  return command
    .addOption(new Option('--class <class>', 'only of this class: who has to act').choices([...CLASSES]))
    .option('--cause <cause>', 'only of this cause, as `parked groups` has it')
    .option('--order <id>', 'only of this order')
    .option('--queue <name>', 'only what was on this queue')
    .option('--older-than <time>', 'parked before: an age like 30m, 24h or 7d, or a time', time)
    .option('--newer-than <time>', 'parked since then', time);
}

export function filterOf(flags: FilterFlags): Omit<ParkedFilter, 'states' | 'limit'> {
  const { cause, order: orderId, queue, olderThan, newerThan } = flags;
  if (orderId !== undefined) refuseImpossibleId(orderId);
  const parkedClass = CLASSES.find((known) => known === flags.class);
  return { class: parkedClass, cause, orderId, queue, parkedBeforeMs: olderThan, parkedSinceMs: newerThan };
}

/** For commander: repeatable, or comma-separated; `any` is all of them. */
export function states(text: string, earlier: readonly ParkedState[] = []): readonly ParkedState[] {
  if (text === 'any') return STATES;
  const named = text.split(',').map((one) => {
    const state = STATES.find((known) => known === one.trim());
    if (state === undefined) throw new InvalidArgumentError(`Expected one of ${STATES.join(', ')}, any.`);
    return state;
  });
  return [...earlier, ...named];
}

// --- selections of commands that change something ----------------------------------------------------------------

export interface SelectionFlags extends FilterFlags {
  readonly group?: string;
  readonly withReason?: string;
  readonly all?: true;
}

export function addSelectionOptions(command: Command, context: CommandContext): Command {
  return addFilterOptions(command, context)
    .option('--group <cause>', 'all of this cause, as `parked groups` has it')
    .option('--with-reason <reason>', 'only those parked for this reason')
    .option('--all', 'all that are parked');
}

/** Throws a CommandError unless ids, flags that narrow, or `--all` say which; ids are looked for in any state. */
export async function selectionOf(
  context: CommandContext,
  given: readonly string[],
  flags: SelectionFlags,
): Promise<Omit<ParkedFilter, 'limit'>> {
  if (flags.group !== undefined && flags.cause !== undefined)
    throw new CommandError(exitCodes.usage, '--group and --cause say the same: give one of them');
  const filter = filterOf({ ...flags, ...(flags.group !== undefined && { cause: flags.group }) });
  const narrowed = { ...filter, reason: flags.withReason };
  const isNarrowed = Object.values(narrowed).some((value) => value !== undefined);
  if ([given.length > 0, isNarrowed, flags.all === true].filter(Boolean).length !== 1) {
    throw new CommandError(
      exitCodes.usage,
      'say which: park ids, or --group CAUSE or other filters, or --all; one of the three',
    );
  }
  if (given.length === 0) return { ...narrowed, states: ['parked'] };
  return { states: [], parkIds: await parkIdsOf(context, given) };
}

async function parkIdsOf(context: CommandContext, given: readonly string[]): Promise<readonly string[]> {
  const ids = await orderIdsOf(context, given);
  return [...new Set(ids.map(parkIdOf))];
}

/** Throws a CommandError unless it may be the id of a parked order. */
export function parkIdOf(text: string): string {
  return uuidOf(text, 'a park id, as `parked list` has it');
}

export function uuidOf(text: string, what: string): string {
  const isUuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
  if (!isUuid) throw new CommandError(exitCodes.usage, `expected ${what}: a UUID`);
  return text.toLowerCase();
}

// --- what a replay goes by ---------------------------------------------------------------------------------------

export const DEFAULT_MAX_AGE_MS = 86_400_000;

export function termsOf(config: Pick<Config, 'broker'>, maxAgeMs: number = DEFAULT_MAX_AGE_MS): ReplayTerms {
  return { queue: config.broker.ordersQueue, maxAgeMs };
}

export async function parkedOf({ parts }: CommandContext): Promise<ParkedParts> {
  if (parts.parked === undefined) throw new Error('bug: a command without its part was added');
  return parts.parked();
}
