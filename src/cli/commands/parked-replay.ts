import { InvalidArgumentError } from 'commander';
import type { Config } from '../../config/config.ts';
import type { OperatorCommand } from '../../domain/audit.ts';
import type { ReplayPlanView } from '../../ops/parked/plan-replay.ts';
import { addConfigOptions, configFor, type ConfigOptions } from '../configuration.ts';
import type { AddCommand, CommandContext } from '../context.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { printJson } from '../json-outputs.ts';
import { countUpTo } from '../limits.ts';
import { closeAll, usageErrors } from '../operate.ts';
import { textTable, type Column } from '../table.ts';
import {
  addConfirmedWriteOptions,
  confirmedCommandOf,
  operatorCommandOf,
  type ConfirmedWriteOptions,
} from '../write-options.ts';
import { attend, cancelBatch, existingBatch, type ReplayWorld } from './parked-batch.ts';
import { countsText } from './parked-groups.ts';
import {
  addSelectionOptions,
  DEFAULT_MAX_AGE_MS,
  parkedOf,
  selectionOf,
  termsOf,
  uuidOf,
  type SelectionFlags,
} from './parked-selection.ts';

interface ReplayFlags extends ConfigOptions, SelectionFlags, ConfirmedWriteOptions {
  readonly rate: number;
  readonly stopAfterFailures: number;
  readonly maxAge?: number;
  readonly batch?: string;
  readonly cancel?: true;
  readonly json?: true;
}

