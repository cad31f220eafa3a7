/**
 * One run: set up, storm, heal, wait until nothing moves any more, end, and lay down the evidence. Nothing is judged
 * here: see checker.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Keeper } from '../support/private-services.ts';
import { waitFor } from '../support/wait-for.ts';
import { collectEvidence } from './collect.ts';
import { record } from './files.ts';
import { unleash } from './nemesis.ts';
import { freeOrphans } from './orphans.ts';
import type { Plan } from './plan.ts';
import { probe } from './probes.ts';
import { decidedIn, settle, type Run } from './settle.ts';
import { healGateway, ORDERS_QUEUE, RECEIPTS_QUEUE, setUp, WORK_QUEUES, type Stage } from './stage.ts';
import { openWireLog } from './wire-watch.ts';

export interface RunOptions {
  readonly keeper: Keeper;
  /** Of the private services. */
  readonly directory: string;
  /** Where the evidence goes; must be empty or not there. */
  readonly folder: string;
  readonly plan: Plan;
  /** Another `cardauth` than the real one. */
  readonly program?: string;
  readonly show: Run['show'];
}

const LOOK_EVERY_MS = 1_000;
const PATIENCE_MS = 60_000;
const MOST_ROUNDS = 5;
/** Lease and message timeout together: what is younger may be in flight, and is not compared. */
const COMPARED_AFTER_MS = 10_000;

/** Resolves to what must not be found in any evidence, by name. */
export async function runChaos(options: RunOptions): Promise<Stage['secrets']> {
  const { keeper, directory, folder, plan, program, show } = options;
  show({ doing: 'starting three broker nodes and a database', decided: 0, blows: 0 });
  const wire = openWireLog(folder);
  const stage = await setUp({ keeper, directory, folder, seed: plan.seed, program, wire });
  const flushing = setInterval(() => {
    wire.flush();
  }, 200);
  const pool = new pg.Pool({ connectionString: stage.database.url, max: 2 });
  pool.on('error', () => undefined);
  try {
    const run = { stage, plan, pool, show };
    await storm(run);
    // No faults any more; the nemesis has put up what it had knocked down.
    await healGateway(stage);
    let isSettled = await settle(run);
    if (await freeOrphans(stage)) isSettled = await settle(run);
    await finishOperations(run, { wasInVain: !isSettled });
    await probe(stage);
    await say(run, 'ending the workers');
    await finishLeftovers(stage);
    wire.flush();
    await endOutside(stage);
    await collectEvidence(stage, pool);
    return stage.secrets;
  } finally {
    clearInterval(flushing);
    for (const worker of stage.workers) await worker.close();
    await pool.end();
  }
}

async function storm({ plan, pool, show, stage }: Run): Promise<void> {
  for (const worker of stage.workers) worker.start();
  // Upstream's queue is there before upstream is.
  await waitFor('the orders queue', () => stage.cluster.messagesIn(ORDERS_QUEUE).then(() => true), {
    timeoutMs: PATIENCE_MS,
    intervalMs: 200,
  });
  const { orders, stormMs: overMs } = plan;
  const publisher = await stage.startPublisher({ orders, from: 0, overMs, someExpire: true });
  const nemesis = unleash(plan.blows, { ...stage, ordersQueue: ORDERS_QUEUE }, stage.folder);
  const storming = new AbortController();
  const watching = (async () => {
    while (!storming.signal.aborted) {
      show({ doing: 'storm', decided: await decidedIn(pool), blows: nemesis.done });
      await sleep(LOOK_EVERY_MS);
    }
  })();
  const [exit] = await Promise.all([publisher.exited, nemesis.over]);
  storming.abort();
  await watching;
  if (exit.code !== 0) throw new Error(`the publisher ended with ${JSON.stringify(exit)}`);
}

/** What is left in the lot is replayed; then the books are compared twice, the second time with nothing to do. */
async function finishOperations(run: Run, vain: { readonly wasInVain: boolean }): Promise<void> {
  const { operators } = run.stage;
  await say(run, 'operators replay what is left');
  await operators.clearLot();
  await settle(run, vain);
  await say(run, 'operators compare the books');
  await sleep(COMPARED_AFTER_MS);
  await operators.reconcile();
  await settle(run, vain);
  await operators.reconcile();
}

async function say({ plan, pool, show }: Run, doing: string): Promise<void> {
  show({ doing, decided: await decidedIn(pool), blows: plan.blows.length });
}

/**
 * Ends the workers in good order. An order that the resolver settled may have a message that still waits for its replay
 * and comes back when its worker ends: the next ones take it.
 */
async function finishLeftovers(stage: Stage): Promise<void> {
  for (const worker of stage.workers) await worker.endWell();
  for (let round = 0; round < MOST_ROUNDS && (await leftOn(stage)) > 0; round += 1) {
    for (const worker of stage.workers) worker.start();
    for (const worker of stage.workers) await worker.ready();
    const deadlineMs = performance.now() + PATIENCE_MS;
    while ((await leftOn(stage)) > 0 && performance.now() < deadlineMs) await sleep(LOOK_EVERY_MS);
    for (const worker of stage.workers) await worker.endWell();
  }
}

/** Downstream hears the rest; the gateway writes down what it was asked. */
async function endOutside(stage: Stage): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while ((await stage.cluster.messagesIn(RECEIPTS_QUEUE)) > 0 && performance.now() < deadlineMs) {
    await sleep(LOOK_EVERY_MS);
  }
  for (const { pid, exited } of [stage.receiver, stage.simulator]) {
    process.kill(pid, 'SIGTERM');
    await exited;
  }
  const queues = await stage.cluster.queues();
  record(stage.folder, 'queues', ...queues.map(({ name, messages }) => ({ name, messages })));
}

async function leftOn({ cluster }: Stage): Promise<number> {
  const queues = await cluster.queues();
  return queues
    .filter(({ name }) => WORK_QUEUES.includes(name))
    .reduce((sum, { messages }) => sum + messages, 0);
}
