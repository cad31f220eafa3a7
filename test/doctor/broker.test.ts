import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import {
  declareLevelQueues,
  declareNotificationExchange,
  declareOrdersQueue,
  type Declaring,
} from '../../src/adapters/rabbitmq/declare.ts';
import { parseAmqpUrls } from '../../src/adapters/rabbitmq/endpoint.ts';
import {
  brokerExamination,
  type BrokerExaminationOptions,
} from '../../src/adapters/rabbitmq/examination/examine-broker.ts';
import { leastPermissions } from '../../src/adapters/rabbitmq/least-permissions.ts';
import type { Finding, FindingStatus } from '../../src/ports/examination.ts';
import { seededRandom } from '../../src/topology/random.ts';
import { systemClock } from '../../src/topology/system-clock.ts';
import { connectBroker, type BrokerClient } from '../support/broker-client.ts';
import { canStartBroker, startBroker, type PrivateBroker } from '../support/private-broker.ts';
import { waitFor } from '../support/wait-for.ts';
import { realConnection, silentLog } from '../rabbitmq/scene.ts';

const means = { clock: systemClock, random: seededRandom(9), log: silentLog };
const names = { prefix: 'own', ordersQueue: 'shop.orders', exchange: 'shop.processed' };
const { prefix, ordersQueue: queue, exchange } = names;
const levelsMs = [1_000, 5_000];
const quorum = { 'x-queue-type': 'quorum' };

