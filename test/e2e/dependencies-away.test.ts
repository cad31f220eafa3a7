/** Database and broker are away, frozen or blocked, before and after the charge, and while a worker starts. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { connectionBlocked, connectionUnblocked } from '../support/amqp-frames.ts';
import { startAmqpProxy, startProxy } from '../support/tcp-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { cardauth, startProcess } from '../support/worker-process.ts';
import { startObserved } from './observed-worker.ts';
import { newOrderId, openStage, orderJson, type Stage } from './stage.ts';

/** One replay is all that these workers have; none is to be used up. */
const ENVIRONMENT = { CARDAUTH_MAX_ATTEMPTS: '1' };

describe('what the worker depends on is away', { concurrency: false }, () => {
  for (const how of ['stopped', 'frozen'] as const) {
    it(`the database is ${how} before the charge: no charge, then one`, async (t) => {
      const { stage, database } = await setUp(t);
      const worker = await startObserved(stage, { ...ENVIRONMENT, DATABASE_URL: database.url });
      await database[how]();
      const ids = Array.from({ length: 20 }, newOrderId);
      await stage.publish(...ids.map((id) => orderJson(id)));
      await worker.unready(/database: /, { timeoutMs: 30_000 });
      assert.deepEqual(await stage.gateway.requests(), []);

      await database.back();
      await allApproved(stage, ids);
      await worker.ready();
      await nothingParked(stage);
      await stage.endAndExpectEmptyQueue(worker.process);
    });

    it(`the database is ${how} after the charge: the result is kept and recorded, or found again by its key`, async (t) => {
      const { stage, database } = await setUp(t);
      const worker = await startObserved(stage, { ...ENVIRONMENT, DATABASE_URL: database.url });
      await stage.gateway.setFaults([{ fault: { kind: 'hold' }, times: 1 }]);
      const id = newOrderId();
      await stage.publish(orderJson(id));
      await waitFor('the charge', async () => (await stage.gateway.approvals(id)).length === 1);
      await database[how]();
      await stage.gateway.release();
      await worker.unready(/database: /, { timeoutMs: 30_000 });

      await database.back();
      await allApproved(stage, [id]);
      const requests = await stage.gateway.requests(id);
      assert.ok(requests.every(({ idempotencyKey }) => idempotencyKey === `order-${id}-1`));
      await worker.ready();
      await stage.endAndExpectEmptyQueue(worker.process);
    });
  }

  it('the broker takes no publications: the intake is held, and nothing is lost or used up', async (t) => {
    const stage = await openStage(t);
    const broker = await startAmqpProxy({ target: stage.broker.url });
    t.after(() => broker.close());
    const worker = await startObserved(stage, { ...ENVIRONMENT, AMQP_URL: broker.url });
    broker.inject('toClient', connectionBlocked('low on memory'));
    const reasons = await worker.unready(/notifications: .*low on memory/);
    assert.match(reasons, /retry and parked copies: .*low on memory/);
    const ids = Array.from({ length: 20 }, newOrderId);
    await stage.publish(...ids.map((id) => orderJson(id)));
    await worker.process.waitForLine('intake held');
    assert.deepEqual(await stage.gateway.requests(), []);

    broker.inject('toClient', connectionUnblocked());
    await allApproved(stage, ids);
    await worker.ready();
    await nothingParked(stage);
    await stage.endAndExpectEmptyQueue(worker.process);
  });

  it('starts while the database is away: says so, keeps trying, and is ready once it is back', async (t) => {
    const { stage, database } = await setUp(t);
    await database.stopped();
    const worker = await startObserved(stage, { ...ENVIRONMENT, DATABASE_URL: database.url }, 'started');
    await expectOrderDoneOnceBack(stage, worker, /database: /, () => database.back());
  });

  it('starts while the broker is away: says so, keeps trying, and is ready once it is back', async (t) => {
    const stage = await openStage(t);
    const broker = await startAmqpProxy({ target: stage.broker.url });
    t.after(() => broker.close());
    await broker.refuse();
    const worker = await startObserved(stage, { ...ENVIRONMENT, AMQP_URL: broker.url }, 'started');
    await expectOrderDoneOnceBack(stage, worker, /orders queue: /, () => broker.accept());
  });

  it('starts while the gateway is away: the first order finds out, and it is ready once it is back', async (t) => {
    const stage = await openStage(t);
    await stage.gateway.stop();
    const worker = await startObserved(stage, ENVIRONMENT, 'started');
    await expectOrderDoneOnceBack(stage, worker, /gateway: .*ECONNREFUSED/, () => stage.gateway.start());
  });

  it('does not start with a bad configuration: all problems at once, and exit code 78', async (t) => {
    const worker = startProcess({
      owner: t,
      args: [cardauth, 'worker'],
      env: {
        AMQP_URL: 'http://127.0.0.1',
        DATABASE_URL: 'nowhere',
        CARDAUTH_LEASE_MS: '10',
        CARDAUTH_NONSENSE: '1',
        CARDAUTH_FINGERPRINT_KEY: undefined,
      },
    });
    assert.deepEqual(await worker.exited, { code: 78, signal: null });
    const said = worker.lines.map(({ text }) => text).join('\n');
    const names = ['AMQP_URL', 'DATABASE_URL', 'LEASE_MS', 'NONSENSE', 'FINGERPRINT_KEY', 'GATEWAY_API_KEY'];
    for (const name of names) assert.ok(said.includes(name), `${name} in:\n${said}`);
  });
});

/** A stage, and a way to its database that can be closed and opened. */
async function setUp(t: TestContext) {
  const stage = await openStage(t);
  const proxy = await startProxy({ target: stage.databaseUrl });
  t.after(() => proxy.close());
  let back = (): Promise<void> | void => undefined;
  return {
    stage,
    database: {
      url: proxy.url,
      stopped: async () => {
        await proxy.refuse();
        proxy.cut();
        back = () => proxy.accept();
      },
      frozen: () => {
        proxy.freeze();
        back = () => {
          proxy.thaw();
        };
      },
      back: async () => {
        await back();
      },
    },
  };
}

async function expectOrderDoneOnceBack(
  stage: Stage,
  worker: Awaited<ReturnType<typeof startObserved>>,
  reason: RegExp,
  back: () => Promise<void>,
): Promise<void> {
  const id = newOrderId();
  await stage.publish(orderJson(id));
  await waitFor('the health server', () => worker.reasons().then(() => true));
  await worker.unready(reason);
  await back();
  await allApproved(stage, [id]);
  await worker.ready();
  await nothingParked(stage);
  await stage.endAndExpectEmptyQueue(worker.process);
}

async function allApproved(stage: Stage, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    assert.equal((await stage.announced(id, { timeoutMs: 60_000 })).status, 'ready-to-ship');
    assert.equal((await stage.gateway.approvals(id)).length, 1, `one approval of ${id}`);
  }
}

async function nothingParked(stage: Stage): Promise<void> {
  assert.equal((await stage.client.counts(`${stage.broker.prefix}.parked`))?.ready, 0);
  assert.deepEqual(await stage.parked.rest(), []);
}
