/** The bench's gateway, by the worker's own client: what it does not understand would end it in the middle of a round. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayBooks } from '../../bench/gateway/gateway-books.ts';
import { startLeanGateway } from '../../bench/gateway/lean-gateway.ts';
import { createStripeGateway } from '../../src/adapters/gateway/stripe-gateway.ts';
import { Secret } from '../../src/domain/card.ts';
import { collectingLog } from '../gateway/collecting-log.ts';
import { anOrder } from '../gateway/orders.ts';
import { freePorts } from '../support/private-services.ts';

it('approves a charge once a key, is away when told to, and finds the charge whose answer was lost', async (t) => {
  const [port = 0] = await freePorts(1);
  const books = new GatewayBooks();
  const lean = await startLeanGateway(port, books);
  const client = createStripeGateway({
    baseUrl: `http://127.0.0.1:${port}`,
    apiKey: new Secret('sk_test_bench'),
    wallMs: 5_000,
    connections: 4,
    log: collectingLog(),
  });
  t.after(async () => {
    lean.close();
    await client.close();
  });
  const [charged, never] = [anOrder({ orderId: '17' }), anOrder({ orderId: '18' })];
  const ask = { order: charged, idempotencyKey: 'order-17-1' };
  const lookup = { terms: charged.terms, idempotencyKey: 'order-17-1', reference: undefined };

  const approved = await client.authorize(ask);
  assert.ok(approved.kind === 'approved', JSON.stringify(approved));
  assert.deepEqual(await client.authorize(ask), approved);
  assert.deepEqual(await client.lookup(lookup), approved);
  const unknown = { ...lookup, terms: never.terms, idempotencyKey: 'order-18-1' };
  assert.equal((await client.lookup(unknown)).kind, 'undecided');

  const away = lean.goAway(50);
  await sleep(10);
  assert.equal((await client.lookup(lookup)).kind, 'unanswered');
  await away;
  assert.deepEqual(await client.lookup(lookup), approved);
  assert.deepEqual(books.counts, { orders: 1, chargedAgain: 0, requests: 2 });
});
