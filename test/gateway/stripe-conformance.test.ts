import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import Stripe from 'stripe';
import { Secret } from '../../src/domain/card.ts';
import { createStripeGateway } from '../../src/adapters/gateway/stripe-gateway.ts';
import { describeGatewayConformance } from '../conformance/gateway.ts';
import { collectingLog } from './collecting-log.ts';
import { officialParams } from './official-params.ts';
import { anOrder } from './orders.ts';
import { openSimulatedGateway, type SimulatedGateway } from './simulated-gateway.ts';

function open(wallMs: number): Promise<SimulatedGateway> {
  return openSimulatedGateway((baseUrl) =>
    createStripeGateway({
      baseUrl,
      apiKey: new Secret('sk_test_conformance'),
      wallMs,
      connections: 8,
      log: collectingLog(),
    }),
  );
}

describeGatewayConformance('Stripe dialect', open);

describe('Stripe dialect and the official client', () => {
  it('hold the amount in the units of the gateway, whole and never rounded', async (t) => {
    const subject = await open(20_000);
    t.after(() => subject.close());
    const authorize = (orderId: string, currency: string, amountMinor: bigint) =>
      subject.gateway.authorize({
        order: anOrder({ orderId, currency, amountMinor }),
        idempotencyKey: `order-${orderId}-1`,
      });
    for (const [currency, amountMinor, held] of [
      ['ISK', 500n, 50_000],
      ['UGX', 7n, 700],
      ['MGA', 1500n, 15],
      ['BHD', 1230n, 1230],
    ] as const) {
      assert.equal((await authorize(currency, currency, amountMinor)).kind, 'approved');
      assert.equal((await subject.holds(currency))[0]?.amountMinor, held);
    }
    for (const [currency, amountMinor] of [
      ['MGA', 1501n],
      ['BHD', 1234n],
    ] as const) {
      const outcome = await authorize(`${currency}-fraction`, currency, amountMinor);
      assert.deepEqual(outcome, { kind: 'rejected', code: 'amount_not_expressible' });
      assert.equal(await subject.arrivals(`${currency}-fraction`), 0);
    }
  });

  it('are one client to the gateway: the same key brings the same authorization', async () => {
    const subject = await open(20_000);
    try {
      const order = anOrder();
      const ours = await subject.gateway.authorize({ order, idempotencyKey: 'order-1234-1' });
      const stripe = new Stripe('sk_test_conformance', {
        host: '127.0.0.1',
        port: subject.port,
        protocol: 'http',
        maxNetworkRetries: 0,
        telemetry: false,
      });
      // With other parameters under the same key the gateway would refuse it.
      const theirs = await stripe.paymentIntents.create(officialParams(order), {
        idempotencyKey: 'order-1234-1',
      });
      assert.deepEqual(ours, { kind: 'approved', reference: theirs.id });
      assert.equal((await subject.holds('1234')).length, 1);
    } finally {
      await subject.close();
    }
  });
});
