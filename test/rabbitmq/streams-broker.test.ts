import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { connectBroker, type BrokerClient } from '../support/broker-client.ts';
import { createBroker } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';
import { startWorker } from './real-worker.ts';

describe('an orders queue that is a stream', () => {
  const own = createBroker();
  const { url, prefix, ordersQueue } = own;
  let client: BrokerClient;
  let worker: Awaited<ReturnType<typeof startWorker>>;

  before(async () => {
    client = await connectBroker(url);
  });
  after(async () => {
    await client.close();
    await own.cleanup({
      queues: [...worker.ownQueues, `${prefix}.parked`],
      exchanges: [`${prefix}.dlx`],
    });
  });

  for (const [mode, said] of [
    ['passive', /is a stream: acking removes nothing there/],
    ['none', /is a stream: acking removes nothing there/],
    ['assert', /x-queue-type is 'stream' there, ours would be 'quorum'/],
  ] as const) {
    it(`is refused in mode ${mode}, and nothing of it is worked on`, async () => {
      await client.declareQueue(ordersQueue, { 'x-queue-type': 'stream' });
      await client.publish({ routingKey: ordersQueue, body: {}, properties: { messageId: 'in the stream' } });
      const seen: (string | undefined)[] = [];
      worker = await startWorker({
        consumeUrl: url,
        publishUrl: url,
        prefix,
        ordersQueue,
        mode,
        execute: ({ messageId }) => void seen.push(messageId),
      });
      try {
        const because = () => worker.spout.availability.unavailableBecause();
        await waitFor('the refusal', () => said.test(because() ?? ''));
        assert.deepEqual(seen, []);
        assert.equal((await client.counts(ordersQueue))?.consumers, 0);
      } finally {
        await worker.stop();
        await client.deleteQueue(ordersQueue);
      }
    });
  }
});
