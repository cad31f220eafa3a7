/** How commands go through the orders that an operator named: a line for each, and an exit code for all. */
import type { OperatedOrder } from '../ops/operated-order.ts';
import type { CommandContext } from './context.ts';
import { CommandError, exitCodes, isUnreachable } from './exit-codes.ts';
import { printJson } from './json-outputs.ts';
import type { MoneyParts } from './money-parts.ts';
import { refuseImpossibleId } from './order-id.ts';

/** Orders worked on at once. */
const LANES = 8;

export interface OperateOptions {
  readonly command: 'notifications resend' | 'orders reopen' | 'unknown resolve';
  readonly json?: true | undefined;
  readonly isDryRun: boolean;
  /** Told at the end of a dry run that would have done something, e.g. `settled`. */
  readonly done: string;
}

/**
 * Does `operateOn` for each id, prints what became of it, and sets the exit code: 5 after a dry run that would do
 * something, 3 when only some was done, 1 when nothing was. A service that cannot be reached ends it, after what was
 * under way.
 */
export async function operateOnOrders(
  context: CommandContext,
  orderIds: readonly string[],
  options: OperateOptions,
  operateOn: (orderId: string) => Promise<OperatedOrder>,
): Promise<void> {
  const ids = new Set(orderIds);
  const counts: Record<OperatedOrder['result'], number> = {
    would: 0, done: 0, repeated: 0, open: 0, busy: 0, refused: 0, failed: 0,
  }; // prettier-ignore
  const interruption = context.interruption();
  const rest = ids.values();
  let unreachable: Error | undefined;
  const lane = async (): Promise<void> => {
    for (const orderId of rest) {
      if (unreachable !== undefined || interruption.signal.aborted) return;
      try {
        const outcome = await operateOn(orderId);
        counts[outcome.result] += 1;
        printOutcome(context, options, outcome);
      } catch (error) {
        if (error instanceof Error && isUnreachable(error)) {
          unreachable ??= error;
          return;
        }
        counts.failed += 1;
        printOutcome(context, options, failure(orderId, error));
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: LANES }, lane));
  } finally {
    interruption.release();
  }
  context.terminal.err(summary(counts, ids.size, options));
  if (unreachable !== undefined) throw unreachable;
  context.exitWith(interruption.exitCode() ?? exitCodeOf(counts));
}

function exitCodeOf(counts: Readonly<Record<OperatedOrder['result'], number>>): number {
  const { done, repeated, would, open, busy, refused, failed } = counts;
  const undone = open + busy + refused + failed;
  if (would > 0) return exitCodes.confirmationNeeded;
  if (undone === 0) return exitCodes.ok;
  return done + repeated > 0 ? exitCodes.partly : exitCodes.failed;
}

function summary(
  counts: Readonly<Record<OperatedOrder['result'], number>>,
  total: number,
  { isDryRun, done }: OperateOptions,
): string {
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  const told = parts.map(([result, count]) => `${count} ${result}`).join(', ');
  const line = `${total} order(s): ${told === '' ? 'nothing to do' : told}\n`;
  return isDryRun && counts.would > 0
    ? `${line}Nothing was ${done}: this was a dry run, --yes does it.\n`
    : line;
}

function printOutcome(
  { terminal }: CommandContext,
  { command, json }: OperateOptions,
  outcome: OperatedOrder,
): void {
  const { explanation, orderId, result, status } = outcome;
  if (json === true) printJson(terminal, command, outcome);
  else terminal.out(`${orderId}  ${result}  ${status ?? '-'}  ${explanation}\n`);
}

function failure(orderId: string, error: unknown): OperatedOrder {
  const explanation = error instanceof Error ? error.message : 'something that is no Error was thrown';
  const none = { status: null, generation: null, gatewayReference: null };
  return { orderId, result: 'failed', ...none, explanation };
}

const MOST_ORDERS = 10_000;

/** The ids that were given; with `-`, one a line of stdin. Throws a CommandError when one cannot be an order's. */
export async function orderIdsOf(context: CommandContext, given: readonly string[]): Promise<string[]> {
  const ids = given.includes('-') ? await idsOfStdin(context) : given;
  ids.forEach(refuseImpossibleId);
  if (ids.length > MOST_ORDERS)
    throw new CommandError(exitCodes.usage, `at most ${MOST_ORDERS} orders at once`);
  return [...ids];
}

async function idsOfStdin(context: CommandContext): Promise<string[]> {
  const interruption = context.interruption();
  try {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of context.openInput('-', interruption.signal)) {
      bytes += chunk.length;
      if (bytes > MOST_ORDERS * 130)
        throw new CommandError(exitCodes.usage, `at most ${MOST_ORDERS} orders at once`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks)
      .toString('utf8')
      .split(/\s+/)
      .filter((id) => id !== '');
  } finally {
    interruption.release();
  }
}

/** A cursor that is none, or another value that does not fit, is a matter of usage. */
export async function usageErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new CommandError(exitCodes.usage, error.message, { cause: error });
  }
}

/** Closes all of them, whatever becomes of the first ones. */
export async function closeAll(...parts: readonly ({ close(): Promise<void> } | undefined)[]): Promise<void> {
  await Promise.all(parts.filter((part) => part !== undefined).map((part) => part.close()));
}

export async function moneyOf({ parts }: CommandContext): Promise<MoneyParts> {
  if (parts.money === undefined) throw new Error('bug: a command without its part was added');
  return parts.money();
}
