/** How `parked replay` sees a batch through: progress, its end, what to do when a service is away. */
import type { Config } from '../../config/config.ts';
import type { OperatorCommand } from '../../domain/audit.ts';
import type { ReplayResult } from '../../ops/parked/batch-view.ts';
import type { ReplayPlanView } from '../../ops/parked/plan-replay.ts';
import type { BatchEnd } from '../../ops/parked/run-batch.ts';
import type { ParkedSearch } from '../../ports/parked-search.ts';
import type { ReplayBatch, ReplayBatches } from '../../ports/replay-batches.ts';
import type { ReplayBroker } from '../../ports/replay-broker.ts';
import { configFor, type ConfigOptions } from '../configuration.ts';
import type { CommandContext } from '../context.ts';
import { CommandError, exitCodes, isUnreachable } from '../exit-codes.ts';
import { printJson } from '../json-outputs.ts';
import type { ParkedParts } from '../parked-parts.ts';

/** Everything that a replay is done with. */
export interface ReplayWorld {
  readonly context: CommandContext;
  readonly parts: ParkedParts;
  readonly config: Pick<Config, 'broker' | 'database' | 'operator'>;
  readonly flags: ConfigOptions & { readonly json?: true };
  readonly search: ParkedSearch;
  readonly batches: ReplayBatches;
}

export async function existingBatch({ batches }: ReplayWorld, batchId: string): Promise<ReplayBatch> {
  const batch = await batches.show(batchId);
  if (batch === undefined) throw new CommandError(exitCodes.failed, `there is no replay ${batchId}`);
  return batch;
}

/** Sees it through to its end, prints what became of it, and sets the exit code. `plan`: of a new one. */
export async function attend(
  world: ReplayWorld,
  batch: ReplayBatch,
  plan: ReplayPlanView | undefined,
): Promise<void> {
  const { attendBatch } = await import('../../ops/parked/attend-batch.ts');
  const { batches, context, parts, search } = world;
  const { terminal } = context;
  const interruption = context.interruption();
  const { waiting } = batch.counts;
  let broker: (ReplayBroker & { close(): Promise<void> }) | undefined;
  try {
    const end = await attendBatch(batch, {
      batches,
      search,
      openBroker: async () => (broker ??= await parts.openReplayBroker(world.config, batch.queue)),
      openBody: bodyOpener(world),
      clock: parts.clock,
      signal: interruption.signal,
      onProgress: (settled) => {
        terminal.progress(`${settled} of ${waiting}`);
      },
      onWatch: ({ counts }) => {
        terminal.progress(`another command is at it: ${counts.waiting} wait`);
      },
    });
    terminal.clearProgress();
    await tellEnd(world, batch.batchId, end, plan);
    context.exitWith(
      interruption.exitCode() ?? exitCodeOf(await existingBatch(world, batch.batchId), end, plan),
    );
  } catch (error) {
    terminal.clearProgress();
    throw resumable(error, batch.batchId);
  } finally {
    interruption.release();
    await broker?.close();
  }
}

/** The card keys are asked for when the first sealed body is to be opened: not every replay needs them. */
function bodyOpener({ context, flags }: ReplayWorld): (jwe: string) => Promise<Uint8Array | undefined> {
  const opening = async () => {
    const { orders } = await configFor(context, flags, ['orders']);
    const { cardCipher } = context.parts;
    if (orders.cardKeys === undefined || cardCipher === undefined) {
      throw new CommandError(
        exitCodes.configuration,
        'the bodies of parked orders are sealed: set CARDAUTH_CARD_KEY to the key of the workers',
      );
    }
    return (await cardCipher())(orders.cardKeys);
  };
  let cipher: ReturnType<typeof opening> | undefined;
  return async (jwe) => (await (cipher ??= opening())).open(jwe);
}

async function tellEnd(
  world: ReplayWorld,
  batchId: string,
  end: BatchEnd,
  plan: ReplayPlanView | undefined,
): Promise<void> {
  const { viewOfBatch } = await import('../../ops/parked/batch-view.ts');
  const batch = viewOfBatch(await existingBatch(world, batchId));
  const { terminal } = world.context;
  if (world.flags.json === true) {
    printJson(terminal, 'parked replay', { isDryRun: false, plan: plan ?? null, batch, end });
  } else terminal.out(endText(batch, end));
  if (batch.counts.waiting > 0 && end !== 'cancelled') terminal.err(`${howToGoOn(batchId)}\n`);
}

type BatchView = NonNullable<ReplayResult['batch']>;

function endText({ batchId, counts, stoppedBecause }: BatchView, end: BatchEnd): string {
  const told = Object.entries(counts).filter(([, count]) => count > 0);
  const because = stoppedBecause === null ? '' : ` because ${stoppedBecause}`;
  return `batch ${batchId} ${end}${because}: ${told.map(([name, count]) => `${count} ${name}`).join(', ')}\n`;
}

function howToGoOn(batchId: string): string {
  return `go on with it: cardauth parked replay --batch ${batchId}`;
}

function exitCodeOf({ counts }: ReplayBatch, end: BatchEnd, plan: ReplayPlanView | undefined): number {
  const isAll = counts.left + (plan?.left ?? 0) + (plan?.notFound.length ?? 0) === 0;
  if (end === 'done' && isAll) return exitCodes.ok;
  return counts.published + counts.closed > 0 ? exitCodes.partly : exitCodes.failed;
}

const BROKER_CLASSES: readonly unknown[] = ['ambiguous', 'nacked', 'publisher_unavailable'];

/** What ended it, with how to go on; nothing is lost by that. */
function resumable(error: unknown, batchId: string): unknown {
  if (!(error instanceof Error)) return error;
  const isBroker = 'errorClass' in error && BROKER_CLASSES.includes(error.errorClass);
  const exitCode = error instanceof CommandError ? error.exitCode : exitCodes.failed;
  const isAway = isBroker || isUnreachable(error);
  const message = `${error.message}; nothing is lost, ${howToGoOn(batchId)}`;
  return new CommandError(isAway ? exitCodes.unreachable : exitCode, message, { cause: error });
}

/** Also of one whose command died after it was cancelled: what it still has is parked again. */
export async function cancelBatch(
  world: ReplayWorld,
  batch: ReplayBatch,
  command: OperatorCommand,
): Promise<void> {
  const { batches, context } = world;
  const { batchId } = batch;
  const result = await batches.cancel(batchId, command);
  const now = await existingBatch(world, batchId);
  if (now.state === 'done') {
    context.terminal.err(`batch ${batchId} was done already\n`);
    context.exitWith(exitCodes.failed);
    return;
  }
  const hold = await batches.hold(batch);
  if (hold === undefined) {
    context.terminal.err('the command that works on it stops now, and parks the rest again\n');
  } else {
    try {
      await batches.release(batchId);
    } finally {
      await hold.release();
    }
  }
  if (result === 'repeated') context.terminal.err('this command cancelled it before\n');
  await tellEnd(world, batchId, 'cancelled', undefined);
}