describe('doctor at a broker', { skip: !(await canStartBroker()) }, () => {
  let broker: PrivateBroker;
  let client: BrokerClient;

  before(async () => {
    broker = await startBroker();
    // Quorum queues tell the management API of themselves with each tick; five seconds by default.
    await broker.rabbitmqctl('eval', 'application:set_env(rabbit, quorum_tick_interval, 500).');
    client = await connectBroker(broker.url);
  });
  after(async () => {
    await client.close();
    await broker.stop();
  });
  afterEach(async () => {
    const own = [`${prefix}.parked`, ...levelsMs.map((ms) => `${prefix}.retry.${queue}.${ms}`)];
    for (const name of [queue, 'receipts', ...own]) await client.deleteQueue(name);
    for (const name of [exchange, `${prefix}.dlx`]) await client.deleteExchange(name);
  });

  async function examined(change: Partial<BrokerExaminationOptions> = {}): Promise<readonly Finding[]> {
    return brokerExamination({
      ...means,
      ...names,
      endpoints: parseAmqpUrls(broker.url),
      managementUrl: broker.managementUrl,
      mode: 'passive',
      levelsMs,
      routingKeys: ['order.ready-to-ship', 'order.denied'],
      messageTimeoutMs: 30_000,
      prefetch: 625,
      ...change,
    }).examine();
  }

  async function withLink(use: (on: Declaring) => Promise<void>): Promise<void> {
    const connection = realConnection('publish', broker.url);
    connection.start();
    try {
      const link = await waitFor('a link', () => connection.link);
      await use({ ...means, link });
    } finally {
      await connection.close();
    }
  }

  /** Everything as a worker in mode `assert` leaves it, with somebody downstream. */
  async function setUp(): Promise<void> {
    await withLink(async (on) => {
      await declareOrdersQueue(on, { queue, prefix, mode: 'assert' });
      await declareNotificationExchange(on, { exchange, mode: 'assert' });
      await declareLevelQueues(on, { prefix, ordersQueue: queue, levelsMs });
    });
    await client.declareQueue('receipts');
    await client.bind('receipts', exchange, 'order.*');
  }

  it('finds nothing wrong with what the worker declares for itself', async () => {
    await setUp();
    const findings = await examined({ mode: 'assert' });
    const bad = findings.filter(({ status }) => status === 'error' || status === 'warning');
    assert.deepEqual(
      bad.map(({ check, what }) => [check, what]),
      [['orders-queue.exists', `nobody consumes queue ${queue}: 0 message(s) ready, 0 consumer(s)`]],
    );
    for (const check of [
      ...['broker.host', 'broker.version', 'broker.heartbeat', 'broker.frame-max', 'broker.permissions'],
      ...['broker.publishing', 'broker.management', 'broker.alarms', 'orders-queue.arguments'],
      ...['orders-queue.type', 'orders-queue.dead-letters', 'orders-queue.delivery-limit'],
      ...['orders-queue.replicas', 'parked-queue.exists', 'parked-queue.arguments'],
      ...['delay-queues.arguments', 'notifications.exchange', 'notifications.bindings'],
    ]) {
      assert.equal(statusOf(findings, check), 'ok', check);
    }
    assert.equal(statusOf(findings, 'orders-queue.consumer-timeout'), 'skipped');
  });

  it('takes, changes and announces nothing', async () => {
    await setUp();
    for (const id of [1, 2, 3]) await client.publish({ routingKey: queue, body: { id } });
    const heard = await client.collect(exchange);
    const before = await snapshot();
    await examined({ mode: 'assert' });
    assert.deepEqual(await snapshot(), before);
    assert.deepEqual(heard, []);
    assert.equal((await client.counts(queue))?.ready, 3);
    const first = await client.take(queue);
    assert.deepEqual([first?.redelivered, first?.headers['x-delivery-count'] ?? 0], [false, 0]);
  });

  /** Queues, exchanges, bindings and all else that is defined. */
  async function snapshot(): Promise<unknown> {
    const defined = (await broker.api('GET', 'definitions')) as Readonly<Record<string, unknown>>;
    const sorted = (value: unknown) =>
      Array.isArray(value) ? value.map((one) => JSON.stringify(one)).sort() : value;
    return Object.fromEntries(Object.entries(defined).map(([name, value]) => [name, sorted(value)]));
  }

  it('skips what needs the management API without it, and says so where it refuses', async () => {
    await setUp();
    const without = await examined({ managementUrl: undefined });
    for (const check of ['orders-queue.type', 'orders-queue.delivery-limit', 'broker.alarms']) {
      assert.equal(statusOf(without, check), 'skipped', check);
      assert.match(whatOf(without, check), /needs the management API/);
    }
    assert.equal(statusOf(without, 'orders-queue.exists'), 'warning');
    for (const managementUrl of ['http://127.0.0.1:1', broker.url.replace(/^amqp:.*@/, 'http://')]) {
      const findings = await examined({ managementUrl });
      assert.equal(statusOf(findings, 'broker.management'), 'error');
      assert.equal(statusOf(findings, 'orders-queue.type'), 'skipped');
    }
  });

  it('says that a limit of 3 is unsafe, with or without dead letters', async () => {
    await setUp();
    await client.deleteQueue(queue);
    await client.declareQueue(queue, {
      ...quorum,
      'x-delivery-limit': 3,
      'x-dead-letter-exchange': `${prefix}.dlx`,
    });
    const findings = await examined({ prefetch: 50 });
    assert.equal(statusOf(findings, 'orders-queue.delivery-limit'), 'error');
    assert.match(
      whatOf(findings, 'orders-queue.delivery-limit'),
      /unsafe: .* is 3: 3 crashes or restarts .* dead-letters up to 50 good orders/,
    );
    assert.equal(statusOf(findings, 'orders-queue.dead-letters'), 'warning');
    assert.match(
      whatOf(findings, 'orders-queue.dead-letters'),
      /own\.dlx, and from there to queue own\.parked/,
    );
  });

  it('sees a limit, TTL and length that come by policy', async () => {
    await setUp();
    const policy = {
      'delivery-limit': 20,
      'message-ttl': 1_000,
      'max-length': 5,
      'dead-letter-exchange': 'gone',
    };
    await client.deleteQueue(queue);
    await client.declareQueue(queue);
    await broker.api('PUT', 'policies/%2F/p', { pattern: '^shop\\.orders$', definition: policy });
    try {
      const findings = await waitFor('the policy to take effect', async () => {
        const seen = await examined();
        return statusOf(seen, 'orders-queue.dead-letters') === 'error' ? seen : undefined;
      });
      assert.match(
        whatOf(findings, 'orders-queue.dead-letters'),
        /into nothing: exchange gone does not exist/,
      );
      assert.match(whatOf(findings, 'orders-queue.delivery-limit'), /unsafe: .* is 20: .* drops up to 625/);
      const limits = findings.filter(({ check }) => check === 'orders-queue.limits');
      assert.deepEqual(
        limits.map(({ status }) => status),
        ['error', 'error'],
      );
    } finally {
      await broker.api('DELETE', 'policies/%2F/p');
    }
  });

  it('knows classic queues and streams, and what is missing', async () => {
    await client.declareExchange(exchange, 'direct');
    await client.declareQueue(queue, {});
    const classic = await examined();
    assert.equal(statusOf(classic, 'orders-queue.type'), 'warning');
    assert.match(whatOf(classic, 'orders-queue.type'), /classic queue, on one node only/);
    assert.equal(statusOf(classic, 'orders-queue.dead-letters'), 'warning');
    assert.equal(statusOf(classic, 'notifications.bindings'), 'error');
    assert.equal(statusOf(classic, 'parked-queue.exists'), 'skipped');
    assert.equal(statusOf(classic, 'delay-queues.arguments'), 'skipped');

    await client.deleteQueue(queue);
    await client.declareQueue(queue, { 'x-queue-type': 'stream' });
    const stream = await examined({ managementUrl: undefined });
    assert.equal(statusOf(stream, 'orders-queue.exists'), 'error');
    assert.match(whatOf(stream, 'orders-queue.exists'), /is a stream/);

    await client.deleteQueue(queue);
    await client.deleteExchange(exchange);
    const nothing = await examined();
    assert.equal(statusOf(nothing, 'orders-queue.exists'), 'error');
    assert.equal(statusOf(nothing, 'notifications.exchange'), 'error');
    const toBeCreated = await examined({ mode: 'assert' });
    assert.equal(statusOf(toBeCreated, 'orders-queue.exists'), 'warning');
  });

  it('names the first difference of what is ours', async () => {
    await setUp();
    await client.deleteQueue(`${prefix}.retry.${queue}.1000`);
    await client.declareQueue(`${prefix}.retry.${queue}.1000`, { ...quorum, 'x-message-ttl': 7 });
    await client.deleteQueue(`${prefix}.parked`);
    await client.declareQueue(`${prefix}.parked`, {});
    await client.publish({ routingKey: `${prefix}.parked`, body: {} });
    const findings = await examined();
    assert.match(
      whatOf(findings, 'delay-queues.arguments'),
      /is '7' there, ours would be '1000'|is none there/,
    );
    assert.equal(statusOf(findings, 'parked-queue.arguments'), 'error');
    assert.match(whatOf(findings, 'parked-queue.exists'), /1 parked message\(s\) wait .* nobody takes them/);
  });

  it('lists all rights that are missing, and the command that gives the least', async () => {
    await setUp();
    await broker.api('PUT', 'users/worker', { password: 'a password', tags: '' });
    try {
      const endpoints = parseAmqpUrls(broker.url.replace('guest:guest', 'worker:a%20password'));
      await broker.api('PUT', 'permissions/%2F/worker', { configure: '', write: '', read: '' });
      const none = await examined({ endpoints });
      const what = whatOf(none, 'broker.permissions');
      for (const lacking of [
        `read on queue ${queue}`,
        `write on exchange ${exchange}`,
        'write on exchange amq.default',
        `configure on queue ${prefix}.parked`,
      ]) {
        assert.ok(what.includes(lacking), `${lacking} in: ${what}`);
      }
      assert.equal(statusOf(none, 'broker.management'), 'error');

      const { configure, write, read } = leastPermissions({ ...names, mode: 'passive' });
      const remedy = none.find(({ check }) => check === 'broker.permissions')?.remedy ?? '';
      assert.equal(
        remedy,
        `rabbitmqctl set_permissions --vhost / worker '${configure}' '${write}' '${read}'`,
      );
      await broker.api('PUT', 'permissions/%2F/worker', { configure, write, read });
      await broker.api('PUT', 'users/worker', { password: 'a password', tags: 'management' });
      const least = await examined({ endpoints });
      assert.equal(statusOf(least, 'broker.permissions'), 'ok');
      assert.equal(statusOf(least, 'orders-queue.replicas'), 'skipped');
      assert.equal(statusOf(least, 'broker.alarms'), 'ok');
    } finally {
      await broker.api('DELETE', 'users/worker');
    }
  });

  it('sees a memory alarm, both ways', async () => {
    await setUp();
    await broker.rabbitmqctl('set_vm_memory_high_watermark', '0.00000001');
    try {
      const findings = await waitFor('the alarm', async () => {
        const seen = await examined();
        return statusOf(seen, 'broker.alarms') === 'error' ? seen : undefined;
      });
      assert.match(whatOf(findings, 'broker.alarms'), /memory on /);
      assert.equal(statusOf(findings, 'broker.publishing'), 'error');
    } finally {
      await broker.rabbitmqctl('set_vm_memory_high_watermark', '0.6');
    }
  });

  it('asks each host, and works with some of them', async () => {
    await setUp();
    const down = 'amqp://guest:guest@127.0.0.1:1';
    const partly = await examined({ endpoints: parseAmqpUrls(`${down},${broker.url}`) });
    assert.deepEqual(statusesOf(partly, 'broker.host'), ['warning', 'ok']);
    assert.equal(statusOf(partly, 'orders-queue.type'), 'ok');
    const allDown = await examined({ endpoints: parseAmqpUrls(`${down},${down}`) });
    assert.deepEqual(statusesOf(allDown, 'broker.host'), ['error', 'error']);
    assert.ok(allDown.some(({ isUnreachable }) => isUnreachable));
    const stranger = await examined({
      endpoints: parseAmqpUrls(broker.url.replace('guest:guest', 'guest:no')),
    });
    assert.deepEqual(statusesOf(stranger, 'broker.host'), ['error']);
    assert.ok(stranger.every(({ isUnreachable }) => isUnreachable === undefined));
  });

  it('warns of a heartbeat that is too slow', async () => {
    await setUp();
    const slow = await examined({ endpoints: parseAmqpUrls(`${broker.url}?heartbeat=40`) });
    assert.equal(statusOf(slow, 'broker.heartbeat'), 'warning');
  });
});

function statusesOf(findings: readonly Finding[], check: string): readonly FindingStatus[] {
  return findings.filter((finding) => finding.check === check).map(({ status }) => status);
}

function statusOf(findings: readonly Finding[], check: string): FindingStatus | undefined {
  return statusesOf(findings, check)[0];
}

function whatOf(findings: readonly Finding[], check: string): string {
  return findings.find((finding) => finding.check === check)?.what ?? `no finding of ${check}`;
}
