import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import amqp, { type Channel, type ConsumeMessage } from 'amqplib';
import { connectBroker } from './broker-client.ts';
import { createBroker } from './services.ts';
import { watchSettlements } from './settlement-watch.ts';
import { startAmqpProxy } from './tcp-proxy.ts';
import { waitFor } from './wait-for.ts';

describe('the watch on settlements, on a real broker', () => {
  it('accepts acks, nacks and rejects, one by one and many at once, on their own channel', async (t) => {
    const { watched, open } = await setUp(t, 6);
    const { channel, received } = await open();
    const [a, b, c, , , f] = await waitFor('all six', () => (received.length === 6 ? received : undefined));
    assert.ok(a && b && c && f);
    channel.ack(a);
    channel.nack(b, false, true);
    channel.reject(c, false);
    channel.ack(f, true);
    await waitFor('six settlements', () => watched.settled === 6);
    assert.deepEqual(watched.violations, []);
  });

  it('sees an ack of a tag that belongs to a channel before', async (t) => {
    const { watched, open } = await setUp(t, 2);
    const first = await open();
    const [, second] = await waitFor('both', () =>
      first.received.length === 2 ? first.received : undefined,
    );
    assert.ok(second);
    await first.channel.close();
    const next = await open(1);
    await waitFor('one again', () => next.received.length === 1);
    // What a worker would do that settles on whatever channel it has: the broker closes that one, with luck.
    next.channel.ack(second);
    await waitFor('the violation', () => watched.violations.length === 1);
    assert.match(watched.violations[0] ?? '', /channel \d+: tag 2 is settled, which is not unsettled there/);
  });

  it('sees a second ack of the same tag', async (t) => {
    const { watched, open } = await setUp(t, 1);
    const { channel, received } = await open();
    const [only] = await waitFor('it', () => (received.length === 1 ? received : undefined));
    assert.ok(only);
    channel.ack(only);
    channel.ack(only);
    await waitFor('the violation', () => watched.violations.length === 1);
    assert.equal(watched.settled, 1);
  });
});

/** A queue with messages, and a way to consume it through a watched proxy. */
async function setUp(t: TestContext, messages: number) {
  const broker = createBroker();
  const client = await connectBroker(broker.url);
  await client.declareQueue(broker.ordersQueue);
  for (let n = 0; n < messages; n += 1) await client.publish({ routingKey: broker.ordersQueue, body: { n } });
  const watched = watchSettlements();
  const proxy = await startAmqpProxy({ target: broker.url, watch: watched.watch });
  const connection = await amqp.connect(proxy.url);
  connection.on('error', () => undefined);
  t.after(async () => {
    await connection.close().catch(() => undefined);
    await proxy.close();
    await client.close();
    await broker.cleanup();
  });
  const open = async (prefetch = 10): Promise<{ channel: Channel; received: ConsumeMessage[] }> => {
    const channel = await connection.createChannel();
    channel.on('error', () => undefined);
    await channel.prefetch(prefetch);
    const received: ConsumeMessage[] = [];
    await channel.consume(broker.ordersQueue, (message) => {
      if (message !== null) received.push(message);
    });
    return { channel, received };
  };
  return { watched, open };
}
