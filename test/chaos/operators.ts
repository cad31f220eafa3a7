/**
 * Operators at work in the storm, each command a process of its own. They replay what the broker dead-lettered (see
 * expiring.ts), ask the gateway about orders without a verdict, announce again, pause and resume. A command that finds a
 * service away is typed again under the same id, as people do.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReplayResult } from '../../src/ops/parked/batch-view.ts';
import type { Reconciliation } from '../../src/ops/reconcile/run.ts';
import { waitFor } from '../support/wait-for.ts';
import type { OperatorsAct } from './blows.ts';
import { EXPIRED_REASON } from './expiring.ts';
import type { OperatorCli, OperatorCommand } from './operator-cli.ts';

export interface Operators {
  /** Rejects when it could not be carried out. */
  act(act: OperatorsAct): Promise<void>;
  /** Replays until nothing that can be replayed is parked. */
  clearLot(): Promise<void>;
  /** Compares with the gateway's list, and settles what is certain. */
  reconcile(): Promise<Reconciliation>;
}

const REASON = ['--reason', 'a storm'];
const LOT = ['--with-reason', EXPIRED_REASON];
const [DONE, FAILED, PARTLY, DRY_RUN] = [0, 1, 3, 5];
/** Some may be left: a worker is at them, or another replay took them first. */
const REPLAYED = [DONE, FAILED, PARTLY];
const LOOK_EVERY_MS = 1_000;
const PATIENCE_MS = 60_000;
const MOST_AT_ONCE = 20;

export function operatorsWith(cli: OperatorCli): Operators {
  const act = async (one: OperatorsAct): Promise<void> => {
    switch (one.kind) {
      case 'replay killed':
        return killReplay(cli);
      case 'lot replayed':
        return replayAgain(cli);
      case 'lot replayed by two':
        await untilParked(cli, 2);
        await Promise.all([replayLot(cli, '20/s'), replayLot(cli, '20/s')]);
        return;
      case 'unknowns resolved':
        return resolveUnknowns(cli);
      case 'announcements resent':
        return announceAgain(cli);
      case 'intake paused':
        return pause(cli, one.forMs);
    }
  };
  return { act, clearLot: () => clearLot(cli), reconcile: () => reconcile(cli) };
}

// --- the parking lot ---------------------------------------------------------------------------------------------

/** Half way through, then taken up again by its id. */
async function killReplay(cli: OperatorCli): Promise<void> {
  await untilParked(cli, 3);
  const args = replayArgs('1/s');
  const killed = await cli.run(args, {
    killAfter: async (said) => {
      await waitFor('the replay to begin', () => said().includes('batch '), { timeoutMs: PATIENCE_MS });
      await sleep(LOOK_EVERY_MS / 2);
    },
  });
  const batchId = /batch ([0-9a-f-]{36})/.exec(killed.said ?? '')?.[1];
  if (batchId !== undefined) await cli.insist(['parked', 'replay', '--batch', batchId], REPLAYED);
}

/** First to see what it comes to, then in earnest, then the same command once more. */
async function replayAgain(cli: OperatorCli): Promise<void> {
  await untilParked(cli, 1);
  const args = replayArgs('50/s');
  await cli.insist(args, REPLAYED);
  await cli.insist(args, REPLAYED);
}

function replayLot(cli: OperatorCli, rate: string): Promise<OperatorCommand> {
  return cli.insist(replayArgs(rate), REPLAYED);
}

function replayArgs(rate: string): string[] {
  return ['parked', 'replay', ...LOT, '--rate', rate, '--yes', ...REASON, '--command-id', randomUUID()];
}

/** A dry run. */
async function look(cli: OperatorCli): Promise<{ readonly taken: number; readonly waiting: number }> {
  const { printed } = await cli.insist(['parked', 'replay', ...LOT], [...REPLAYED, DRY_RUN]);
  const { plan } = printed.at(-1) as ReplayResult;
  const waiting = plan?.lines.filter(({ replay }) => replay === 'wait') ?? [];
  return { taken: plan?.taken ?? 0, waiting: waiting.reduce((sum, { count }) => sum + count, 0) };
}

/** For a while: what arrives late is replayed in the end. */
async function untilParked(cli: OperatorCli, count: number): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS / 2;
  while ((await look(cli)).taken < count && performance.now() < deadlineMs) await sleep(LOOK_EVERY_MS);
}

async function clearLot(cli: OperatorCli): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (performance.now() < deadlineMs) {
    const { taken, waiting } = await look(cli);
    if (taken > 0) await replayLot(cli, '200/s');
    else if (waiting === 0) return;
    await sleep(LOOK_EVERY_MS);
  }
}

// --- unfinished orders -------------------------------------------------------------------------------------------

async function resolveUnknowns(cli: OperatorCli): Promise<void> {
  const listed = await cli.insist(['unknown', 'list', '--limit', String(MOST_AT_ONCE)]);
  const ids = orderIdsIn(listed);
  if (ids.length === 0) return;
  await cli.insist(
    ['unknown', 'resolve', ...ids, '--yes', ...REASON, '--command-id', randomUUID()],
    [DONE, FAILED, PARTLY],
  );
}

/** What nobody announced yet, and some that downstream knows already. */
async function announceAgain(cli: OperatorCli): Promise<void> {
  const resend = ['notifications', 'resend', '--yes', ...REASON];
  const listed = await cli.insist(['orders', 'list', '--status', 'ready-to-ship,denied', '--limit', '5']);
  const ids = orderIdsIn(listed);
  const wanted = [DONE, FAILED, PARTLY];
  if (ids.length > 0) await cli.insist([...resend, ...ids, '--command-id', randomUUID()], wanted);
  await cli.insist([...resend, '--unannounced', '--command-id', randomUUID()], wanted);
}

function orderIdsIn({ printed }: OperatorCommand): string[] {
  const { orders } = printed.at(-1) as { readonly orders: readonly { readonly orderId: string }[] };
  return orders.map(({ orderId }) => orderId);
}

// --- all of it ---------------------------------------------------------------------------------------------------

async function pause(cli: OperatorCli, forMs: number): Promise<void> {
  await cli.insist(['pause', ...REASON, '--command-id', randomUUID()]);
  await sleep(forMs);
  await cli.insist(['resume', ...REASON, '--command-id', randomUUID()]);
}

async function reconcile(cli: OperatorCli): Promise<Reconciliation> {
  const args = ['reconcile', '--fix', '--yes', ...REASON, '--command-id', randomUUID()];
  const { printed } = await cli.insist(args, [DONE, FAILED, PARTLY]);
  return printed.at(-1) as Reconciliation;
}
