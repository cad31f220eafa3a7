/** Asking and voiding, against the simulator: what it holds, and what it says. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createStripeGateway } from '../../src/adapters/gateway/stripe-gateway.ts';
import { Secret } from '../../src/domain/card.ts';
import type { Order } from '../../src/domain/order.ts';
import type { FaultScript } from '../../src/simulator/fault-script.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { collectingLog } from './collecting-log.ts';
import { anOrder, cardMeans } from './orders.ts';

async function open(t: TestContext, options: { searchLagMs?: number } = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'inquiry-'));
  let nowMs = Date.now();
  const simulator = await startSimulator({
    port: 0,
    ledgerFile: join(directory, 'ledger.jsonl'),
    now: () => nowMs,
    ...options,
  });
  const gateway = createStripeGateway({
    baseUrl: simulator.url,
    apiKey: new Secret('sk_test_inquiry'),
    wallMs: 5_000,
    connections: 4,
    log: collectingLog(),
  });
  t.after(async () => {
    await simulator.close();
    await gateway.close();
    rmSync(directory, { recursive: true });
  });
  return {
    gateway,
    authorize: (order: Order, generation = 1) =>
      gateway.authorize({ order, idempotencyKey: keyOf(order, generation) }),
    lookup: (order: Order, { generation = 1, reference }: { generation?: number; reference?: string } = {}) =>
      gateway.lookup({ terms: order.terms, idempotencyKey: keyOf(order, generation), reference }),
    passTime: (ms: number) => void (nowMs += ms),
    setFaults: async (script: FaultScript) => {
      await fetch(`${simulator.url}/__faults`, { method: 'PUT', body: JSON.stringify(script) });
    },
  };
}

const ONCE = { times: 1 };
const keyOf = ({ terms }: Order, generation: number) => `order-${terms.orderId}-${generation}`;

describe('asking Stripe what became of an authorization', () => {
  it('finds the hold behind every kind of lost answer, with the reference and the expiry', async (t) => {
    const { authorize, lookup, setFaults } = await open(t);
    for (const kind of [
      'charge-then-drop',
      'charge-then-500',
      'garbage',
      'cut-body',
      'empty-body',
    ] as const) {
      await setFaults([{ fault: { kind }, ...ONCE }]);
      const order = anOrder({ orderId: `awkward ' \\ ${kind}` });
      assert.equal((await authorize(order)).kind, 'unknown');
      const found = await lookup(order);
      assert.ok(found.kind === 'approved', JSON.stringify(found));
      assert.ok((found.expiresAtMs ?? 0) > Date.now());
      assert.deepEqual(await lookup(order, { reference: found.reference }), found);
    }
  });

  it('finds nothing where nothing was charged, and while the index lags: neither is a decline', async (t) => {
    const { authorize, lookup, setFaults, passTime } = await open(t, { searchLagMs: 60_000 });
    await setFaults([{ fault: { kind: 'charge-then-drop' }, ...ONCE }]);
    const [charged, never] = [anOrder({ orderId: 'charged' }), anOrder({ orderId: 'never' })];
    await authorize(charged);
    for (const order of [charged, never]) {
      const answer = await lookup(order);
      assert.equal(answer.kind === 'undecided' && answer.cause, 'not_found');
    }
    passTime(60_000);
    assert.equal((await lookup(charged)).kind, 'approved');
    assert.equal((await lookup(never)).kind, 'undecided');
    assert.equal((await lookup(never, { reference: 'pi_none' })).kind, 'undecided');
  });

  it('takes a decline for one only under its own key, and a hold under any', async (t) => {
    const { authorize, lookup } = await open(t);
    const order = anOrder({ means: cardMeans('4000000000000002') });
    assert.equal((await authorize(order)).kind, 'declined');
    assert.equal((await lookup(order)).kind, 'declined');
    assert.equal((await lookup(order, { generation: 2 })).kind, 'undecided');

    const good = anOrder({ orderId: 'good' });
    const approved = await authorize(good);
    assert.deepEqual(await lookup(good, { generation: 2 }), approved);
  });

  it('follows what is pending until it is decided', async (t) => {
    for (const as of ['approved', 'declined'] as const) {
      const { authorize, lookup, setFaults } = await open(t);
      await setFaults([{ fault: { kind: 'pending', settle: { as, afterMs: 100 } } }]);
      const order = anOrder();
      const first = await authorize(order);
      assert.ok(first.kind === 'unknown' && first.reference !== undefined);
      const { reference } = first;
      let answer = await lookup(order, { reference });
      assert.ok(answer.kind === 'undecided' && answer.cause === 'pending' && answer.reference === reference);
      while (answer.kind === 'undecided') answer = await lookup(order, { reference });
      assert.equal(answer.kind, as);
    }
  });

  it('reports what contradicts the order, and more than one hold', async (t) => {
    const { authorize, lookup, setFaults } = await open(t);
    await setFaults([{ fault: { kind: 'wrong-amount' }, ...ONCE }]);
    const wrong = anOrder({ orderId: 'wrong' });
    await authorize(wrong);
    const contradicted = await lookup(wrong);
    assert.equal(contradicted.kind === 'contradicted' && contradicted.reason, 'amount_mismatch');

    const twice = anOrder({ orderId: 'twice' });
    await authorize(twice);
    await authorize(twice, 2);
    const several = await lookup(twice);
    assert.equal(several.kind === 'contradicted' && several.reason, 'several_approvals');
    const foreign = await authorize(anOrder({ orderId: 'other' }));
    assert.ok(foreign.kind === 'approved');
    const mismatch = await lookup(twice, { reference: foreign.reference });
    assert.equal(mismatch.kind === 'contradicted' && mismatch.reason, 'order_mismatch');
  });

  it('has no answer when the question fails', async (t) => {
    const { gateway, lookup, setFaults } = await open(t);
    for (const fault of [
      { kind: '429', retryAfter: 7 },
      { kind: '401' },
      { kind: '404' },
      { kind: 'html-502' },
      { kind: 'cut-body' },
      { kind: 'drop-before-charge' },
    ] as const) {
      await setFaults([{ match: { path: '/v1/payment_intents/*' }, fault }]);
      const answer = await lookup(anOrder());
      assert.equal(answer.kind, 'unanswered', JSON.stringify({ fault, answer }));
      if (fault.kind === '429') assert.equal(answer.retryAfterMs, 7_000);
      const voided = await gateway.void({ reference: 'pi_1', idempotencyKey: 'order-1-1-void' });
      assert.ok(voided.kind === 'unanswered' || fault.kind === '404', JSON.stringify({ fault, voided }));
    }
  });
});

describe('voiding at Stripe', () => {
  it('gives the hold back, and says so again', async (t) => {
    const { gateway, authorize } = await open(t);
    const approved = await authorize(anOrder());
    assert.ok(approved.kind === 'approved');
    const { reference } = approved;
    for (const idempotencyKey of ['order-1234-1-void', 'order-1234-1-void', 'somebody else’s'.slice(0, 8)]) {
      assert.deepEqual(await gateway.void({ reference, idempotencyKey }), { kind: 'voided' });
    }
  });

  it('is refused for what the gateway does not know', async (t) => {
    const { gateway } = await open(t);
    const outcome = await gateway.void({ reference: 'pi_none', idempotencyKey: 'order-1-1-void' });
    assert.equal(outcome.kind, 'refused');
  });
});
