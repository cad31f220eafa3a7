/**
 * The gateway is away, misconfigured or wants a slower pace: the worker stops taking orders in, says why, leaves them
 * as they are, and goes on by itself. No replay is used up: one would be all that these workers have. (A fault that an
 * order might have by itself counts until it met others as well, so there are a few then.)
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { waitFor } from '../support/wait-for.ts';
import { startObserved, type ObservedWorker } from './observed-worker.ts';
import { newOrderId, openStage, orderJson, type Stage } from './stage.ts';
import type { FaultScript } from '../../src/simulator/fault-script.ts';

const MOST_IN_WORK = 10;
const ENVIRONMENT = {
  CARDAUTH_MAX_ATTEMPTS: '1',
  CARDAUTH_MAX_SPOUT_PENDING: String(MOST_IN_WORK),
  CARDAUTH_GATEWAY_TIMEOUT_MS: '2000',
};

interface Outage {
  readonly name: string;
  readonly reason: RegExp;
  readonly begin: (stage: Stage) => Promise<void>;
  readonly end: (stage: Stage) => Promise<void>;
  /** Undefined: any of those that are not decided. */
  readonly status?: string;
  readonly maxAttempts?: string;
}

const outages: readonly Outage[] = [
  faulty('401', [{ fault: { kind: '401' } }], /HTTP 401.*CARDAUTH_GATEWAY_API_KEY.*since/, 'received'),
  faulty('403', [{ fault: { kind: '403' } }], /HTTP 403.*CARDAUTH_GATEWAY_API_KEY.*since/, 'received'),
  faulty('404', [{ fault: { kind: '404' } }], /HTTP 404.*CARDAUTH_GATEWAY_URL.*since/, 'received'),
  faulty('a redirect', [{ fault: { kind: 'redirect' } }], /HTTP 307.*CARDAUTH_GATEWAY_URL/, 'received'),
  faulty('429 without a pause', [{ fault: { kind: '429' } }], /slower pace \(HTTP 429\)/, 'received'),
  faulty(
    '429 with a pause that is none',
    [{ fault: { kind: '429', retryAfter: 'soon' } }],
    /slower pace \(HTTP 429\)/,
    'received',
  ),
  {
    ...faulty(
      "a proxy's 502 for everything",
      [{ fault: { kind: 'html-502' } }],
      /keeps failing \(HTTP 502\)/,
    ),
    maxAttempts: '3',
  },
  {
    name: 'a gateway that is down',
    reason: /keeps failing \(.*ECONNREFUSED/,
    begin: (stage) => stage.gateway.stop(),
    end: (stage) => stage.gateway.start(),
    status: 'received',
  },
];

describe('the gateway stops the intake', { concurrency: false }, () => {
  for (const { name, reason, begin, end, status, maxAttempts = '1' } of outages) {
    it(`${name}: orders wait untouched, and go on within ten seconds after it`, async (t) => {
      const stage = await openStage(t);
      const ids = Array.from({ length: 40 }, newOrderId);
      await begin(stage);
      const worker = await startObserved(stage, { ...ENVIRONMENT, CARDAUTH_MAX_ATTEMPTS: maxAttempts });
      await stage.publish(...ids.map((id) => orderJson(id)));

      await worker.unready(reason);
      await probed(worker, 2);
      assert.match((await worker.reasons()) ?? 'ready', reason);
      await untouched(stage, status);
      await end(stage);

      const endedMs = performance.now();
      await allApproved(stage, ids);
      const tookMs = performance.now() - endedMs;
      assert.ok(tookMs < 12_000, `all were announced ${Math.round(tookMs)} ms after the outage`);
      await worker.ready();
      const requests = await stage.gateway.requests();
      assert.ok(
        requests.every(({ path }) => path === '/v1/payment_intents'),
        'no redirect is followed',
      );
      await nothingParked(stage);
      await stage.endAndExpectEmptyQueue(worker.process);
    });
  }

  for (const [form, retryAfter] of [
    ['seconds', () => 3],
    ['a date', () => new Date(Date.now() + 4_000).toUTCString()],
  ] as const) {
    it(`429 with Retry-After as ${form}: nothing is sent until then, then one at first`, async (t) => {
      const stage = await openStage(t);
      const ids = Array.from({ length: 20 }, newOrderId);
      const worker = await startObserved(stage, ENVIRONMENT);
      await stage.gateway.setFaults([
        { fault: { kind: '429', retryAfter: retryAfter() }, times: 1 },
        { fault: { kind: 'delay', ms: 300 } },
      ]);
      await stage.publish(...ids.map((id) => orderJson(id)));
      await worker.unready(/slower pace \(HTTP 429\).*an order tries it at/);
      await allApproved(stage, ids);

      const sentAtMs = (await stage.gateway.requests()).map(({ at }) => Date.parse(at)).sort((a, b) => a - b);
      const gaps = sentAtMs.slice(1).map((atMs, n) => atMs - (sentAtMs[n] ?? 0));
      const pauseMs = Math.max(...gaps);
      // A date has whole seconds, so up to one of the four is lost; what was under way may come a little after the 429.
      assert.ok(pauseMs >= 2_800 && pauseMs < 5_000, `a pause of ${pauseMs} ms`);
      const afterProbeMs = gaps[gaps.indexOf(pauseMs) + 1] ?? 0;
      assert.ok(afterProbeMs >= 290, `the second request came ${afterProbeMs} ms after the first`);
      await stage.endAndExpectEmptyQueue(worker.process);
    });
  }

  it('429 with an absurd Retry-After: no longer than five minutes', async (t) => {
    const stage = await openStage(t);
    const worker = await startObserved(stage, ENVIRONMENT);
    await stage.gateway.setFaults([{ fault: { kind: '429', retryAfter: '9999999999' } }]);
    await stage.publish(orderJson(newOrderId()));
    const reasons = await worker.unready(/tries it at/);
    const next = Date.parse(/tries it at (\S+Z)/.exec(reasons)?.[1] ?? '');
    const aheadMs = next - Date.now();
    assert.ok(aheadMs > 290_000 && aheadMs <= 300_000, `it is tried again in ${aheadMs} ms`);
    assert.equal((await stage.gateway.requests()).length, 1);
  });

  it('no TLS where TLS was expected: nothing is sent', async (t) => {
    const stage = await openStage(t);
    const url = stage.gateway.url.replace('http:', 'https:');
    const worker = await startObserved(stage, { ...ENVIRONMENT, CARDAUTH_GATEWAY_URL: url });
    await stage.publish(orderJson(newOrderId()));
    await worker.unready(/no trusted TLS connection.*CARDAUTH_GATEWAY_URL/);
    await probed(worker, 1);
    await untouched(stage, 'received');
    assert.deepEqual(await stage.gateway.requests(), []);
  });

  it('rejected one after the other: five go to review, the rest waits until one is accepted', async (t) => {
    const stage = await openStage(t);
    const worker = await startObserved(stage, ENVIRONMENT);
    const bad = Array.from({ length: 7 }, newOrderId);
    await stage.publish(...bad.map((id) => tokenOrder(id)));
    await worker.unready(/rejects one order after the other .*resource_missing.*parked orders/);
    await probed(worker, 2);
    const inReview = async () =>
      (await stage.database.query("select 1 from cardauth.orders where status = 'review'")).rowCount;
    assert.equal(await inReview(), 5);

    const good = Array.from({ length: 20 }, newOrderId);
    await stage.publish(...good.map((id) => orderJson(id)));
    await allApproved(stage, good, 60_000);
    await waitFor('the others to have their own verdict', async () => (await inReview()) === bad.length, {
      timeoutMs: 40_000,
    });
    for (const id of bad) assert.equal((await stage.gateway.approvals(id)).length, 0);
  });
});

function faulty(name: string, faults: FaultScript, reason: RegExp, status?: string): Outage {
  return {
    name,
    reason,
    begin: (stage) => stage.gateway.setFaults(faults),
    end: (stage) => stage.gateway.setFaults([]),
    ...(status === undefined ? {} : { status }),
  };
}

/** Waits until so many probes were answered no better. */
async function probed(worker: ObservedWorker, times: number): Promise<void> {
  const stops = () =>
    worker.process.lines.filter(({ text }) => text.includes('no order goes to the gateway'));
  await waitFor(`${times} probes`, () => stops().length > times, { timeoutMs: 30_000 });
}

/** Nothing was decided, charged or parked, and nobody but the probes asked the gateway. */
async function untouched(stage: Stage, status: string | undefined): Promise<void> {
  await waitFor('the claims to be given back', async () => {
    const { rows } = await stage.database.query<{ status: string }>(
      'select distinct status from cardauth.orders',
    );
    const statuses = rows.map((row) => row.status).filter((found) => found !== 'authorizing');
    assert.ok(
      statuses.every((found) => (status ?? 'authorization-unknown received').includes(found)),
      statuses.join(' '),
    );
    return statuses.length === rows.length;
  });
  assert.equal(stage.receipts.length, 0);
  await nothingParked(stage);
}

async function nothingParked(stage: Stage): Promise<void> {
  assert.equal((await stage.client.counts(`${stage.broker.prefix}.parked`))?.ready, 0);
  assert.deepEqual(await stage.parked.rest(), []);
}

async function allApproved(stage: Stage, ids: readonly string[], timeoutMs = 20_000): Promise<void> {
  for (const id of ids) {
    assert.equal((await stage.announced(id, { timeoutMs })).status, 'ready-to-ship');
    assert.equal((await stage.gateway.approvals(id)).length, 1, `one approval of ${id}`);
  }
}

function tokenOrder(id: string): string {
  return JSON.stringify({ id, customerId: 1, paymentMethod: 'pm_unknown_here', chargeAmount: 1 });
}
