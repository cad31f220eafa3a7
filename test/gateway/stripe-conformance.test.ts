import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import Stripe from 'stripe';
import { Secret } from '../../src/domain/card.ts';
import { createStripeGateway } from '../../src/adapters/gateway/stripe-gateway.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import type { LedgerEntry } from '../../src/simulator/ledger.ts';
import type { LoggedRequest } from '../../src/simulator/request-log.ts';
import { describeGatewayConformance } from '../conformance/gateway.ts';
import type { GatewayUnderTest, Hold } from '../conformance/gateway.ts';
import { collectingLog } from './collecting-log.ts';
import { officialParams } from './official-params.ts';
import { anOrder } from './orders.ts';

interface StripeUnderTest extends GatewayUnderTest {
  readonly port: number;
}

async function open(wallMs: number): Promise<StripeUnderTest> {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-'));
  const simulator = await startSimulator({ port: 0, ledgerFile: join(directory, 'ledger.jsonl') });
  const gateway = createStripeGateway({
    baseUrl: simulator.url,
    apiKey: new Secret('sk_test_conformance'),
    wallMs,
    connections: 8,
    log: collectingLog(),
  });

  async function door<T>(path: string, init?: { method: string; body?: string }): Promise<T> {
    const answer = await fetch(simulator.url + path, init);
    assert.equal(answer.status, 200, `${path}: HTTP ${answer.status}`);
    return (await answer.json()) as T;
  }

  return {
    gateway,
    port: simulator.port,
    arrange: async (fault) => {
      await door('/__faults', { method: 'PUT', body: JSON.stringify([{ fault, times: 1 }]) });
    },
    release: async () => {
      await door('/__release', { method: 'POST' });
    },
    holds: async (orderId) => heldFor(orderId, (await door<{ entries: LedgerEntry[] }>('/__ledger')).entries),
    arrivals: async (orderId) =>
      (await door<{ recent: LoggedRequest[] }>(`/__requests?orderId=${encodeURIComponent(orderId)}`)).recent
        .length,
    close: async () => {
      await simulator.close();
      await gateway.close();
      rmSync(directory, { recursive: true });
    },
  };
}

function heldFor(orderId: string, entries: readonly LedgerEntry[]): Hold[] {
  const voided = new Set(entries.filter(({ kind }) => kind === 'void').map((entry) => entry.authorizationId));
  return entries
    .filter((entry) => entry.kind === 'approval' && entry.orderId === orderId)
    .filter((entry) => !voided.has(entry.authorizationId))
    .map((entry) => ({
      reference: entry.authorizationId,
      amountMinor: entry.amountMinor,
      currency: entry.currency.toUpperCase(),
    }));
}

describeGatewayConformance('Stripe dialect', open);

describe('Stripe dialect and the official client', () => {
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
      const theirs = await stripe.paymentIntents.create(officialParams(order, 'order-1234-1'), {
        idempotencyKey: 'order-1234-1',
      });
      assert.ok(typeof theirs.latest_charge === 'object');
      const captureBefore = theirs.latest_charge?.payment_method_details?.card?.capture_before;
      assert.ok(captureBefore !== undefined);
      assert.deepEqual(ours, {
        kind: 'approved',
        reference: theirs.id,
        expiresAtMs: captureBefore * 1000,
      });
      assert.equal((await subject.holds('1234')).length, 1);
    } finally {
      await subject.close();
    }
  });
});
