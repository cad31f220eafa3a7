import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { BrokerNotifier } from '../../src/adapters/rabbitmq/notifier.ts';
import { declareNotificationExchange, type DeclareMode } from '../../src/adapters/rabbitmq/declare.ts';
import type { Publication } from '../../src/adapters/rabbitmq/publication.ts';
import { Publisher } from '../../src/adapters/rabbitmq/publisher.ts';
import type { OrderNotification } from '../../src/domain/notification.ts';
import { RetriableError } from '../../src/topology/errors.ts';
import { seededRandom } from '../../src/topology/random.ts';
import { systemClock } from '../../src/topology/system-clock.ts';
import { connectBroker, type BrokerClient } from '../support/broker-client.ts';
import { createBroker } from '../support/services.ts';
import { startAmqpProxy } from '../support/tcp-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { realConnection, silentLog } from './scene.ts';

describe('publishing on a real broker', () => {
  const own = createBroker();
  const { url, ordersQueue: queue, exchange } = own;
  let client: BrokerClient;
  const closing: (() => Promise<void>)[] = [];

  before(async () => {
    client = await connectBroker(url);
    await client.declareQueue(queue);
    await client.declareExchange(exchange);
  });
  after(async () => {
    for (const close of closing) await close();
    await client.close();
    await own.cleanup();
  });

  function publishing(through = url, mode: DeclareMode = 'none', target = exchange): Publisher {
    const common = { clock: systemClock, random: seededRandom(5), log: silentLog };
    const connection = realConnection('publish', through);
    const publisher = new Publisher({
      ...common,
      name: 'notifications',
      connection,
      prepare: (link) => declareNotificationExchange({ link, ...common }, { exchange: target, mode }),
      deadlineMs: 1_000,
    });
    connection.start();
    publisher.start();
    closing.push(async () => {
      await publisher.close();
      await connection.close();
    });
    return publisher;
  }

  it('refuses what no queue takes, although the broker confirms it', async () => {
    await assert.rejects(
      publishing().publish({ ...message('lost'), exchange, routingKey: 'nobody' }),
      classed('unroutable'),
    );
  });

  it('announces an order as a CloudEvent, the same on every resend', async () => {
    const received = await client.collect(exchange, 'order.#');
    const notifier = new BrokerNotifier({ publisher: publishing(), exchange });
    await notifier.notify(NOTIFICATION);
    await notifier.notify(NOTIFICATION);
    const [first, second] = await waitFor('both', () => (received.length === 2 ? received : undefined));
    assert.ok(first && second);
    assert.equal(first.routingKey, 'order.ready-to-ship');
    assert.equal(
      first.body.toString(),
      '{"orderId":"1","customerId":"c","status":"ready-to-ship","reason":null,"amountMinor":"4223",' +
        '"currency":"USD","authorizationId":"pi_1","occurredAt":"2026-01-02T03:04:05.000Z",' +
        '"authorizationExpiresAt":"2026-01-07T03:04:05.000Z"}',
    );
    const { properties } = first;
    assert.equal(properties.contentType, 'application/json');
    assert.equal(properties.correlationId, '1');
    assert.equal(properties.deliveryMode, 2);
    assert.equal(properties.messageId, 'order-1-ready-to-ship-1');
    assert.equal(properties.type, 'order.processed.v1');
    assert.deepEqual(first.headers, {
      'cloudEvents:specversion': '1.0',
      'cloudEvents:id': 'order-1-ready-to-ship-1',
      'cloudEvents:type': 'order.processed.v1',
      'cloudEvents:source': '/cardauth',
      'cloudEvents:time': '2026-01-02T03:04:05.000Z',
    });
    assert.deepEqual([second.body, second.properties], [first.body, first.properties]);
  });

  it('calls a swallowed confirm ambiguous, although the message arrived', async () => {
    const proxy = await startAmqpProxy({ target: url });
    proxy.rule('toClient', ({ classId, methodId }) => (classId === 60 && methodId === 80 ? 'drop' : 'pass'));
    await assert.rejects(publishing(proxy.url).publish(message('arrived')), classed('ambiguous'));
    assert.equal((await client.take(queue))?.properties.messageId, 'arrived');
    await proxy.close();
  });

  it('settles every one of a thousand messages when the connection is cut half way, and loses no confirmed one', async () => {
    const proxy = await startAmqpProxy({ target: url });
    const publisher = publishing(proxy.url);
    const ids = Array.from({ length: 1_000 }, (_, index) => `m-${index}`);
    const confirmed = new Set<string>();
    const outcomes = ids.map((id) =>
      publisher.publish(message(id)).then(() => {
        confirmed.add(id);
        if (confirmed.size === 300) proxy.cut();
      }),
    );
    for (const outcome of await Promise.allSettled(outcomes)) {
      if (outcome.status === 'rejected') assert.ok(classed('ambiguous')(outcome.reason));
    }
    assert.ok(confirmed.size >= 1_000 - 256 && confirmed.size < 1_000, `${confirmed.size} were confirmed`);
    const arrived = new Set<unknown>();
    for (;;) {
      const received = await client.take(queue);
      if (received === undefined) break;
      arrived.add(received.properties.messageId);
    }
    for (const id of confirmed) assert.ok(arrived.has(id), `${id} was confirmed and is not there`);
    await proxy.close();
  });

  it('says which exchange is missing, and goes on once it is there', async () => {
    const target = `${exchange}.late`;
    const publisher = publishing(url, 'passive', target);
    await waitFor('the reason', () =>
      publisher.availability.unavailableBecause()?.includes(`exchange ${target} does not exist`),
    );
    await client.declareExchange(target);
    await waitFor('the recovery', () => publisher.availability.unavailableBecause() === undefined);
    await client.deleteExchange(target);
  });

  it('reports the death of its channel by a missing exchange as ambiguous, and opens another', async () => {
    const publisher = publishing();
    const missing = { ...message('nowhere'), exchange: `${exchange}.missing` };
    await assert.rejects(publisher.publish(missing), classed('ambiguous'));
    await publisher.publish(message('afterwards'));
    assert.equal((await client.take(queue))?.properties.messageId, 'afterwards');
  });

  function message(messageId: string): Publication {
    return { exchange: '', routingKey: queue, body: Buffer.from('{}'), properties: { messageId } };
  }
});

const NOTIFICATION: OrderNotification = {
  eventId: 'order-1-ready-to-ship-1',
  routingKey: 'order.ready-to-ship',
  generation: 1,
  occurredAtMs: Date.UTC(2026, 0, 2, 3, 4, 5),
  body: {
    orderId: '1',
    customerId: 'c',
    status: 'ready-to-ship',
    reason: null,
    amountMinor: '4223',
    currency: 'USD',
    authorizationId: 'pi_1',
    occurredAt: '2026-01-02T03:04:05.000Z',
    authorizationExpiresAt: '2026-01-07T03:04:05.000Z',
  },
};

function classed(errorClass: string): (error: unknown) => boolean {
  return (error) => error instanceof RetriableError && error.errorClass === errorClass;
}
