import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { inspect } from 'node:util';
import adyen from '@adyen/api-library';
import {
  ADYEN_API_VERSION,
  authorizationRequest,
  cancelRequest,
  referenceOf,
  wireKey,
} from '../../src/adapters/gateway/adyen-dialect.ts';
import { createHttpClient, type HttpClient } from '../../src/adapters/gateway/http-client.ts';
import { wallIn } from '../../src/adapters/gateway/wall.ts';
import { Secret } from '../../src/domain/card.ts';
import { MERCHANT_ACCOUNT, officialAdyen, officialPayment } from './official-adyen.ts';
import { anOrder, cardMeans, CVV, VISA } from './orders.ts';

const KEY = 'order-1234-1';
const ACCOUNT = { apiKey: new Secret('AQE-dialect'), merchantAccount: MERCHANT_ACCOUNT };

describe("Adyen's dialect", () => {
  it('writes the fields in one fixed order', () => {
    assert.equal(
      authorizationRequest(anOrder(), KEY, ACCOUNT).body.reveal(),
      '{"merchantAccount":"ExampleCom","amount":{"currency":"USD","value":4223},"reference":"1234",' +
        `"merchantOrderReference":"1234","paymentMethod":{"type":"scheme","number":"${VISA}","expiryMonth":"01",` +
        `"expiryYear":"2034","cvc":"${CVV}"},"shopperInteraction":"Ecommerce",` +
        '"authenticationData":{"attemptAuthentication":"never"},"additionalData":{"manualCapture":"true"},' +
        '"returnUrl":"https://cardauth.invalid/"}',
    );
  });

  it('writes the same bytes for the same order and key', () => {
    const [one, two] = [1, 2].map(() => authorizationRequest(anOrder(), KEY, ACCOUNT));
    assert.equal(one?.body.reveal(), two?.body.reveal());
    assert.deepEqual(one?.headers, two?.headers);
  });

  it('writes amounts beyond what a number holds exactly', () => {
    const order = anOrder({ amountMinor: 9007199254740993n });
    assert.match(authorizationRequest(order, KEY, ACCOUNT).body.reveal(), /"value":9007199254740993}/);
  });

  it('shows no card when it is printed', () => {
    const text = inspect(authorizationRequest(anOrder(), KEY, ACCOUNT), { depth: 9, showHidden: true });
    assert.doesNotMatch(text, new RegExp(`${VISA}|${CVV}`));
  });

  it('cancels under a key of its own, and only below the payments', () => {
    const { path, headers } = cancelRequest('PSP/../x', KEY, ACCOUNT);
    assert.equal(path, '/v72/payments/PSP%2F..%2Fx/cancels');
    assert.equal(headers['idempotency-key'], 'order-1234-1-cancel');
  });

  it('keeps keys of up to 64 characters and hashes longer ones, the same each time', () => {
    const longest = `order-${'x'.repeat(56)}-1`;
    assert.equal(longest.length, 64);
    assert.equal(wireKey(longest), longest);
    const longer = `order-${'x'.repeat(57)}-1`;
    assert.equal(wireKey(longer), createHash('sha256').update(longer).digest('hex'));
    assert.equal(wireKey(longer).length, 64);
    assert.notEqual(wireKey(`order-${'x'.repeat(57)}-2`), wireKey(longer));
    const headers = cancelRequest('PSP', longest, ACCOUNT).headers;
    assert.equal(headers['idempotency-key'], wireKey(`${longest}-cancel`));
  });

  it('keeps references of up to 80 characters and hashes longer ids, which stay readable beside', () => {
    assert.equal(referenceOf('x'.repeat(80)), 'x'.repeat(80));
    const orderId = 'x'.repeat(81);
    assert.match(referenceOf(orderId), /^order-sha256-[0-9a-f]{64}$/);
    const body = authorizationRequest(anOrder({ orderId }), KEY, ACCOUNT).body.reveal();
    assert.ok(body.includes(`"reference":"${referenceOf(orderId)}","merchantOrderReference":"${orderId}"`));
  });
});

describe('what the official Adyen client sends', () => {
  const received: ReceivedRequest[] = [];
  let server: Server;
  let port: number;
  let http: HttpClient;

  before(async () => {
    // Takes chunked requests, as the official client's are.
    server = createServer((request, response) => {
      void text(request).then((body) => {
        received.push({ method: request.method, url: request.url, headers: request.headers, body });
        response.setHeader('Content-Type', 'application/json').end('{"resultCode":"Authorised"}');
      });
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    ({ port } = server.address() as AddressInfo);
    http = createHttpClient({
      origin: `http://127.0.0.1:${port}`,
      connections: 1,
      connectTimeoutMs: 1_000,
    });
  });
  after(async () => {
    await http.close();
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });

  it('is what we send, value by value, for a card, a token and awkward text', async (t) => {
    const official = officialAdyen(t, port, ACCOUNT.apiKey.reveal());
    const orders = [
      anOrder(),
      anOrder({ means: cardMeans('6205500000000000004'), currency: 'JPY', amountMinor: 5000n }),
      anOrder({ means: { kind: 'token', paymentMethod: '8415698462516992' } }),
      anOrder({ orderId: `a!b'c(d)e*f~g-h_i.j/k?l&m=n+o%p[q]r"s\\t` }),
    ];
    for (const order of orders) {
      await http.post(authorizationRequest(order, KEY, ACCOUNT), wallIn(2_000));
      await official.PaymentsApi.payments(officialPayment(order), { idempotencyKey: KEY });
      assertSame(received);
    }
  });

  it('is what we send to cancel', async (t) => {
    const official = officialAdyen(t, port, ACCOUNT.apiKey.reveal());
    await http.post(cancelRequest('PSP', KEY, ACCOUNT), wallIn(2_000));
    await official.ModificationsApi.cancelAuthorisedPaymentByPspReference(
      'PSP',
      Object.assign(new adyen.Types.checkout.PaymentCancelRequest(), { merchantAccount: MERCHANT_ACCOUNT }),
      { idempotencyKey: `${KEY}-cancel` },
    );
    assertSame(received);
  });

  it('goes to the same version of the API', () => {
    assert.ok(received.every(({ url }) => url?.startsWith(`/${ADYEN_API_VERSION}/`)));
  });
});

interface ReceivedRequest {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** The last two requests say the same; the order of JSON's members is each client's own. */
function assertSame(received: readonly ReceivedRequest[]): void {
  const [ours, theirs] = received.slice(-2);
  assert.ok(ours !== undefined && theirs !== undefined);
  assert.deepEqual([ours.method, ours.url], [theirs.method, theirs.url]);
  for (const name of ['x-api-key', 'content-type', 'idempotency-key']) {
    assert.notEqual(ours.headers[name], undefined, name);
    assert.equal(ours.headers[name], theirs.headers[name], name);
  }
  assert.deepEqual(JSON.parse(ours.body), JSON.parse(theirs.body));
}
