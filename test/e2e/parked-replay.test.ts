/** Operators replay parked orders beside running workers: whatever they do, and however often, a card is charged once. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { CompactEncrypt } from 'jose';
import { sharedKey } from '../jose/keys.ts';
import { waitFor } from '../support/wait-for.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import {
  auditOf,
  countOf,
  deadLetter,
  operator,
  park,
  REASON,
  recorded,
  type ParkedAs,
} from './parking-lot.ts';
import { freePort, newOrderId, openStage, orderJson, suiteOwner, type Stage } from './stage.ts';

const ENVIRONMENT = {
  CARDAUTH_CARD_KEY: JSON.stringify(sharedKey()),
  CARDAUTH_MAX_ATTEMPTS: '1',
  CARDAUTH_RETRY_LEVELS_MS: '300,1000',
};

describe('replays of parked orders', { concurrency: false }, () => {
  const owner = suiteOwner();
  let stage: Stage;
  let worker: WorkerProcess;
  let ops: ReturnType<typeof operator>;
  let total = 0;

  before(async () => {
    stage = await openStage(owner);
    worker = await stage.startWorker(ENVIRONMENT);
    ops = operator(stage, ENVIRONMENT);
  });

  const exhausted = (body: string): ParkedAs => ({
    body,
    reason: 'replays_exhausted',
    class: 'exhausted',
    error: 'the gateway was away',
  });

  /** Orders that no worker ever authorized, in the lot. */
  const unsent = async (count: number, change: Partial<ParkedAs> = {}): Promise<string[]> => {
    const ids = Array.from({ length: count }, () => newOrderId());
    await park(stage, ids.map((id) => ({ ...exhausted(orderJson(id)), ...change }))); // prettier-ignore
    total += count;
    await recorded(stage, total);
    return ids;
  };

  const parkIdOf = async (orderId: string): Promise<string> => {
    const [found, ...more] = await ops.list('--order', orderId);
    assert.ok(found !== undefined && more.length === 0, `order ${orderId} is parked once`);
    return found.parkId;
  };

  const chargedOnce = async (orderId: string): Promise<void> => {
    assert.equal((await stage.announced(orderId)).status, 'ready-to-ship');
    const approvals = await stage.gateway.approvals(orderId);
    assert.equal(approvals.length, 1, `order ${orderId} was charged ${approvals.length} times`);
  };

  it('says first what it comes to, then publishes the message as it was, and keeps who did it and why', async () => {
    const [orderId = ''] = await unsent(1);
    const parkId = await parkIdOf(orderId);
    const dry = await ops.replay(parkId);
    assert.deepEqual([dry.exitCode, dry.plan?.taken, dry.plan?.lines[0]?.replay], [5, 1, 'authorize']);
    assert.equal(await countOf(stage, `park_id = '${parkId}' and state = 'parked'`), 1);
    assert.equal((await ops.run('parked', 'replay', parkId, '--yes')).exitCode, 2, 'a reason is needed');

    const done = await ops.replay(parkId, ...REASON, '--yes', '--actor', 'anna');
    assert.deepEqual([done.exitCode, done.end, done.batch?.counts.published], [0, 'done', 1], done.stderr);
    assert.match(done.stderr, new RegExp(`^batch ${done.batch?.batchId ?? '?'}: 1 parked orders`));
    await chargedOnce(orderId);
    const [detail] = await ops.list('--order', orderId, '--state', 'any');
    assert.deepEqual([detail?.state, detail?.money.verdict], ['replayed', 'approved-announced']);
    const [entry] = (await auditOf(stage, 'parked replay')).filter(
      ({ subject }) => subject === `parked:${parkId}`,
    );
    assert.deepEqual(
      [entry?.actor, entry?.reason, entry?.before?.state, entry?.after['state'], entry?.after['as']],
      ['anna', 'a test', 'parked', 'replayed', 'authorize'],
    );
    const again = await ops.replay(parkId, ...REASON, '--yes');
    assert.deepEqual([again.exitCode, again.plan?.notParked], [1, [{ parkId, state: 'replayed' }]]);
  });

  it('charges once, though two operators replay the same orders at once', async () => {
    const ids = await unsent(60);
    const both = await Promise.all(
      [1, 2].map(() =>
        ops.replay('--with-reason', 'replays_exhausted', ...REASON, '--yes', '--rate', '500/s'),
      ),
    );
    const published = both.reduce((sum, { batch }) => sum + (batch?.counts.published ?? 0), 0);
    assert.equal(published, ids.length, JSON.stringify(both));
    for (const id of ids) await chargedOnce(id);
  });

  it('does the same command once, and goes on with it when it comes again', async () => {
    const [orderId = ''] = await unsent(1);
    const parkId = await parkIdOf(orderId);
    const commandId = ['--command-id', newOrderId()];
    const first = await ops.replay(parkId, ...REASON, '--yes', ...commandId);
    const second = await ops.replay(parkId, ...REASON, '--yes', ...commandId);
    assert.equal(second.batch?.batchId, first.batch?.batchId);
    assert.equal(second.batch?.counts.published, 1);
    await chargedOnce(orderId);
  });

  it('leaves an order alone that a worker has, and has nothing to do once it is announced', async () => {
    const orderId = newOrderId();
    await stage.gateway.setFaults([{ match: { orderId, nth: 1 }, fault: { kind: 'hold-before-charge' } }]);
    await stage.publish(orderJson(orderId));
    await waitFor('the worker to ask', async () => (await stage.gateway.requests(orderId)).length === 1);
    await deadLetter(stage, [orderJson(orderId)]);
    await recorded(stage, (total += 1));
    const parkId = await parkIdOf(orderId);
    const busy = await ops.replay(parkId, ...REASON, '--yes');
    assert.deepEqual([busy.exitCode, busy.plan?.lines[0]?.replay], [1, 'wait']);
    await stage.gateway.release();
    await chargedOnce(orderId);
    const dry = await ops.replay(parkId);
    assert.deepEqual([dry.exitCode, dry.plan?.lines[0]?.replay], [5, 'close']);
    const receipts = stage.receiptsOf(orderId).length;
    const closed = await ops.replay(parkId, ...REASON, '--yes');
    assert.deepEqual(
      [closed.exitCode, closed.batch?.counts.closed, closed.batch?.counts.published],
      [0, 1, 0],
    );
    await chargedOnce(orderId);
    assert.equal(stage.receiptsOf(orderId).length, receipts, 'it was announced again');
  });

  it('charges once when the worker takes the order up between the look and the publishing', async () => {
    const ids = await unsent(20);
    const racing = ops.replay('--with-reason', 'replays_exhausted', ...REASON, '--yes', '--rate', '200/s');
    await stage.publish(...ids.map((id) => orderJson(id)));
    const { exitCode, stderr } = await racing;
    assert.ok([0, 3].includes(exitCode), stderr);
    for (const id of ids) await chargedOnce(id);
  });

  it('sends the notification of an approved order, charges nothing, and has said so', async () => {
    const orderId = newOrderId();
    const exchange = `${stage.broker.prefix}.nobody`;
    await stage.client.declareExchange(exchange);
    worker.kill('SIGTERM');
    await worker.exited;
    const deaf = await stage.startWorker({ ...ENVIRONMENT, CARDAUTH_NOTIFICATIONS_EXCHANGE: exchange });
    await stage.publish(orderJson(orderId));
    await recorded(stage, (total += 1));
    deaf.kill('SIGTERM');
    await deaf.exited;
    await stage.client.deleteExchange(exchange);
    worker = await stage.startWorker(ENVIRONMENT);
    const requests = (await stage.gateway.requests(orderId)).length;
    const parkId = await parkIdOf(orderId);
    const refused = await ops.run('parked', 'discard', parkId, ...REASON, '--yes', '--json');
    assert.equal(refused.exitCode, 1);
    assert.match(refused.stdout, /money is held for its order, and nobody was told/);

    const text = await ops.run('parked', 'replay', parkId);
    assert.match(
      text.stdout,
      /announce +1 approved-unannounced +published: the notification is sent only, no new charge/,
    );
    const dry = await ops.replay(parkId);
    assert.equal(dry.plan?.lines[0]?.replay, 'announce');
    assert.equal(stage.receiptsOf(orderId).length, 0);
    assert.equal((await ops.replay(parkId, ...REASON, '--yes')).exitCode, 0);
    await chargedOnce(orderId);
    assert.equal((await stage.gateway.requests(orderId)).length, requests, 'the gateway was asked');
    await waitFor('the notification', () => stage.receiptsOf(orderId).length === 1);
  });

  it('says of an order in review that it would be parked again at once, and charges no old one', async () => {
    const orderId = newOrderId();
    await stage.gateway.setFaults([{ match: { orderId }, fault: { kind: 'wrong-amount' } }]);
    await stage.publish(orderJson(orderId));
    await recorded(stage, (total += 1));
    const review = await ops.replay(await parkIdOf(orderId), ...REASON, '--yes');
    assert.deepEqual([review.exitCode, review.plan?.lines[0]?.replay], [1, 'parks-again']);
    await stage.gateway.setFaults([]);

    const [old = ''] = await unsent(1, { seenAgoMs: 25 * 3_600_000 });
    const parkId = await parkIdOf(old);
    const refused = await ops.replay(parkId, ...REASON, '--yes');
    assert.deepEqual([refused.exitCode, refused.plan?.lines[0]?.replay], [1, 'too-old']);
    assert.equal((await ops.replay(parkId, ...REASON, '--yes', '--max-age', '2d')).exitCode, 0);
    await chargedOnce(old);
  });

  it('stops by itself when too many come back, and says why', async () => {
    const sealedForOthers = {
      creditCardNumber: undefined,
      creditCardExpiration: undefined,
      creditCardCode: undefined,
    };
    const ids = Array.from({ length: 40 }, () => newOrderId());
    const card = await new CompactEncrypt(Buffer.from('{}'))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .encrypt(randomBytes(32));
    await stage.publish(...ids.map((id) => orderJson(id, { ...sealedForOthers, card })));
    await recorded(stage, (total += ids.length));
    const unreadable = await countOf(stage, `reason = 'card_unreadable' and replayable`);
    assert.equal(unreadable, ids.length);
    const flags = ['--with-reason', 'card_unreadable', '--rate', '20/s', '--stop-after-failures', '3'];
    const stopped = await ops.replay(...flags, ...REASON, '--yes');
    assert.deepEqual([stopped.exitCode, stopped.end], [3, 'stopped'], stopped.stderr);
    assert.match(
      stopped.batch?.stoppedBecause ?? '',
      /^\d+ of the last 100 replayed orders were parked again$/,
    );
    const { counts, batchId = '' } = stopped.batch ?? {};
    assert.ok((counts?.waiting ?? 0) > 0, JSON.stringify(counts));

    const cancelled = await ops.replay('--batch', batchId, '--cancel', ...REASON);
    assert.equal(cancelled.batch?.counts.cancelled, counts?.waiting);
    assert.equal(await countOf(stage, `state = 'replaying'`), 0);
    const subjects = (await auditOf(stage, 'parked replay')).map(({ subject }) => subject);
    assert.equal(subjects.filter((subject) => subject === `batch:${batchId}`).length, 2);
    await waitFor('what was replayed to be parked again', async () => {
      return (await countOf(stage, `reason = 'card_unreadable'`)) === ids.length + (counts?.published ?? 0);
    });
    total += counts?.published ?? 0;
    const discard = ['parked', 'discard', '--with-reason', 'card_unreadable'];
    assert.equal((await ops.run(...discard)).exitCode, 5);
    const discarded = await ops.run(...discard, ...REASON, '--yes');
    assert.match(discarded.stdout, new RegExp(`^${ids.length} discarded, 0 refused\n$`));
    assert.equal((await auditOf(stage, 'parked discard')).length, ids.length);
  });

  it('needs the database only for everything but publishing, and goes on with a replay once the broker is back', async () => {
    const [orderId = '', other = ''] = await unsent(2);
    const away = operator(stage, { ...ENVIRONMENT, AMQP_URL: `amqp://127.0.0.1:${await freePort()}` });
    const parkId = await parkIdOf(orderId);
    assert.equal((await away.groups()).length > 0, true);
    assert.equal((await away.run('parked', 'show', parkId, '--json')).exitCode, 0);
    const exported = await away.run('parked', 'export', '--order', orderId, '--json');
    assert.match(exported.stdout, /"redactedBody":null/);
    assert.doesNotMatch(exported.stdout, /4242424242424242/);
    assert.equal(
      (await away.run('parked', 'discard', await parkIdOf(other), ...REASON, '--yes')).exitCode,
      0,
    );
    const failed = await away.run('parked', 'replay', parkId, ...REASON, '--yes');
    assert.equal(failed.exitCode, 69, failed.stderr);
    const [, batchId = ''] = /go on with it: cardauth parked replay --batch (\S+)/.exec(failed.stderr) ?? [];
    const resumed = await ops.replay('--batch', batchId);
    assert.deepEqual([resumed.exitCode, resumed.batch?.counts.published], [0, 1], resumed.stderr);
    await chargedOnce(orderId);
    assert.equal((await stage.gateway.approvals(other)).length, 0);
  });

  it('refuses a batch without its keys before anything is given up', async () => {
    const [orderId = ''] = await unsent(1);
    const keyless = operator(stage);
    const failed = await keyless.run('parked', 'replay', '--order', orderId, ...REASON, '--yes');
    assert.equal(failed.exitCode, 78, failed.stderr);
    assert.match(failed.stderr, /CARDAUTH_CARD_KEY/);
    const [waiting] = await ops.list('--order', orderId);
    assert.equal(waiting?.state, 'replaying');
    assert.equal((await ops.replay('--batch', waiting.batchId ?? '')).exitCode, 0);
    await chargedOnce(orderId);
  });

  it('publishes in order, with the identity of each and without what the worker put there', async () => {
    worker.kill('SIGTERM');
    await worker.exited;
    // Nothing authorizes while the lot is filled: a worker of another queue records it.
    const elsewhere = { ...ENVIRONMENT, CARDAUTH_ORDERS_QUEUE: `${stage.broker.ordersQueue}.other` };
    await stage.client.declareQueue(elsewhere.CARDAUTH_ORDERS_QUEUE);
    const recorder = await stage.startWorker(elsewhere);
    const ids = Array.from({ length: 300 }, () => newOrderId());
    const messageIds = await park(stage, ids.map((id) => exhausted(orderJson(id)))); // prettier-ignore
    await recorded(stage, (total += ids.length));
    const wrong = await operator(stage, elsewhere).replay('--all');
    const line = wrong.plan?.lines.find(({ count }) => count >= ids.length);
    assert.equal(line?.replay, 'wrong-queue');
    const flags = ['--with-reason', 'replays_exhausted', ...REASON, '--yes', '--rate', '5000'];
    const { batch, exitCode, stderr } = await ops.replay(...flags);
    assert.deepEqual([exitCode, batch?.counts.published], [0, ids.length], stderr);
    const published = await stage.client.takeAll(stage.broker.ordersQueue);
    assert.deepEqual(published.map(({ properties }) => properties.messageId as string), messageIds); // prettier-ignore
    assert.deepEqual(published.map(({ body }) => body.toString()), ids.map((id) => orderJson(id))); // prettier-ignore
    const names = Object.keys(published[0]?.headers ?? {}).filter((name) => name !== 'x-delivery-count');
    assert.deepEqual(names, ['trace']);
    recorder.kill('SIGTERM');
    await recorder.exited;
    await stage.client.deleteQueue(elsewhere.CARDAUTH_ORDERS_QUEUE);
  });
});
