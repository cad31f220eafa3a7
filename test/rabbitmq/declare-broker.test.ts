import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import type { BrokerConnection } from '../../src/adapters/rabbitmq/connection.ts';
import type { Link } from '../../src/adapters/rabbitmq/link.ts';
import {
  declareLevelQueues,
  declareNotificationExchange,
  declareOrdersQueue,
  declareParkedQueue,
  levelQueueOf,
  parkedQueueOf,
  type Declaring,
} from '../../src/adapters/rabbitmq/declare.ts';
import { PermanentProblem } from '../../src/adapters/rabbitmq/keep-open.ts';
import { systemClock } from '../../src/topology/system-clock.ts';
import { connectBroker, type BrokerClient } from '../support/broker-client.ts';
import { createBroker } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';
import { realConnection, silentLog } from './scene.ts';

describe('declaring on a real broker', () => {
  const own = createBroker();
  const { url, prefix, ordersQueue: queue, exchange } = own;
  const parkedQueue = parkedQueueOf(prefix);
  const levelQueue = levelQueueOf(prefix, queue, 200);
  let client: BrokerClient;
  let connection: BrokerConnection;
  let on: Declaring;

  before(async () => {
    client = await connectBroker(url);
    connection = realConnection('publish', url);
    connection.start();
    const link: Link = await waitFor('a link', () => connection.link);
    on = { link, clock: systemClock, log: silentLog };
  });
  after(async () => {
    await connection.close();
    await client.close();
    await own.cleanup({ queues: [parkedQueue, levelQueue], exchanges: [`${prefix}.dlx`] });
  });

  it('only checks what belongs to others, and says what to do when it is missing', async () => {
    await assert.rejects(
      declareOrdersQueue(on, { queue, prefix, mode: 'passive' }),
      /does not exist.*create it/,
    );
    await declareOrdersQueue(on, { queue, prefix, mode: 'none' });
    assert.equal(await client.counts(queue), undefined);
    await assert.rejects(
      declareNotificationExchange(on, { exchange, mode: 'passive' }),
      new RegExp(`exchange ${exchange} does not exist`),
    );
  });

  it('creates everything in mode `assert`, again and again, and what the broker drops is parked', async () => {
    for (let round = 0; round < 2; round++) {
      await declareOrdersQueue(on, { queue, prefix, mode: 'assert' });
      await declareNotificationExchange(on, { exchange, mode: 'assert' });
    }
    await client.publish({ exchange: `${prefix}.dlx`, routingKey: queue, body: { id: 'dropped' } });
    assert.equal((await client.take(parkedQueue))?.body.toString(), '{"id":"dropped"}');
    await declareOrdersQueue(on, { queue, prefix, mode: 'passive' });
  });

  it('lets a level bring a message back by itself', async () => {
    await declareLevelQueues(on, { prefix, ordersQueue: queue, levelsMs: [200] });
    await client.publish({ routingKey: levelQueue, body: { id: 'patient' } });
    const back = await waitFor('the message', () => client.take(queue));
    assert.equal(back.body.toString(), '{"id":"patient"}');
  });

  it('reports other arguments as a difference: which, theirs, ours', async () => {
    await client.deleteQueue(levelQueue);
    await client.declareQueue(levelQueue, {
      'x-queue-type': 'quorum',
      'x-message-ttl': 7_000,
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': queue,
      'x-dead-letter-strategy': 'at-least-once',
      'x-overflow': 'reject-publish',
    });
    await assert.rejects(declareLevelQueues(on, { prefix, ordersQueue: queue, levelsMs: [200] }), (error) => {
      assert.ok(error instanceof PermanentProblem);
      assert.match(error.message, new RegExp(`queue ${levelQueue} exists with other arguments`));
      assert.match(error.message, /x-message-ttl is '7000' there, ours would be '200'/);
      return true;
    });
    await client.deleteQueue(parkedQueue);
    await client.declareQueue(parkedQueue, {});
    await assert.rejects(
      declareParkedQueue(on, prefix),
      /x-queue-type is (none|'classic') there, ours would be 'quorum'/,
    );
  });

  it('names level queues by time, and by orders queue unless it is the default one', () => {
    assert.equal(levelQueueOf('cardauth', 'orders', 1_000), 'cardauth.retry.1000');
    assert.equal(levelQueueOf('cardauth', 'shop.orders', 1_000), 'cardauth.retry.shop.orders.1000');
    assert.throws(() => levelQueueOf('cardauth', 'o'.repeat(250), 1_000), /over 255 bytes/);
  });
});
