/** What can befall the worker's process besides a kill: it stands still, breaks by itself, or nobody reads what it says. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { waitFor } from '../support/wait-for.ts';
import { cardauth, type Exit, type WorkerProcess } from '../support/worker-process.ts';
import { newOrderId, openStage, orderJson, type Environment, type Stage } from './stage.ts';

const sabotage = fileURLToPath(new URL('sabotage-process.js', import.meta.url));
const ORDERS = 30;
/** Short enough for what is frozen to outlast it. */
const SHORT_LEASE: Environment = {
  CARDAUTH_GATEWAY_TIMEOUT_MS: '1000',
  CARDAUTH_LEASE_MS: '3000',
  CARDAUTH_MESSAGE_TIMEOUT_MS: '4000',
  CARDAUTH_DRAIN_MS: '3000',
  CARDAUTH_MAX_ATTEMPTS: '50',
};

/** It would wait for minutes for what is in flight. */
const PATIENT: Environment = {
  CARDAUTH_GATEWAY_TIMEOUT_MS: '100000',
  CARDAUTH_LEASE_MS: '200000',
  CARDAUTH_MESSAGE_TIMEOUT_MS: '300000',
  CARDAUTH_DRAIN_MS: '200000',
};

describe("faults of the worker's process", { concurrency: false }, () => {
  for (const seconds of [2, 15]) {
    it(`the event loop is blocked for ${seconds} s: the worker goes on, every order is charged once`, async (t) => {
      const stage = await openStage(t);
      const worker = await stage.startWorker({ ...SHORT_LEASE, ...sabotaged(`block ${seconds * 1_000}`) });
      const ids = await underWay(stage);
      process.kill(worker.pid, 'SIGUSR2');
      await chargedOnce(stage, ids);
      await stage.endAndExpectEmptyQueue(worker);
    });
  }

  it('a listener throws: the worker ends with code 70, and the next one completes its orders', async (t) => {
    const stage = await openStage(t);
    const worker = await stage.startWorker(sabotaged('throw'));
    const ids = await underWay(stage);
    process.kill(worker.pid, 'SIGUSR2');
    assert.deepEqual(await worker.exited, { code: 70, signal: null });
    assert.ok(worker.lines.some(({ text }) => text.includes('a bug: the worker ends')));
    await completedByAnother(stage, ids);
  });

  it('memory runs out: the worker is aborted, and the next one completes its orders', async (t) => {
    const stage = await openStage(t);
    const worker = await stage.startWorker(sabotaged('exhaust', '--max-old-space-size=128'));
    const ids = await underWay(stage);
    process.kill(worker.pid, 'SIGUSR2');
    const { code, signal } = await worker.exited;
    assert.ok(signal === 'SIGABRT' || code === 134, `it ended with ${String(code ?? signal)}`);
    await completedByAnother(stage, ids);
  });

  it('nobody reads what it says any more: orders are completed, and it ends well', async (t) => {
    const stage = await openStage(t);
    const worker = await startUnheard(t, stage);
    const ids = await underWay(stage);
    worker.stopListening();
    await chargedOnce(stage, ids);
    const later = await underWay(stage);
    await chargedOnce(stage, later);
    process.kill(worker.pid, 'SIGTERM');
    assert.equal(await worker.exitCode, 0);
  });

  it('SIGTERM twice: it ends at once, says that an outcome is unknown, and nothing is charged again', async (t) => {
    const stage = await openStage(t);
    await stage.gateway.setFaults([{ fault: { kind: 'hold' }, times: 1 }]);
    const orderId = newOrderId();
    const worker = await stage.startWorker(PATIENT);
    await stage.publish(orderJson(orderId));
    await waitFor('the charge', async () => (await stage.gateway.approvals(orderId)).length === 1);
    worker.kill('SIGTERM');
    await worker.waitForLine('draining');
    worker.kill('SIGTERM');
    let exit: Exit | undefined;
    void worker.exited.then((seen) => (exit = seen));
    await waitFor('the worker to end, long before its request does', () => exit, { timeoutMs: 30_000 });
    assert.deepEqual(exit, { code: 143, signal: null });
    await completedByAnother(stage, [orderId]);
  });

  it('frozen past its lease while another takes over: both send the same key, one charge', async (t) => {
    const stage = await openStage(t);
    const orderId = newOrderId();
    await stage.gateway.setFaults([{ fault: { kind: 'hold-in-flight' }, times: 1 }]);
    const frozen = await stage.startWorker(SHORT_LEASE);
    await stage.publish(orderJson(orderId));
    await waitFor('the charge', async () => (await stage.gateway.requests(orderId)).length === 1);
    frozen.kill('SIGSTOP');
    // Its connection stays open as long as nobody misses a heartbeat: upstream's copy goes to the other one.
    const other = await stage.startWorker(SHORT_LEASE);
    await stage.publish(orderJson(orderId));
    await waitFor('the takeover', async () => (await stage.gateway.requests(orderId)).length > 1, {
      timeoutMs: 30_000,
    });
    await stage.gateway.release();
    frozen.kill('SIGCONT');
    await chargedOnce(stage, [orderId]);
    const charges = (await stage.gateway.requests(orderId)).filter(({ method }) => method === 'POST');
    const keys = charges.map(({ idempotencyKey }) => idempotencyKey);
    assert.deepEqual(new Set(keys), new Set([`order-${orderId}-1`]));
    for (const worker of [frozen, other]) {
      worker.kill('SIGTERM');
      assert.deepEqual(await worker.exited, { code: 0, signal: null });
    }
    assert.equal((await stage.client.counts(stage.broker.ordersQueue))?.ready, 0);
  });
});

function sabotaged(what: string, ...options: string[]): Environment {
  return { SABOTAGE: what, NODE_OPTIONS: [...options, `--import=${sabotage}`].join(' ') };
}

/** Orders of which some are at the gateway, some wait for their answers. */
async function underWay(stage: Stage): Promise<string[]> {
  const before = (await stage.gateway.requests()).length;
  await stage.gateway.setFaults([{ fault: { kind: 'delay', ms: 300 } }]);
  const ids = Array.from({ length: ORDERS }, newOrderId);
  await stage.publish(...ids.map((id) => orderJson(id)));
  await waitFor('charges in flight', async () => (await stage.gateway.requests()).length > before);
  return ids;
}

async function chargedOnce(stage: Stage, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    assert.equal((await stage.announced(id, { timeoutMs: 60_000 })).status, 'ready-to-ship');
    assert.equal((await stage.gateway.approvals(id)).length, 1);
  }
}

async function completedByAnother(stage: Stage, ids: readonly string[]): Promise<void> {
  const next = await stage.startWorker();
  await chargedOnce(stage, ids);
  await stage.endAndExpectEmptyQueue(next);
}

interface UnheardWorker extends Pick<WorkerProcess, 'pid'> {
  readonly exitCode: Promise<number | null>;
  stopListening(): void;
}

/** Whose stdout and stderr can be closed while it runs. */
async function startUnheard(t: TestContext, stage: Stage): Promise<UnheardWorker> {
  const child = spawn(process.execPath, [cardauth, 'worker'], {
    env: { PATH: process.env['PATH'], ...stage.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exitCode = new Promise<number | null>((resolve) => child.once('exit', resolve));
  t.after(async () => {
    child.kill('SIGKILL');
    await exitCode;
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await waitFor('the worker to be ready', () => said.includes('"ready"'), { timeoutMs: 20_000 });
  return {
    pid: child.pid ?? 0,
    exitCode,
    stopListening() {
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
}
