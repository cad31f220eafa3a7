import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { createAdyenGateway, type AdyenGateway } from '../../src/adapters/gateway/adyen-gateway.ts';
import { Secret } from '../../src/domain/card.ts';
import { collectingLog } from './collecting-log.ts';
import { MERCHANT_ACCOUNT } from './official-adyen.ts';
import { anOrder, CVV, VISA } from './orders.ts';
import { bodyOf, headerOf, httpAnswer, startRawServer, unusedPort, type RawServer } from './raw-server.ts';

const API_KEY = 'AQE-never-to-be-seen';
const PSP = 'NC6HT9CRT65ZGN82';
const REQUEST = { order: anOrder(), idempotencyKey: 'order-1234-1' };
const PAYMENT = {
  pspReference: PSP,
  resultCode: 'Authorised',
  amount: { currency: 'USD', value: 4223 },
  merchantReference: '1234',
};
const RECEIVED = { merchantAccount: MERCHANT_ACCOUNT, paymentPspReference: PSP, status: 'received' };

const opened: { close(): Promise<void> }[] = [];
const log = collectingLog();

afterEach(async () => {
  for (const thing of opened.splice(0)) await thing.close();
  log.lines.length = 0;
});

function gateway(baseUrl: string, wallMs = 5_000): AdyenGateway {
  const apiKey = new Secret(API_KEY);
  const options = { baseUrl, apiKey, merchantAccount: MERCHANT_ACCOUNT, wallMs, connections: 4, log };
  const created = createAdyenGateway(options);
  opened.push(created);
  return created;
}

/** Answers the nth request with the nth answer, the last one for all that follow; undefined: no answer. */
async function answering(...answers: (string | undefined)[]): Promise<RawServer> {
  const started = await startRawServer((socket, _request, nth) => {
    const answer = answers[Math.min(nth, answers.length) - 1];
    if (answer !== undefined) socket.write(answer);
  });
  opened.push(started);
  return started;
}

function payment(change: object = {}): string {
  return httpAnswer(200, JSON.stringify({ ...PAYMENT, ...change }));
}

function error(status: number, change: object = {}): string {
  return httpAnswer(status, JSON.stringify({ status, errorCode: '000', errorType: 'internal', ...change }));
}

