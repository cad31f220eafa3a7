import assert from 'node:assert/strict';
import { after, before, beforeEach, test, type TestContext } from 'node:test';
import amqp, { type Channel, type ConsumeMessage } from 'amqplib';
import { basicAck, basicPublish, isMethod, type AmqpFrame } from './amqp-frames.ts';
import { connectBroker, type BrokerClient } from './broker-client.ts';
import type { Verdict } from './proxy-flow.ts';
import { createBroker } from './services.ts';
import { startAmqpProxy, startProxy, type Proxy } from './tcp-proxy.ts';
import { waitFor } from './wait-for.ts';

const broker = createBroker();
const queue = broker.ordersQueue;
let client: BrokerClient;

before(async () => {
  client = await connectBroker(broker.url);
});
beforeEach(async () => {
  await client.deleteQueue(queue);
  await client.declareQueue(queue);
});
after(async () => {
  await client.close();
  await broker.cleanup();
});

test('holds one ack of three that were written at once; those before it count', async (t) => {
  const { proxy, deliveries, channel } = await consumeThree(t);
  proxy.rule(
    'toServer',
    nth(2, (frame) => isMethod(frame, basicAck), 'hold'),
  );
  for (const delivery of deliveries) channel.ack(delivery);
  await proxy.held();
  proxy.cut();
  await waitFor('the second and third to be back', async () => (await client.counts(queue))?.ready === 2);
  assert.deepEqual([await bodyOf(queue), await bodyOf(queue)], ['2', '3']);
});

test('drops one ack; those before and after it count', async (t) => {
  const { proxy, deliveries, channel } = await consumeThree(t);
  proxy.rule(
    'toServer',
    nth(2, (frame) => isMethod(frame, basicAck), 'drop'),
  );
  for (const delivery of deliveries) channel.ack(delivery);
  await channel.checkQueue(queue);
  proxy.cut();
  await waitFor('the second to be back', async () => (await client.counts(queue))?.ready === 1);
  assert.equal(await bodyOf(queue), '2');
});

test('holds a publication with its content, until released', async (t) => {
  const proxy = await startOn(t);
  const publisher = await connectBroker(proxy.url);
  proxy.rule('toServer', (frame) => (isMethod(frame, basicPublish) ? 'hold' : 'pass'));
  let confirmed = false;
  const published = publisher.publish({ routingKey: queue, body: 'x'.repeat(500_000) }).then(() => {
    confirmed = true;
  });
  await proxy.held();
  assert.deepEqual([(await client.counts(queue))?.ready, confirmed], [0, false]);
  proxy.release();
  await published;
  assert.equal((await bodyOf(queue)).length, 500_002);
});

test('loses a confirm, though the broker has the message', async (t) => {
  const proxy = await startOn(t);
  const publisher = await connectBroker(proxy.url);
  proxy.rule('toClient', (frame) => (isMethod(frame, basicAck) ? 'cut' : 'pass'));
  await assert.rejects(publisher.publish({ routingKey: queue, body: 1 }), /was not confirmed/);
  assert.equal(await bodyOf(queue), '1');
});

test('a proxy that knows nothing of frames carries AMQP too', async (t) => {
  const proxy = await startProxy({ target: broker.url });
  t.after(() => proxy.close());
  const publisher = await connectBroker(proxy.url);
  await publisher.publish({ routingKey: queue, body: 1 });
  await publisher.close();
  assert.equal(await bodyOf(queue), '1');
});

async function startOn(t: TestContext): Promise<Proxy<AmqpFrame>> {
  const proxy = await startAmqpProxy({ target: broker.url });
  t.after(() => proxy.close());
  return proxy;
}

/** A consumer behind a proxy that holds the messages 1, 2 and 3, unacked. */
async function consumeThree(
  t: TestContext,
): Promise<{ proxy: Proxy<AmqpFrame>; channel: Channel; deliveries: ConsumeMessage[] }> {
  for (const body of [1, 2, 3]) await client.publish({ routingKey: queue, body });
  const proxy = await startOn(t);
  const connection = await amqp.connect(proxy.url);
  connection.on('error', () => undefined);
  const channel = await connection.createChannel();
  const deliveries: ConsumeMessage[] = [];
  await channel.consume(queue, (message) => {
    if (message) deliveries.push(message);
  });
  await waitFor('three deliveries', () => deliveries.length === 3);
  return { proxy, channel, deliveries };
}

function nth(
  n: number,
  matches: (frame: AmqpFrame) => boolean,
  verdict: Verdict,
): (frame: AmqpFrame) => Verdict {
  let seen = 0;
  return (frame) => (matches(frame) && ++seen === n ? verdict : 'pass');
}

async function bodyOf(name: string): Promise<string> {
  const message = await waitFor(`a message in ${name}`, () => client.take(name));
  return message.body.toString();
}
