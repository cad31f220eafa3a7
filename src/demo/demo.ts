/**
 * The main job on real services, with everything in it that goes wrong in a bad week: declines, hopeless cards,
 * upstream's mistakes, copies, lost replies, error pages, slow answers, and a worker that is killed in the middle. At
 * the end the books are made up from the gateway's ledger, the database and downstream's receipts.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { Secret } from '../domain/card.ts';
import { openOrderHistory, openOrderPublisher, openParkedOrders } from '../operations.ts';
import type { ParkedOrders } from '../ports/parked-orders.ts';
import { balance, type Evidence, type StoredRow } from './books.ts';
import { demoOrders, type DemoOrder } from './orders.ts';
import type { DemoProcess } from './processes.ts';
import { demoReport, progressShower } from './report.ts';
import { Sightings } from './sightings.ts';
import { setUpStage, type DemoStage } from './stage.ts';

export interface DemoOptions {
  readonly config: Pick<Config, 'broker' | 'database'>;
  readonly orders: number;
  readonly json: boolean;
  readonly keep: boolean;
}

/** Without any news for this long, what is missing counts as lost. */
const PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 100;
const LOOK_AT_PARKED_EVERY_MS = 300;
/** The demo takes its time: latency would only be waiting in line if all orders came at once. */
const PUBLISH_SECONDS = 10;
const SLICE_MS = 50;
const MOST_ROUNDS = 5;

/** Resolves with the exit code: 0 when the books balance, 1 when they do not, 130 after Ctrl-C. */
export async function runDemo({ config, orders: count, json, keep }: DemoOptions): Promise<number> {
  const orders = demoOrders(count);
  const sightings = new Sightings(orders);
  const ctrlC = listenForCtrlC();
  const stage = await setUpStage(config.broker.urls.reveal(), config.database.url.reveal(), sightings);
  try {
    const worker = await ctrlC.or(play(config, stage, orders, sightings));
    if (worker === 'interrupted') return 130;

    // In good order, so that whatever it still held is back on the queue and gets counted there.
    if (!keep) {
      await worker.end('SIGTERM');
      await finishLeftovers(stage);
    }
    const books = balance(await evidence(config, stage, orders, sightings));
    process.stdout.write(demoReport(books, sightings.timings(), json));
    if (keep) {
      process.stderr.write(`\nStill running until Ctrl-C, with logs and ledger in ${stage.folder}:\n`);
      for (const [name, value] of Object.entries(stage.environment))
        process.stderr.write(`  ${name}=${value}\n`);
      await ctrlC.or(new Promise(() => undefined));
      return 130;
    }
    return books.problems.length === 0 ? 0 : 1;
  } finally {
    await stage.strike();
    ctrlC.stopListening();
  }
}

/** Publishes everything, kills the worker in the middle, and waits until nothing is missing; the last worker. */
async function play(
  config: DemoOptions['config'],
  stage: DemoStage,
  orders: readonly DemoOrder[],
  sightings: Sightings,
): Promise<DemoProcess> {
  const total = sightings.missing;
  const show = progressShower(total);
  const worker = await stage.startWorker();
  const killInTheMiddle = async (): Promise<DemoProcess> => {
    await until(() => sightings.missing < total * 0.6, stage, sightings, 'authorizing', show, total);
    await worker.end('SIGKILL');
    show(total - sightings.missing, 'worker killed, starting another');
    return stage.startWorker();
  };
  void watchParked(config, stage, sightings);
  const [next] = await Promise.all([killInTheMiddle(), publish(config, stage, orders, sightings)]);
  await until(() => sightings.missing === 0, stage, sightings, 'authorizing after the kill', show, total);
  await nothingUnknown(stage, config, (open) => {
    show(total, `asking the gateway about ${open} without a verdict`);
  });
  return next;
}

/**
 * An order that the resolver settled may have a message that still waits for its replay, and comes back when its worker
 * ends: another worker takes it, announces once more and acks it.
 */
async function finishLeftovers(stage: DemoStage): Promise<void> {
  for (let round = 0; round < MOST_ROUNDS && (await stage.observer.messagesLeft()) > 0; round += 1) {
    const worker = await stage.startWorker();
    const deadlineMs = performance.now() + PATIENCE_MS;
    while ((await stage.observer.messagesLeft()) > 0 && performance.now() < deadlineMs)
      await stageSleep(stage);
    await worker.end('SIGTERM');
  }
}

/** A parked order may still get its verdict: the resolver goes on asking the gateway. */
async function nothingUnknown(
  stage: DemoStage,
  config: DemoOptions['config'],
  show: (open: number) => void,
): Promise<void> {
  const history = openOrderHistory(databaseOf(stage, config));
  const deadlineMs = performance.now() + PATIENCE_MS;
  try {
    while (performance.now() < deadlineMs) {
      const counts = await history.countsByStatus();
      const unannounced = await history.countDecidedUnnotified();
      const open = counts.received + counts.authorizing + counts['authorization-unknown'] + unannounced;
      if (open === 0) return;
      show(open);
      await stageSleep(stage);
    }
  } finally {
    await history.close();
  }
}

