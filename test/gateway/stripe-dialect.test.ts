import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { inspect } from 'node:util';
import Stripe from 'stripe';
import { Secret } from '../../src/domain/card.ts';
import { withoutCvv } from '../../src/domain/order.ts';
import {
  authorizationRequest,
  cancelRequest,
  retrieveRequest,
  searchRequest,
  STRIPE_API_VERSION,
} from '../../src/adapters/gateway/stripe-dialect.ts';
import { createHttpClient } from '../../src/adapters/gateway/http-client.ts';
import { wallIn } from '../../src/adapters/gateway/wall.ts';
import type { HttpClient } from '../../src/adapters/gateway/http-client.ts';
import type { PostRequest } from '../../src/adapters/gateway/http-exchange.ts';
import { officialParams } from './official-params.ts';
import { anOrder, cardMeans, CVV, VISA } from './orders.ts';
import { bodyOf, headerOf, httpAnswer, startRawServer } from './raw-server.ts';
import type { RawServer } from './raw-server.ts';

const KEY = 'order-1234-1';
const API_KEY = new Secret('sk_test_dialect');

describe("Stripe's dialect", () => {
  it('writes the fields in one fixed order', () => {
    assert.equal(
      authorizationRequest(anOrder(), KEY, API_KEY).body.reveal(),
      'amount=4223&currency=usd&capture_method=manual&confirm=true&off_session=true' +
        '&allowed_payment_method_types[0]=card&payment_method_data[type]=card' +
        `&payment_method_data[card][number]=${VISA}&payment_method_data[card][exp_month]=1` +
        `&payment_method_data[card][exp_year]=2034&payment_method_data[card][cvc]=${CVV}&metadata[order_id]=1234` +
        '&metadata[idempotency_key]=order-1234-1&expand[0]=latest_charge',
    );
  });

  it('writes the same bytes for the same order and key', () => {
    const [one, two] = [1, 2].map(() => authorizationRequest(anOrder(), KEY, API_KEY));
    assert.equal(one?.body.reveal(), two?.body.reveal());
    assert.deepEqual(one?.headers, two?.headers);
  });

  it('sends a token instead of a card', () => {
    const order = anOrder({ means: { kind: 'token', paymentMethod: 'pm_card_visa' } });
    const body = authorizationRequest(order, KEY, API_KEY).body.reveal();
    assert.match(body, /&payment_method=pm_card_visa&/);
    assert.doesNotMatch(body, /payment_method_data/);
  });

  it('writes amounts beyond what a number holds exactly', () => {
    const body = authorizationRequest(
      anOrder({ amountMinor: 9007199254740993n }),
      KEY,
      API_KEY,
    ).body.reveal();
    assert.match(body, /^amount=9007199254740993&/);
  });

  it('shows no card when it is printed', () => {
    const text = inspect(authorizationRequest(anOrder(), KEY, API_KEY), { depth: 9, showHidden: true });
    assert.doesNotMatch(text, new RegExp(`${VISA}|${CVV}`));
  });

  it('cancels and retrieves only below the intents', () => {
    const { path, headers } = cancelRequest('pi_1/../x', `${KEY}-void`, API_KEY);
    assert.equal(path, '/v1/payment_intents/pi_1%2F..%2Fx/cancel');
    assert.equal(headers['idempotency-key'], 'order-1234-1-void');
    assert.match(retrieveRequest('pi_1/../x', API_KEY).path, /^\/v1\/payment_intents\/pi_1%2F..%2Fx\?/);
  });
});

describe('what the official client sends', () => {
  let server: RawServer;
  let http: HttpClient;
  let stripe: Stripe;

  before(async () => {
    server = await startRawServer((socket) =>
      socket.write(httpAnswer(200, '{"id":"pi_1","object":"payment_intent"}')),
    );
    http = createHttpClient({ origin: server.origin, connections: 1, connectTimeoutMs: 1_000 });
    stripe = new Stripe(API_KEY.reveal(), {
      host: '127.0.0.1',
      port: server.port,
      protocol: 'http',
      maxNetworkRetries: 0,
      telemetry: false,
    });
  });
  after(async () => {
    await http.close();
    await server.close();
  });

  it('is what we send, byte by byte, for a card, with and without CVV, a token and awkward text', async () => {
    const orders = [
      anOrder(),
      anOrder({ means: cardMeans('6205500000000000004'), currency: 'JPY', amountMinor: 5000n }),
      anOrder({ means: { kind: 'token', paymentMethod: 'pm_card_visa' } }),
      withoutCvv(anOrder()),
      anOrder({ orderId: `a!b'c(d)e*f~g-h_i.j/k?l&m=n+o%p[q]r"s\\t` }),
    ];
    for (const order of orders) {
      await http.post(authorizationRequest(order, KEY, API_KEY), wallIn(2_000));
      await stripe.paymentIntents.create(officialParams(order, KEY), { idempotencyKey: KEY });
      assertSame(...lastTwo(server));
    }
  });

  it('is what we send to cancel', async () => {
    const request: PostRequest = cancelRequest('pi_1', `${KEY}-void`, API_KEY);
    await http.post(request, wallIn(2_000));
    const options = { idempotencyKey: `${KEY}-void` };
    await stripe.paymentIntents.cancel('pi_1', { cancellation_reason: 'abandoned' }, options);
    assertSame(...lastTwo(server));
  });

  it('is what we send to ask', async () => {
    await http.get(retrieveRequest('pi_1', API_KEY), wallIn(2_000));
    await stripe.paymentIntents.retrieve('pi_1', { expand: ['latest_charge'] });
    assertSame(...lastTwo(server), ASKING_HEADERS);
    for (const [orderId, quoted] of [
      ['1234', '1234'],
      [`a'b\\c"&%`, `a\\'b\\\\c"&%`],
    ] as const) {
      const query = `metadata['order_id']:'${quoted}'`;
      await http.get(searchRequest(orderId, API_KEY), wallIn(2_000));
      await stripe.paymentIntents.search({ query, limit: 100, expand: ['data.latest_charge'] });
      assertSame(...lastTwo(server), ASKING_HEADERS);
    }
  });

  it('carries the same API version', () => {
    assert.equal(Stripe.API_VERSION, STRIPE_API_VERSION);
  });
});

function lastTwo(server: RawServer): [string, string] {
  const [ours, theirs] = server.requests.slice(-2);
  assert.ok(ours !== undefined && theirs !== undefined);
  return [ours, theirs];
}

const ASKING_HEADERS = ['authorization', 'accept', 'stripe-version'];
const CHANGING_HEADERS = [...ASKING_HEADERS, 'content-type', 'idempotency-key'];

function assertSame(ours: string, theirs: string, names = CHANGING_HEADERS): void {
  assert.equal(ours.split('\r\n')[0], theirs.split('\r\n')[0]);
  for (const name of names) {
    assert.notEqual(headerOf(ours, name), undefined, name);
    assert.equal(headerOf(ours, name), headerOf(theirs, name), name);
  }
  assert.equal(bodyOf(ours), bodyOf(theirs));
}