describe('the Adyen gateway', () => {
  it('answers an approval with the reference', async () => {
    const server = await answering(payment());
    const outcome = await gateway(server.origin).authorize(REQUEST);
    assert.deepEqual(outcome, { kind: 'approved', reference: PSP });
    assert.equal(server.requests.length, 1);
  });

  it('keeps the path of the base URL, as of live ones', async () => {
    const server = await answering(payment());
    await gateway(`${server.origin}/checkout/`).authorize(REQUEST);
    assert.match(server.requests[0] ?? '', /^POST \/checkout\/v72\/payments HTTP/);
  });

  it('sends the same bytes once more after a 500, and takes the verdict', async () => {
    const server = await answering(error(500), payment());
    assert.equal((await gateway(server.origin).authorize(REQUEST)).kind, 'approved');
    assert.equal(server.requests.length, 2);
    assert.equal(server.requests[0], server.requests[1]);
  });

  it('does not send a third time', async () => {
    const server = await answering(error(500));
    const outcome = await gateway(server.origin).authorize(REQUEST);
    assert.equal(outcome.kind === 'unknown' && outcome.cause, 'server_error');
    assert.equal(server.requests.length, 2);
  });

  it('has a partial approval cancelled under a key of its own, and reports it, accepted or not', async () => {
    for (const [answer, level] of [
      [httpAnswer(201, JSON.stringify(RECEIVED)), 'info'],
      [error(500), 'warn'],
    ] as const) {
      const server = await answering(payment({ resultCode: 'PartiallyAuthorised' }), answer);
      assert.deepEqual(await gateway(server.origin).authorize(REQUEST), {
        kind: 'contradicted',
        reason: 'partial_approval',
        reference: PSP,
      });
      const cancel = server.requests[1] ?? '';
      assert.match(cancel, new RegExp(`^POST /v72/payments/${PSP}/cancels HTTP`));
      assert.equal(headerOf(cancel, 'idempotency-key'), 'order-1234-1-cancel');
      assert.equal(bodyOf(cancel), `{"merchantAccount":"${MERCHANT_ACCOUNT}"}`);
      assert.equal(log.lines.at(-1)?.level, level);
    }
  });

  it('drops a challenge without another request', async () => {
    const server = await answering(payment({ resultCode: 'ChallengeShopper', pspReference: undefined }));
    const outcome = await gateway(server.origin).authorize(REQUEST);
    assert.equal(outcome.kind === 'declined' && outcome.reason, 'authentication_required');
    assert.equal(server.requests.length, 1);
  });

  it('ends within the wall, whichever of its requests is not answered', async () => {
    const WALL_MS = 400;
    const beginnings: (string | undefined)[][] = [
      [undefined],
      [error(500), undefined],
      [payment({ resultCode: 'PartiallyAuthorised' }), undefined],
    ];
    for (const answers of beginnings) {
      const server = await answering(...answers);
      const begunAtMs = performance.now();
      const outcome = await gateway(server.origin, WALL_MS).authorize(REQUEST);
      const tookMs = performance.now() - begunAtMs;
      assert.ok(['unknown', 'contradicted'].includes(outcome.kind), outcome.kind);
      assert.equal(server.requests.length, answers.length);
      assert.ok(tookMs > WALL_MS - 5 && tookMs < WALL_MS + 1_000, `${tookMs} ms`);
    }
  });

  it('is unavailable and not unknown when nothing was sent', async () => {
    const outcome = await gateway(`http://127.0.0.1:${await unusedPort()}`).authorize(REQUEST);
    assert.equal(outcome.kind === 'unavailable' && outcome.cause, 'not_sent');
  });

  it('refuses an amount that it cannot express, without a request', async () => {
    const server = await answering(payment());
    const order = anOrder({ currency: 'CVE', amountMinor: 150n });
    const outcome = await gateway(server.origin).authorize({ order, idempotencyKey: 'order-1234-1' });
    assert.deepEqual(outcome, { kind: 'rejected', code: 'amount_not_expressible' });
    assert.equal(server.requests.length, 0);
  });

  it('warns of a refusal that nobody knows', async () => {
    const server = await answering(payment({ resultCode: 'Refused', refusalReasonCode: '98' }));
    await gateway(server.origin).authorize(REQUEST);
    assert.deepEqual(log.lines.at(-1)?.fields, { orderId: '1234', code: '98_unknown' });
  });

  it('shows no card, code or key, whatever the gateway echoes', async () => {
    const echo = `${VISA} ${CVV} ${API_KEY}`;
    const answers = [
      error(422, { errorCode: echo, message: echo, errorType: echo, pspReference: echo }),
      error(422, { errorCode: VISA, message: echo }),
      error(500, { errorCode: VISA, errorType: 'configuration' }),
      payment({ resultCode: 'Refused', refusalReason: echo, refusalReasonCode: echo }),
      payment({ resultCode: 'Refused', refusalReason: echo, refusalReasonCode: VISA }),
      payment({ resultCode: echo }),
      payment({ resultCode: VISA }),
      payment({ pspReference: VISA }),
      payment({ merchantReference: echo }),
      httpAnswer(200, `{"pspReference":${echo}`),
      httpAnswer(502, `<html>${echo}`, { 'Content-Type': 'text/html' }),
      `HTTP/1.1 ${echo}\r\n\r\n`,
    ];
    for (const answer of answers) {
      const server = await answering(answer);
      const shown = inspect([await gateway(server.origin, 500).authorize(REQUEST), log.lines], { depth: 9 });
      assert.doesNotMatch(shown, new RegExp(`${CVV}|${API_KEY}|${VISA}`));
    }
  });
});