/** Rejects as soon as the stage is struck, so that nothing goes on behind a Ctrl-C. */
function stageSleep({ gone }: DemoStage): Promise<void> {
  return sleep(LOOK_EVERY_MS, undefined, { signal: gone });
}

/** Looks for parked orders, where an operator does, until the stage is struck. */
async function watchParked(
  config: DemoOptions['config'],
  stage: DemoStage,
  sightings: Sightings,
): Promise<void> {
  const parked = openParkedOrders(databaseOf(stage, config));
  while (!stage.gone.aborted) {
    // Not seen this time: when it stays like that, the books say so.
    await seeParked(parked, sightings).catch(() => undefined);
    await sleep(LOOK_AT_PARKED_EVERY_MS, undefined, { signal: stage.gone }).catch(() => undefined);
  }
  await parked.close();
}

async function seeParked(parked: ParkedOrders, sightings: Sightings): Promise<void> {
  for await (const order of parked.list()) sightings.onParked(order);
}

async function until(
  condition: () => boolean,
  stage: DemoStage,
  sightings: Sightings,
  doing: string,
  show: (done: number, doing: string) => void,
  total: number,
): Promise<void> {
  while (!condition() && performance.now() - sightings.lastNewsMs < PATIENCE_MS) {
    show(total - sightings.missing, doing);
    await stageSleep(stage);
  }
  show(
    total - sightings.missing,
    condition() ? `${doing}: done` : `${doing}: no news for ${PATIENCE_MS / 1_000} s`,
  );
}

async function publish(
  config: DemoOptions['config'],
  stage: DemoStage,
  orders: readonly DemoOrder[],
  sightings: Sightings,
): Promise<void> {
  const publisher = await openOrderPublisher({
    broker: { ...config.broker, ordersQueue: stage.ordersQueue },
  });
  const sliceLength = Math.max(1, Math.ceil((orders.length * SLICE_MS) / (PUBLISH_SECONDS * 1_000)));
  try {
    for (let from = 0; from < orders.length && !stage.gone.aborted; from += sliceLength) {
      const pause = sleep(SLICE_MS);
      await Promise.all(
        orders.slice(from, from + sliceLength).map(async (order) => {
          await publisher.publish({ body: Buffer.from(order.body), messageId: order.messageId });
          sightings.published(order);
        }),
      );
      await pause;
    }
  } finally {
    await publisher.close();
  }
}

async function evidence(
  config: DemoOptions['config'],
  stage: DemoStage,
  orders: readonly DemoOrder[],
  sightings: Sightings,
): Promise<Evidence> {
  const parkedOrders = openParkedOrders(databaseOf(stage, config));
  await seeParked(parkedOrders, sightings).finally(() => parkedOrders.close());
  const { parked, receipts } = sightings;
  return {
    published: orders,
    approvals: approvalsIn(stage.ledgerFile),
    orders: await storedRows(databaseOf(stage, config)),
    receipts,
    parked,
    leftOnQueues: await stage.observer.messagesLeft(),
  };
}

function databaseOf(stage: DemoStage, config: DemoOptions['config']): DemoOptions['config'] {
  return { ...config, database: { url: new Secret(stage.environment['DATABASE_URL'] ?? '') } };
}

function approvalsIn(ledgerFile: string): Evidence['approvals'][number][] {
  const lines = readFileSync(ledgerFile, 'utf8').split('\n').slice(0, -1);
  const entries = lines.map((line) => JSON.parse(line) as Evidence['approvals'][number] & { kind: string });
  return entries.filter(({ kind }) => kind === 'approval');
}

async function storedRows(config: Pick<Config, 'database'>): Promise<StoredRow[]> {
  const history = openOrderHistory(config);
  try {
    const rows: StoredRow[] = [];
    for await (const order of history.list())
      rows.push({ ...order, notified: order.notifiedAtMs !== undefined });
    return rows;
  } finally {
    await history.close();
  }
}

function listenForCtrlC() {
  let hear: (heard: 'interrupted') => void;
  const heard = new Promise<'interrupted'>((resolve) => (hear = resolve));
  const listener = (): void => {
    hear('interrupted');
  };
  process.on('SIGINT', listener);
  process.on('SIGTERM', listener);
  return {
    or: <T>(work: Promise<T>): Promise<T | 'interrupted'> => Promise.race([work, heard]),
    stopListening: () => {
      process.off('SIGINT', listener);
      process.off('SIGTERM', listener);
    },
  };
}
