import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import {
  declareLevelQueues,
  declareNotificationExchange,
  declareOrdersQueue,
  declareParkedQueue,
} from '../../src/adapters/rabbitmq/declare.ts';
import { PermanentProblem } from '../../src/adapters/rabbitmq/keep-open.ts';
import { Publisher } from '../../src/adapters/rabbitmq/publisher.ts';
import { seededRandom } from '../../src/topology/random.ts';
import { systemClock } from '../../src/topology/system-clock.ts';
import { connectBroker, type BrokerClient } from '../support/broker-client.ts';
import { createBrokerUser, type BrokerUser } from '../support/broker-user.ts';
import { canAdministerBroker, createBroker } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';
import { startWorker } from './real-worker.ts';
import { realConnection, silentLog } from './scene.ts';

describe('a user without some right', { skip: !canAdministerBroker }, () => {
  const own = createBroker();
  const { prefix, ordersQueue, exchange } = own;
  const parkedQueue = `${prefix}.parked`;
  let client: BrokerClient;
  let user: BrokerUser;

  before(async () => {
    client = await connectBroker(own.url);
    await client.declareQueue(ordersQueue);
    await client.declareExchange(exchange);
    user = await createBrokerUser();
  });
  after(async () => {
    await client.close();
    await own.cleanup({ queues: [parkedQueue], exchanges: [`${prefix}.dlx`] });
    await user.drop();
  });

  async function declaring<T>(use: (on: Parameters<typeof declareParkedQueue>[0]) => Promise<T>): Promise<T> {
    const connection = realConnection('publish', user.url);
    connection.start();
    try {
      const link = await waitFor('a link', () => connection.link);
      return await use({ link, clock: systemClock, log: silentLog });
    } finally {
      await connection.close();
    }
  }

  function says(...parts: readonly string[]) {
    return (error: unknown): boolean => {
      assert.ok(error instanceof PermanentProblem);
      for (const part of [`user ${user.name} has no`, 'in vhost /', 'set_permissions', ...parts]) {
        assert.ok(error.message.includes(part), `${part} in: ${error.message}`);
      }
      assert.ok(!error.message.includes(new URL(user.url).password));
      return true;
    };
  }

  it('is told which one it takes to declare a queue, its dead letters and a binding', async () => {
    await user.allow('', '', '');
    await assert.rejects(
      declaring((on) => declareParkedQueue(on, prefix)),
      says(`configure permission on queue ${parkedQueue}`),
    );
    await user.allow('.*', '', '.*');
    await assert.rejects(
      declaring((on) => declareParkedQueue(on, prefix)),
      says(`write permission on queue ${parkedQueue}`),
    );
    const level = { prefix, ordersQueue, levelsMs: [100] };
    await assert.rejects(
      declaring((on) => declareLevelQueues(on, level)),
      says('write permission on exchange amq.default'),
    );
    await assert.rejects(
      declaring((on) => declareOrdersQueue(on, { queue: `${prefix}.new`, prefix, mode: 'assert' })),
      says('write permission on queue'),
    );
    await user.allow('^$', '.*', '.*');
    await assert.rejects(
      declaring((on) => declareNotificationExchange(on, { exchange, mode: 'assert' })),
      says(`configure permission on exchange ${exchange}`),
    );
  });

  it('is told in readiness that it may not consume', async () => {
    await user.allow('.*', '.*', `^${prefix}\\.(parked|dlx|retry)`);
    const worker = await startWorker({
      consumeUrl: user.url,
      publishUrl: own.url,
      prefix,
      ordersQueue,
      execute: () => undefined,
    });
    try {
      const because = await waitFor('the refusal', () => {
        const text = worker.spout.availability.unavailableBecause();
        return text?.includes('no read permission') === true ? text : undefined;
      });
      assert.match(
        because,
        new RegExp(`has no read permission on queue ${ordersQueue.replaceAll('.', '\\.')}`),
      );
    } finally {
      await worker.stop();
    }
  });

  it('is told that it may not publish', async () => {
    await user.allow('.*', `^${prefix}\\.parked`, '.*');
    const connection = realConnection('publish', user.url);
    const publisher = new Publisher({
      name: 'notifications',
      connection,
      prepare: () => Promise.resolve(),
      clock: systemClock,
      random: seededRandom(1),
      log: silentLog,
    });
    connection.start();
    publisher.start();
    const publication = {
      exchange,
      routingKey: 'k',
      body: Buffer.from('{}'),
      properties: { messageId: 'm' },
    };
    try {
      await assert.rejects(
        publisher.publish(publication),
        new RegExp(`has no write permission on exchange ${exchange.replaceAll('.', '\\.')}`),
      );
    } finally {
      await publisher.close();
      await connection.close();
    }
  });
});
