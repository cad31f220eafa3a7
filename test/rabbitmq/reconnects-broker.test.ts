import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import type { RandomSource } from '../../src/topology/random.ts';
import { connectBroker, type BrokerClient } from '../support/broker-client.ts';
import { createBroker } from '../support/services.ts';
import { watchSettlements } from '../support/settlement-watch.ts';
import { startAmqpProxy } from '../support/tcp-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { startWorker } from './real-worker.ts';

const RECONNECTS = 100;
const WARM_UP = 10;
const PATIENCE = { timeoutMs: 30_000, intervalMs: 2 };

/** The dice of the backoff fall low every time, so that a hundred reconnects take seconds; all else is real time. */
const impatient: RandomSource = { next32: () => 2 ** 20 };

describe('a hundred reconnects of spout and publisher', () => {
  const own = createBroker();
  let client: BrokerClient;
  let ownQueues: readonly string[] = [];

  before(async () => {
    client = await connectBroker(own.url);
    await client.declareQueue(own.ordersQueue);
  });
  after(async () => {
    await client.close();
    await own.cleanup({ queues: ownQueues, exchanges: [`${own.prefix}.dlx`] });
  });

  it('leave no socket, timer or listener behind, and every order is acked in the end', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    const { watch, violations } = watchSettlements();
    const proxy = await startAmqpProxy({ target: own.url, watch });
    const executed = new Set<string>();
    const worker = await startWorker({
      consumeUrl: proxy.url,
      publishUrl: proxy.url,
      prefix: own.prefix,
      ordersQueue: own.ordersQueue,
      random: impatient,
      holdUpToMs: 0,
      maxReplays: 1_000,
      execute: async ({ messageId = '', attempt }) => {
        if (attempt === 0) throw new Error('goes round by a level queue once');
        // Long enough to be finished, now and then, on another channel than it was begun on.
        await sleep(100);
        executed.add(messageId);
      },
    });
    ({ ownQueues } = worker);
    const isUp = (): boolean =>
      worker.spout.availability.unavailableBecause() === undefined &&
      worker.publisher.availability.unavailableBecause() === undefined;

    let resourcesBefore: Record<string, number> = {};
    for (let round = 0; round < RECONNECTS; round += 1) {
      await waitFor('both to be up', isUp, PATIENCE);
      if (round === WARM_UP) resourcesBefore = resources();
      const messageId = `order-${round}`;
      await client.publish({ routingKey: own.ordersQueue, body: {}, properties: { messageId } });
      proxy.cut();
      await waitFor('the cut to be noticed', () => !isUp(), PATIENCE);
    }
    await waitFor('both to be up', isUp, PATIENCE);
    await waitFor('every order to be done', () => executed.size === RECONNECTS, PATIENCE);
    await waitFor(
      'what the lost connections held to be gone',
      () => {
        const now = resources();
        return ['TCPSocketWrap', 'Timeout'].every(
          (kind) => (now[kind] ?? 0) <= (resourcesBefore[kind] ?? 0) + 1,
        );
      },
      PATIENCE,
    );
    assert.equal(proxy.connections.open, 2);

    await waitFor(
      'copies that were delivered again to be done, too',
      async () => {
        const counts = await Promise.all(
          [own.ordersQueue, ...ownQueues].map((queue) => client.counts(queue)),
        );
        return worker.runner.pendingTrees().length === 0 && counts.every((queue) => queue?.ready === 0);
      },
      PATIENCE,
    );
    await worker.stop();
    await waitFor('the queue to be empty', async () => (await client.counts(own.ordersQueue))?.ready === 0);
    assert.deepEqual(violations, []);
    // Node warns of the eleventh listener on one signal or emitter.
    assert.deepEqual(warnings, []);
    process.off('warning', onWarning);
    await proxy.close();
  });
});

function resources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
