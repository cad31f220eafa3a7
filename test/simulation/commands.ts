/** What each kind of command does: the flow of the command line's, with what it prints left out. */
import type { OperatorCommand } from '../../src/domain/audit.ts';
import { attendBatch } from '../../src/ops/parked/attend-batch.ts';
import type { BatchEnd } from '../../src/ops/parked/run-batch.ts';
import { planReplay } from '../../src/ops/parked/plan-replay.ts';
import { reconcile, type Reconciliation } from '../../src/ops/reconcile/run.ts';
import { reopenOrder } from '../../src/ops/reopen-order.ts';
import { resendNotification } from '../../src/ops/resend-notifications.ts';
import { askNow, settle, type Settlement } from '../../src/ops/resolve-unknown.ts';
import type { OperatedOrder } from '../../src/ops/operated-order.ts';
import type { OrderStatus } from '../../src/domain/order-states.ts';
import type { ReplayBatch } from '../../src/ports/replay-batches.ts';
import type { Clock } from '../../src/topology/clock.ts';
import { START_WALL_MS } from './machine.ts';
import type { OperatorOutside } from './operator-ports.ts';
import { unsealed } from './recorder.ts';
import type { RunParts } from './run-parts.ts';
import { NAMES } from './worker.ts';

export interface CommandRun extends OperatorOutside {
  readonly run: RunParts;
  readonly clock: Clock;
  /** Chance, where a command has a choice. */
  readonly nth: number;
  readonly newId: () => string;
  readonly command: (action: string) => OperatorCommand;
  readonly publishAgain: (orderId: string) => void;
  readonly came: (to: string) => void;
}

export type CommandKind = keyof typeof COMMANDS;

export const COMMANDS = {
  replay: async (on) => {
    await replay(on);
  },
  'replay-twice': async (on) => {
    const first = await replay(on);
    if (first?.end !== 'done') return;
    const { replays } = on.run;
    const published = replays.totalOf(first.batchId);
    const second = await replay(on);
    if (second?.batchId !== first.batchId || replays.totalOf(first.batchId) > published)
      on.run.violated('I17', 'a replay that was done has done something when it was repeated');
  },
  /** Somebody takes up the replay that another command has left. */
  'go on': goOn,
  resolve: (on) =>
    eachOrder(on, ['authorizing', 'authorization-unknown', 'review'], (orderId) =>
      askNow(resolveParts(on), orderId, on.command('unknown resolve')),
    ),
  settle: (on) =>
    eachOrder(on, ['authorization-unknown', 'review'], (orderId) =>
      settle(resolveParts(on), orderId, evidenceOf(on, orderId), on.command('unknown resolve')),
    ),
  reopen: (on) =>
    eachOrder(on, ['denied', 'review'], async (orderId) => {
      const reopened = await reopenOrder(on, orderId, on.nth % 2 === 0, on.command('orders reopen'));
      if (reopened.result === 'done' || reopened.result === 'repeated') on.publishAgain(orderId);
      return reopened;
    }),
  resend: async (on) => {
    const notifier = await on.openNotifier();
    await eachOrder(on, ['ready-to-ship', 'denied'], (orderId) =>
      resendNotification({ book: on.book, notifier }, orderId, on.command('notifications resend')),
    );
  },
  reconcile: async (on) => {
    await reconciled(on, SETTLED_AFTER_MS);
  },
  'last reconcile': async (on) => {
    await reconciled(on, QUIET_MS);
  },
} satisfies Readonly<Record<string, (on: CommandRun) => Promise<void>>>;

/** As the command line takes it: longer than any order is in flight. */
const SETTLED_AFTER_MS = 55_000;
const QUIET_MS = 1_000;
const DAY_MS = 86_400_000;

// --- replays -----------------------------------------------------------------------------------------------------

/** undefined: there was nothing to take. */
async function replay(
  on: CommandRun,
): Promise<{ readonly batchId: string; readonly end: BatchEnd } | undefined> {
  const terms = { queue: NAMES.orders, maxAgeMs: DAY_MS };
  const { taken, view } = await planReplay(on.search, { states: ['parked'] }, terms);
  for (const { count, replay: action } of view.lines) if (count > 0) on.came(`would ${action}`);
  const batch = { ...terms, batchId: on.newId(), messagesPerSecond: 50, stopAfterFailures: 20 };
  const opened = await on.batches.open(batch, taken, on.command('parked replay'));
  if (opened === undefined) return undefined;
  return { batchId: opened.batch.batchId, end: await attend(on, opened.batch) };
}

async function goOn(on: CommandRun): Promise<void> {
  const { commandId } = on.command('parked replay');
  for (const { batchId, commandId: of } of on.run.database.parked.batches.values()) {
    const batch = of === commandId ? await on.batches.show(batchId) : undefined;
    if (batch !== undefined) await attend(on, batch);
  }
}

async function attend(on: CommandRun, batch: ReplayBatch): Promise<BatchEnd> {
  const { batches, clock, openBroker, run, search } = on;
  const end = await attendBatch(batch, {
    batches,
    search,
    openBroker: async () => run.replays.watched(await openBroker(), batch),
    openBody: unsealed,
    clock,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    onWatch: () => undefined,
  });
  for (const { state } of run.database.parked.batches.get(batch.batchId)?.members ?? []) on.came(state);
  return end;
}

// --- orders ------------------------------------------------------------------------------------------------------

/** Of these statuses, as a list shows them. */
async function eachOrder(
  { came, run }: CommandRun,
  statuses: readonly OrderStatus[],
  operateOn: (orderId: string) => Promise<OperatedOrder>,
): Promise<void> {
  const listed = [...run.database.tables.orders.values()].filter(({ status }) => statuses.includes(status));
  for (const { order_id: orderId } of listed) came((await operateOn(orderId)).result);
}

function resolveParts({ book, clock, gateway }: CommandRun) {
  return { book, gateway, nowMs: () => clock.wallMs() };
}

/** What the operator has seen in the gateway's own console. */
function evidenceOf({ nth, run }: CommandRun, orderId: string): Settlement {
  const order = run.database.tables.orders.get(orderId);
  const isOffline = nth % 2 === 0;
  const hold = run.gateway
    .holdsOf(orderId)
    .find(
      ({ amountMinor, currency, isPartial, voidedAtMs }) =>
        voidedAtMs === undefined &&
        !isPartial &&
        String(amountMinor) === order?.amount_minor &&
        currency === order.currency,
    );
  return hold === undefined
    ? { as: 'declined', isOffline }
    : { as: 'approved', reference: hold.reference, isOffline };
}

// --- the books ---------------------------------------------------------------------------------------------------

async function reconciled(on: CommandRun, settledAfterMs: number): Promise<Reconciliation> {
  const { book, clock, gateway, holds, reconciliation } = on;
  const nowMs = () => clock.wallMs();
  const result = await reconcile(
    { holds, book: reconciliation, nowMs },
    {
      runId: on.newId(),
      range: { fromMs: START_WALL_MS - DAY_MS, toMs: START_WALL_MS + DAY_MS },
      settledAfterMs,
      fix: { parts: { book, gateway }, command: on.command('reconcile') },
    },
  );
  for (const { settled } of result.differences) on.came(settled === null ? 'left' : 'tried');
  if (result.settled > 0) on.came('settled');
  return result;
}
