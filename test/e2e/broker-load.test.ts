/** What many orders must not suffer: a poisonous one among them, an outage of the gateway, the end of their worker. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bySize } from '../support/scale.ts';
import { waitFor } from '../support/wait-for.ts';
import { beginOrdeal, parkedRows, type Ordeal } from './ordeal.ts';
import { newOrderId, orderJson } from './stage.ts';

const GOOD_ORDERS = bySize(400, 1_000);
const OUTAGE_MS = bySize(10_000, 60_000);
const PATIENCE = { timeoutMs: 90_000 };

describe('many orders', { concurrency: false }, () => {
  it(`${GOOD_ORDERS} good ones are not slowed by poisonous ones`, { timeout: 300_000 }, async (t) => {
    const ordeal = await beginOrdeal(t);
    const worker = await ordeal.startWorker();
    await msToAnnounce(ordeal, 100);
    const withoutMs = await msToAnnounce(ordeal, GOOD_ORDERS);

    const poisonous = newOrderId();
    await ordeal.stage.gateway.setFaults([
      { match: { orderId: poisonous }, fault: { kind: 'drop-before-charge', reset: true } },
    ]);
    await ordeal.publish(orderJson(poisonous), poisonous);
    await ordeal.publishUnreadable('{"id":1,"creditCardNumber":');
    await ordeal.publishUnreadable('['.repeat(20_000));
    const withMs = await msToAnnounce(ordeal, GOOD_ORDERS);
    t.diagnostic(`${Math.round(withoutMs)} ms without, ${Math.round(withMs)} ms with`);
    assert.ok(withMs < 3 * withoutMs + 1_000, `${withMs} ms instead of ${withoutMs} ms`);

    await waitFor(
      'all three to be parked',
      async () => (await parkedRows(ordeal.stage)).length === 3,
      PATIENCE,
    );
    const requests = await ordeal.stage.gateway.requests(poisonous);
    assert.ok(requests.length <= 12, `${requests.length} requests for the poisonous order`);
    await worker.ready(PATIENCE);
    await ordeal.expectBalance({ parked: 3 });
  });

  it(
    `an outage of the gateway for ${OUTAGE_MS} ms: few attempts each, growing apart, and full speed after it`,
    { timeout: 300_000 },
    async (t) => {
      const ordeal = await beginOrdeal(t);
      const { gateway } = ordeal.stage;
      const worker = await ordeal.startWorker();
      let backAt = 0;
      let waiting: readonly string[] = [];
      await ordeal.underLoad(async () => {
        await gateway.setFaults([{ fault: { kind: 'html-502' } }]);
        await worker.unready(/gateway: /, PATIENCE);
        await sleep(OUTAGE_MS);
        waiting = ordeal.published.flatMap(({ orderId }) => orderId ?? []);
        await gateway.setFaults([]);
        backAt = performance.now();
      });
      await waitFor('what waited to be announced', () => announced(ordeal, waiting), {
        ...PATIENCE,
        intervalMs: 100,
      });
      t.diagnostic(
        `${waiting.length} orders, all announced ${Math.round(performance.now() - backAt)} ms after the outage`,
      );

      const failed = (await gateway.requests()).filter(({ fault }) => fault === 'html-502');
      const most = Math.max(...countedBy(failed.map(({ orderId }) => orderId)).values());
      t.diagnostic(`${failed.length} requests failed, at most ${most} of one order`);
      // Ten in a row stop the gateway; what was under way by then, and one probe after 1, 2, 4, 8, 8, ... s.
      assert.ok(most <= 5, `${most} requests of one order`);
      assert.ok(failed.length <= 60 + OUTAGE_MS / 8_000, `${failed.length} requests failed`);
      assertGrowingApart(failed.slice(-3).map(({ at }) => Date.parse(at)));
      await worker.ready(PATIENCE);
      await ordeal.expectBalance();
    },
  );

  it(
    'drain with 200 in flight: exact counts of completed, returned and unknown',
    { timeout: 300_000 },
    async (t) => {
      const ordeal = await beginOrdeal(t);
      const { stage } = ordeal;
      const { gateway } = stage;
      const worker = await stage.startWorker({
        AMQP_URL: ordeal.proxy.url,
        CARDAUTH_MAX_SPOUT_PENDING: '200',
        CARDAUTH_GATEWAY_TIMEOUT_MS: '14000',
      });
      const ids = (count: number): string[] => Array.from({ length: count }, newOrderId);
      const [willReturn, willComplete, willBeUnknown, never] = [ids(30), ids(120), ids(50), ids(20)];
      const hold = { kind: 'hold' as const };
      const later = { kind: 'delay' as const, ms: 2_500 };
      await gateway.setFaults([
        ...[...willReturn, ...willBeUnknown].map((orderId) => ({ match: { orderId }, fault: hold })),
        ...willComplete.map((orderId) => ({ match: { orderId }, fault: later })),
      ]);
      const inFlight = async (count: number): Promise<void> => {
        await waitFor(`${count} requests`, async () => (await gateway.requests()).length === count, PATIENCE);
      };
      const publishAll = async (orderIds: readonly string[]): Promise<void> => {
        await Promise.all(orderIds.map((orderId) => ordeal.publish(orderJson(orderId), orderId)));
      };

      await publishAll(willReturn);
      await inFlight(30);
      // The others are asked for so much later that they are still in flight when these have given up.
      await sleep(6_000);
      await publishAll([...willComplete, ...willBeUnknown]);
      await inFlight(200);
      await publishAll(never);
      worker.kill('SIGTERM');
      await waitFor('those with an answer to be announced', () => announced(ordeal, willComplete), PATIENCE);
      await waitFor(
        'those without an answer to be back, with those that were never taken',
        async () => (await stage.client.counts(stage.broker.ordersQueue))?.ready === 50,
        PATIENCE,
      );
      // The second signal ends it while the gateway still has these.
      worker.kill('SIGTERM');

      const line = await worker.waitForLine('"completed":', { timeoutMs: 60_000 });
      const { completed, returned, unknown } = JSON.parse(line.text) as Record<string, number>;
      assert.deepEqual({ completed, returned, unknown }, { completed: 120, returned: 30, unknown: 50 });
      assert.deepEqual(await worker.exited, { code: 143, signal: null });

      await gateway.setFaults([]);
      await gateway.release();
      await ordeal.startWorker();
      await ordeal.expectBalance();
    },
  );
});

/** Publishes so many orders at once and waits until the last is announced. */
async function msToAnnounce(ordeal: Ordeal, count: number): Promise<number> {
  const ids = Array.from({ length: count }, newOrderId);
  const startedAt = performance.now();
  await Promise.all(ids.map((orderId) => ordeal.publish(orderJson(orderId), orderId)));
  await waitFor('all to be announced', () => announced(ordeal, ids), { ...PATIENCE, intervalMs: 10 });
  return performance.now() - startedAt;
}

function announced({ stage }: Ordeal, orderIds: readonly string[]): boolean {
  const seen = new Set(stage.receipts.map(({ properties }) => properties.correlationId as string));
  return orderIds.every((orderId) => seen.has(orderId));
}

function countedBy<T>(items: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

/** The pauses between probes are not fixed to the millisecond, but each is longer than the one before. */
function assertGrowingApart(times: readonly number[]): void {
  const pauses = times.slice(1).map((time, n) => time - (times[n] ?? 0));
  assert.ok(
    pauses.every((pause, n) => pause > 0.8 * (pauses[n - 1] ?? 0)),
    `pauses of ${pauses.join(', ')} ms`,
  );
}
