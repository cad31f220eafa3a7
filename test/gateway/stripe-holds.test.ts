import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { createStripeHolds } from '../../src/adapters/gateway/stripe-holds.ts';
import { Secret } from '../../src/domain/card.ts';
import type { GatewayHold } from '../../src/ports/gateway-holds.ts';
import { systemClock } from '../../src/topology/system-clock.ts';

const FROM_MS = Date.UTC(2026, 0, 31);
const range = { fromMs: FROM_MS + 1, toMs: FROM_MS + 60_001 };

describe("Stripe's list of authorizations", () => {
  it('is read page by page, with the range it was asked for, in minor units', async (t) => {
    const asked: string[] = [];
    const { list } = await openList(t, (url) => {
      asked.push(url);
      const isSecond = url.includes('starting_after=pi_2');
      return [200, page(isSecond ? [intent('pi_3', { status: 'canceled' })] : [intent('pi_1'), intent('pi_2', { currency: 'isk', amount: 500, amount_capturable: 300 })], !isSecond)];
    }); // prettier-ignore
    const holds = await list();
    assert.deepEqual(holds.map(({ reference, state, amountMinor }) => [reference, state, amountMinor]), [
      ['pi_1', 'held', 4223n],
      ['pi_2', 'held', 3n],
      ['pi_3', 'released', 4223n],
    ]); // prettier-ignore
    assert.deepEqual(asked, [
      `/v1/payment_intents?created[gte]=${FROM_MS / 1000}&created[lte]=${FROM_MS / 1000 + 61}&limit=100`,
      `/v1/payment_intents?created[gte]=${FROM_MS / 1000}&created[lte]=${FROM_MS / 1000 + 61}&limit=100&starting_after=pi_2`,
    ]);
  });

  it('is asked for again after a page that did not come', async (t) => {
    let tries = 0;
    const { list } = await openList(t, () => (++tries === 1 ? [503, '{}'] : [200, page([intent('pi_1')])]));
    assert.equal((await list()).length, 1);
  });

  for (const [what, status, body] of [
    ['a refused key', 401, '{"error":{"type":"invalid_request_error"}}'],
    ['a wrong question', 400, '{"error":{"type":"invalid_request_error"}}'],
  ] as const) {
    it(`fails at once for ${what}: a part of a list proves nothing`, async (t) => {
      let tries = 0;
      const { list } = await openList(t, (url) => {
        tries += 1;
        return url.includes('starting_after') ? [status, body] : [200, page([intent('pi_1')], true)];
      });
      await assert.rejects(list(), { errorClass: 'gateway' });
      assert.equal(tries, 2);
    });
  }
});

async function openList(t: TestContext, answer: (url: string) => readonly [status: number, body: string]) {
  const server = createServer((request, response) => {
    const [status, body] = answer(decodeURIComponent(request.url ?? ''));
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const baseUrl = `http://127.0.0.1:${port}`;
  const holds = createStripeHolds({
    baseUrl,
    apiKey: new Secret('sk_test_1'),
    wallMs: 5_000,
    clock: systemClock,
  });
  t.after(async () => {
    await holds.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const list = async (): Promise<GatewayHold[]> => {
    const all: GatewayHold[] = [];
    for await (const hold of holds.list(range)) all.push(hold);
    return all;
  };
  return { list };
}

function page(data: readonly object[], hasMore = false): string {
  return JSON.stringify({ object: 'list', data, has_more: hasMore, url: '/v1/payment_intents' });
}

function intent(id: string, change: object = {}): object {
  return {
    id,
    object: 'payment_intent',
    status: 'requires_capture',
    amount: 4223,
    amount_capturable: 4223,
    currency: 'usd',
    created: FROM_MS / 1000,
    metadata: { order_id: '1234', idempotency_key: 'order-1234-1' },
    ...change,
  };
}
