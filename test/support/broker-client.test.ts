import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { connectBroker, type BrokerClient } from './broker-client.ts';
import { createBroker } from './services.ts';
import { startProxy } from './tcp-proxy.ts';
import { waitFor } from './wait-for.ts';

const broker = createBroker();
let client: BrokerClient;

before(async () => {
  client = await connectBroker(broker.url);
  await client.declareExchange(broker.exchange);
  await client.declareQueue(broker.ordersQueue);
});
after(async () => {
  await client.close();
  await broker.cleanup();
});

test('publishes, counts and takes', async () => {
  const properties = { messageId: 'm1', headers: { 'cardauth-attempt': 2 } };
  await client.publish({ routingKey: broker.ordersQueue, body: { id: 'o1' }, properties });
  await client.publish({ routingKey: broker.ordersQueue, body: Buffer.from('not json') });
  await waitFor('two', async () => (await client.counts(broker.ordersQueue))?.ready === 2);

  const first = await client.take(broker.ordersQueue);
  assert.equal(first?.body.toString(), '{"id":"o1"}');
  assert.equal(first.headers['cardauth-attempt'], 2);
  assert.equal(first.properties.messageId, 'm1');
  assert.equal(first.redelivered, false);
  assert.equal((await client.take(broker.ordersQueue))?.body.toString(), 'not json');
  assert.equal(await client.take(broker.ordersQueue), undefined);
});

test('collects what an exchange routes by a pattern', async () => {
  const denied = await client.collect(broker.exchange, 'order.denied');
  const all = await client.collect(broker.exchange);
  await client.publish({ exchange: broker.exchange, routingKey: 'order.ready-to-ship', body: 1 });
  await client.publish({ exchange: broker.exchange, routingKey: 'order.denied', body: 2 });
  await waitFor('three', () => all.length + denied.length === 3);
  assert.deepEqual(
    all.map((one) => [one.routingKey, one.body.toString()]),
    [
      ['order.ready-to-ship', '1'],
      ['order.denied', '2'],
    ],
  );
  assert.deepEqual(
    denied.map((one) => one.exchange),
    [broker.exchange],
  );
});

test('a message that no queue takes is an error', async () => {
  const lost = client.publish({ routingKey: `${broker.prefix}.nowhere`, body: 0 });
  await assert.rejects(lost, /nowhere" to exchange "" was routed to no queue/);
  await client.publish({ routingKey: broker.ordersQueue, body: 0 });
});

test('closing a lost connection ends', async (t) => {
  const proxy = await startProxy({ target: broker.url });
  t.after(() => proxy.close());
  const [cut, frozen] = [await connectBroker(proxy.url), await connectBroker(proxy.url)];
  proxy.freeze();
  await frozen.close();
  proxy.cut();
  await cut.close();
});

test('a queue that is not there has no counts', async () => {
  assert.equal(await client.counts(`${broker.prefix}.nowhere`), undefined);
});

test('a queue with other arguments is an error, and the client goes on', async () => {
  await assert.rejects(client.declareQueue(broker.ordersQueue, { 'x-queue-type': 'classic' }), { code: 406 });
  assert.ok(await client.counts(broker.ordersQueue));
});
