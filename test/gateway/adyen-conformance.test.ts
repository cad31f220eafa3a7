import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAdyenGateway } from '../../src/adapters/gateway/adyen-gateway.ts';
import { Secret } from '../../src/domain/card.ts';
import type { LedgerEntry } from '../../src/simulator/ledger.ts';
import { describeGatewayConformance } from '../conformance/gateway.ts';
import { collectingLog } from './collecting-log.ts';
import { MERCHANT_ACCOUNT, officialAdyen, officialPayment } from './official-adyen.ts';
import { anOrder } from './orders.ts';
import { openSimulatedGateway, type SimulatedGateway } from './simulated-gateway.ts';

const API_KEY = 'AQE-conformance';

function open(wallMs: number): Promise<SimulatedGateway> {
  return openSimulatedGateway((baseUrl) =>
    createAdyenGateway({
      baseUrl,
      apiKey: new Secret(API_KEY),
      merchantAccount: MERCHANT_ACCOUNT,
      wallMs,
      connections: 8,
      log: collectingLog(),
    }),
  );
}

// A key brings the first answer back whatever it is sent with: that it is no answer to us is seen by its amount.
describeGatewayConformance('Adyen dialect', open, { reusedKey: 'contradicted amount_mismatch' });

describe('Adyen dialect and the official client', () => {
  it('are one client to the gateway: the same parameters, and the same key brings the same payment', async (t) => {
    const subject = await open(20_000);
    t.after(() => subject.close());
    const order = anOrder();
    const ours = await subject.gateway.authorize({ order, idempotencyKey: 'order-1234-1' });
    const official = officialAdyen(t, subject.port, API_KEY);
    const replayed = await official.PaymentsApi.payments(officialPayment(order), {
      idempotencyKey: 'order-1234-1',
    });
    assert.deepEqual(ours, { kind: 'approved', reference: replayed.pspReference });
    assert.equal((await subject.holds('1234')).length, 1);

    await official.PaymentsApi.payments(officialPayment(order), { idempotencyKey: 'another' });
    const [first, second, ...more] = await subject.ledger();
    assert.deepEqual(more, []);
    assert.ok(first !== undefined && second !== undefined);
    assert.equal(first.paramsDigest, second.paramsDigest);
    assert.deepEqual(charged(first), charged(second));
  });

  it('authorizes orders whose id is longer than a key or a reference may be, once each', async (t) => {
    const subject = await open(20_000);
    t.after(() => subject.close());
    for (const length of [57, 58, 80, 81, 128]) {
      const order = anOrder({ orderId: 'x'.repeat(length) });
      const request = { order, idempotencyKey: `order-${order.terms.orderId}-1` };
      const first = await subject.gateway.authorize(request);
      assert.equal(first.kind, 'approved', JSON.stringify(first));
      assert.deepEqual(await subject.gateway.authorize(request), first);
      assert.equal((await subject.holds(order.terms.orderId)).length, 1);
    }
  });

  it('holds the amount in the units of the gateway', async (t) => {
    const subject = await open(20_000);
    t.after(() => subject.close());
    const isk = anOrder({ orderId: 'isk', currency: 'ISK', amountMinor: 500n });
    assert.equal((await subject.gateway.authorize({ order: isk, idempotencyKey: 'k1' })).kind, 'approved');
    assert.equal((await subject.holds('isk'))[0]?.amountMinor, 50_000);
    const idr = anOrder({ orderId: 'idr', currency: 'IDR', amountMinor: 1050n });
    const refused = await subject.gateway.authorize({ order: idr, idempotencyKey: 'k2' });
    assert.deepEqual(refused, { kind: 'rejected', code: 'amount_not_expressible' });
    assert.equal(await subject.arrivals('idr'), 0);
  });
});

/** A ledger entry without what every execution has of its own. */
function charged(entry: LedgerEntry): Partial<LedgerEntry> {
  const own = new Set(['at', 'createdAt', 'authorizationId', 'idempotencyKey']);
  return Object.fromEntries(Object.entries(entry).filter(([name]) => !own.has(name)));
}