export const addReplayCommand: AddCommand = (parked, context) => {
  const command = addSelectionOptions(addConfigOptions(parked.command('replay [park-id...]')), context);
  addConfirmedWriteOptions(command)
    .summary('put parked orders back on the queue, or say what that would come to')
    .description(
      'Puts the messages of parked orders (- reads ids from stdin) back on the orders queue, in the order in which they ' +
        'were parked. By default it only says what that comes to: which are charged, for which only the notification is ' +
        'sent, about which the gateway is asked first, and which are left and what to do about those. With --yes the ' +
        'list is frozen as a batch; each is marked once the broker has it. An order is charged once, whoever replays.',
    )
    .option('--rate <n/s>', 'messages a second, e.g. 10/s', rate, 50)
    .option(
      '--stop-after-failures <n>',
      'stop when so many of the last 100 are parked again, 1-100',
      countUpTo(100),
      20,
    )
    .option('--max-age <age>', 'charge no order that was first seen longer ago, e.g. 7d (default: 24h)', age)
    .option('--batch <id>', 'watch a replay; go on with it where its command was killed or it stopped')
    .option('--cancel', 'with --batch: end it; what is not published is parked as before')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Examples:
  cardauth parked replay --group 'replays_exhausted: gateway away'
  cardauth parked replay --group 'replays_exhausted: gateway away' --reason 'gateway is back' --rate 20/s --yes
  cardauth parked replay --batch 6f9619ff-8b86-4d01-b42d-00cf4fc964ff
  cardauth parked replay --batch 6f9619ff-8b86-4d01-b42d-00cf4fc964ff --cancel --reason 'wrong group'
Exit codes: 0 all done, 5 --yes is needed, 3 some were left or it stopped, 1 nothing could be done,
            69 broker or database unreachable: --batch ID goes on with it.
`,
    )
    .action(async (given: string[], flags: ReplayFlags) => {
      if (flags.cancel === true && flags.batch === undefined)
        throw new CommandError(exitCodes.usage, '--cancel goes with --batch');
      const filter = flags.batch === undefined ? await selectionOf(context, given, flags) : undefined;
      const config = await configFor(context, flags, ['broker', 'database', 'operator']);
      const parts = await parkedOf(context);
      const search = parts.openParkedSearch(config);
      const batches = parts.openReplayBatches(config);
      const world: ReplayWorld = { context, parts, config, flags, search, batches };
      try {
        if (filter !== undefined) await replay(world, filter, flags);
        else await goOn(world, uuidOf(flags.batch ?? '', 'the id of a replay'), flags);
      } finally {
        await closeAll(search, batches);
      }
    });
};

// --- a new one ---------------------------------------------------------------------------------------------------

async function replay(
  world: ReplayWorld,
  filter: Awaited<ReturnType<typeof selectionOf>>,
  flags: ReplayFlags,
): Promise<void> {
  const { context, config, search } = world;
  const command = confirmedCommandOf('parked replay', flags, config, context);
  const { planReplay } = await import('../../ops/parked/plan-replay.ts');
  const { taken, view } = await usageErrors(
    planReplay(search, filter, termsOf(config, flags.maxAge ?? DEFAULT_MAX_AGE_MS)),
  );
  if (command === undefined || taken.length === 0) {
    const repeated = command && (await batchOfCommand(world, flags, command));
    if (repeated !== undefined) await attend(world, repeated, view);
    else tellPlan(context, view, flags);
    return;
  }
  if (flags.json !== true) context.terminal.out(planText(view, context));
  const opened = await world.batches.open(newBatch(context, config, flags), taken, command);
  if (opened === undefined) {
    context.terminal.err('nothing was taken: another replay has them\n');
    context.exitWith(exitCodes.failed);
    return;
  }
  const { batch, isRepeated } = opened;
  const total = Object.values(batch.counts).reduce((sum, count) => sum + count, 0);
  context.terminal.err(
    `batch ${batch.batchId}: ${total} parked orders${isRepeated ? ' (it was begun before)' : ''}\n`,
  );
  await attend(world, batch, view);
}

/** A command that comes again finds its batch, though nothing is parked any more. */
async function batchOfCommand(world: ReplayWorld, flags: ReplayFlags, command: OperatorCommand) {
  if (flags.commandId === undefined) return undefined;
  const opened = await world.batches.open(newBatch(world.context, world.config, flags), [], command);
  return opened?.batch;
}

function newBatch(context: CommandContext, config: Pick<Config, 'broker'>, flags: ReplayFlags) {
  return {
    batchId: context.newMessageId(),
    queue: config.broker.ordersQueue,
    messagesPerSecond: flags.rate,
    stopAfterFailures: flags.stopAfterFailures,
    maxAgeMs: flags.maxAge ?? DEFAULT_MAX_AGE_MS,
  };
}

function tellPlan(context: CommandContext, plan: ReplayPlanView, flags: ReplayFlags): void {
  const isDryRun = flags.yes !== true;
  if (flags.json === true)
    printJson(context.terminal, 'parked replay', { isDryRun, plan, batch: null, end: null });
  else context.terminal.out(planText(plan, context));
  const { left, notFound, taken } = plan;
  if (taken > 0) context.terminal.err('Nothing was replayed: this was a dry run, --yes does it.\n');
  const isNothingDone = left + notFound.length > 0;
  context.exitWith(
    taken > 0 ? exitCodes.confirmationNeeded : isNothingDone ? exitCodes.failed : exitCodes.ok,
  );
}

type Line = ReplayPlanView['lines'][number];

const MEANINGS: Readonly<Record<Line['replay'], string>> = {
  authorize: 'published: nothing was sent to the gateway, the card is charged once',
  announce: 'published: the notification is sent only, no new charge',
  'ask-gateway': 'published: the gateway is asked first, under the same key',
  close: 'nothing to do: decided and announced; the row is closed',
  wait: 'left',
  'too-old': 'left',
  'parks-again': 'left: a worker would park it again at once',
  'not-replayable': 'left',
  review: 'left',
  'wrong-queue': 'left',
};

const COLUMNS: readonly Column<Line>[] = [
  { header: 'COUNT', align: 'right', text: ({ count }) => String(count) },
  { header: 'REPLAY', text: ({ replay }) => replay },
  { header: 'MONEY', text: ({ verdicts }) => countsText(verdicts) },
  {
    header: 'WHAT HAPPENS',
    text: ({ advice, replay }) => [MEANINGS[replay], advice].filter((text) => text !== null).join('; '),
  },
];

function planText(plan: ReplayPlanView, { terminal }: CommandContext): string {
  const { left, lines, notFound, notParked, taken } = plan;
  const named = [
    ...notParked.map(({ parkId, state }) => `${parkId} is ${state}\n`),
    ...notFound.map((parkId) => `${parkId} is no parked order\n`),
  ];
  const table = lines.length === 0 ? '' : textTable(lines, COLUMNS, terminal.width);
  return [table, ...named, `${taken} to be replayed, ${left} left as they are\n`].join('');
}

// --- an old one --------------------------------------------------------------------------------------------------

async function goOn(world: ReplayWorld, batchId: string, flags: ReplayFlags): Promise<void> {
  const { context, config } = world;
  const batch = await existingBatch(world, batchId);
  if (flags.cancel !== true) {
    await attend(world, batch, undefined);
    return;
  }
  const { reason } = flags;
  if (reason === undefined)
    throw new CommandError(exitCodes.usage, '--cancel needs --reason: say why you do this');
  await cancelBatch(world, batch, operatorCommandOf('parked replay', { ...flags, reason }, config, context));
}

// --- values ------------------------------------------------------------------------------------------------------

function rate(text: string): number {
  const [, number] = /^(\d{1,5}(?:\.\d{1,3})?)(?:\/s)?$/.exec(text) ?? [];
  const perSecond = Number(number);
  if (!(perSecond >= 0.01 && perSecond <= 10_000))
    throw new InvalidArgumentError('Expected messages a second, 0.01 to 10000, e.g. 10/s.');
  return perSecond;
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function age(text: string): number {
  const [, amount, unit = ''] = /^([1-9]\d{0,3})([mhd])$/.exec(text) ?? [];
  if (amount === undefined) throw new InvalidArgumentError('Expected an age, e.g. 36h or 7d.');
  return Number(amount) * (UNITS_MS[unit] ?? 0);
}
