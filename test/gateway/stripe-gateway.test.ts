import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { Secret } from '../../src/domain/card.ts';
import type { AuthorizationOutcome } from '../../src/domain/outcome.ts';
import { createStripeGateway } from '../../src/adapters/gateway/stripe-gateway.ts';
import type { StripeGateway } from '../../src/adapters/gateway/stripe-gateway.ts';
import { collectingLog } from './collecting-log.ts';
import { anOrder, CVV, VISA } from './orders.ts';
import { bodyOf, headerOf, httpAnswer, startRawServer, unusedPort } from './raw-server.ts';
import type { RawServer, Respond } from './raw-server.ts';

const API_KEY = 'sk_test_never_to_be_seen';
const REQUEST = { order: anOrder(), idempotencyKey: 'order-1234-1' };
const INTENT = {
  id: 'pi_1',
  object: 'payment_intent',
  status: 'requires_capture',
  amount: 4223,
  amount_capturable: 4223,
  currency: 'usd',
  metadata: { order_id: '1234' },
};

const opened: { close(): Promise<void> }[] = [];
const log = collectingLog();

afterEach(async () => {
  for (const thing of opened.splice(0)) await thing.close();
  log.lines.length = 0;
});

function gateway(baseUrl: string, wallMs = 5_000): StripeGateway {
  const created = createStripeGateway({ baseUrl, apiKey: new Secret(API_KEY), wallMs, connections: 4, log });
  opened.push(created);
  return created;
}

/** Answers the nth request with the nth answer, the last one for all that follow; undefined: no answer. */
async function answering(...answers: (string | undefined)[]): Promise<RawServer> {
  const respond: Respond = (socket, _request, nth) => {
    const answer = answers[Math.min(nth, answers.length) - 1];
    if (answer !== undefined) socket.write(answer);
  };
  const started = await startRawServer(respond);
  opened.push(started);
  return started;
}

function intent(change: object = {}): string {
  return httpAnswer(200, JSON.stringify({ ...INTENT, ...change }));
}

function error(status: number, body: object, headers?: Record<string, string>): string {
  return httpAnswer(status, JSON.stringify({ error: body }), headers);
}

describe('the Stripe gateway', () => {
  it('answers an approval with the reference', async () => {
    const server = await answering(intent());
    assert.deepEqual(await gateway(server.origin).authorize(REQUEST), {
      kind: 'approved',
      reference: 'pi_1',
    });
    assert.equal(server.requests.length, 1);
  });

  it('keeps the path of the base URL', async () => {
    const server = await answering(intent());
    await gateway(`${server.origin}/proxied/`).authorize(REQUEST);
    assert.match(server.requests[0] ?? '', /^POST \/proxied\/v1\/payment_intents HTTP/);
  });

  it('sends the same bytes once more after a 500, and takes the verdict', async () => {
    const server = await answering(error(500, { type: 'api_error' }), intent());
    assert.equal((await gateway(server.origin).authorize(REQUEST)).kind, 'approved');
    assert.equal(server.requests.length, 2);
    assert.equal(server.requests[0], server.requests[1]);
  });

  it('does not send a third time, nor a second time when the 500 is final', async () => {
    const again = await answering(error(500, {}));
    assertUnknown(await gateway(again.origin).authorize(REQUEST), 'server_error');
    assert.equal(again.requests.length, 2);
    const replayed = await answering(error(500, {}, { 'Idempotent-Replayed': 'true' }));
    assertUnknown(await gateway(replayed.origin).authorize(REQUEST), 'server_error');
    assert.equal(replayed.requests.length, 1);
  });

  it('cancels a challenge under its own key and denies only then', async () => {
    const server = await answering(intent({ status: 'requires_action' }), intent({ status: 'canceled' }));
    const outcome = await gateway(server.origin).authorize(REQUEST);
    assert.equal(outcome.kind === 'declined' && outcome.reason, 'authentication_required');
    const cancel = server.requests[1] ?? '';
    assert.match(cancel, /^POST \/v1\/payment_intents\/pi_1\/cancel HTTP/);
    assert.equal(headerOf(cancel, 'idempotency-key'), 'order-1234-1-void');
    assert.equal(bodyOf(cancel), 'cancellation_reason=abandoned');
  });

  it('leaves a challenge unknown while its cancel is not confirmed', async () => {
    for (const answer of [error(500, {}), intent({ status: 'requires_capture' }), error(429, {})]) {
      const server = await answering(intent({ status: 'requires_action' }), answer);
      assertUnknown(await gateway(server.origin).authorize(REQUEST), 'pending');
      assert.equal(server.requests.length, 2);
    }
  });

  it('cancels a challenge that came with the resend', async () => {
    const server = await answering(
      error(500, {}),
      intent({ status: 'requires_action' }),
      intent({ status: 'canceled' }),
    );
    assert.equal((await gateway(server.origin).authorize(REQUEST)).kind, 'declined');
  });

  it('voids a partial approval and reports it, void confirmed or not', async () => {
    for (const [answer, level] of [
      [intent({ status: 'canceled', amount_capturable: 0 }), 'info'],
      [error(500, {}), 'warn'],
    ] as const) {
      const server = await answering(intent({ amount_capturable: 1 }), answer);
      assert.deepEqual(await gateway(server.origin).authorize(REQUEST), {
        kind: 'contradicted',
        reason: 'partial_approval',
        reference: 'pi_1',
      });
      assert.equal(log.lines.at(-1)?.level, level);
    }
  });

  it('does not touch an intent that is not ours', async () => {
    const foreign = intent({ status: 'requires_action', metadata: { order_id: '99' } });
    const server = await answering(foreign);
    assert.equal((await gateway(server.origin).authorize(REQUEST)).kind, 'contradicted');
    assert.equal(server.requests.length, 1);
  });

  it('ends within the wall, whichever of its requests is not answered', async () => {
    const WALL_MS = 400;
    const beginnings: (string | undefined)[][] = [
      [undefined],
      [error(500, {}), undefined],
      [intent({ status: 'requires_action' }), undefined],
      [error(500, {}), intent({ status: 'requires_action' }), undefined],
    ];
    for (const answers of beginnings) {
      const server = await answering(...answers);
      const begunAtMs = performance.now();
      const outcome = await gateway(server.origin, WALL_MS).authorize(REQUEST);
      const tookMs = performance.now() - begunAtMs;
      assert.equal(outcome.kind, 'unknown');
      assert.equal(server.requests.length, answers.length);
      assert.ok(tookMs > WALL_MS - 5 && tookMs < WALL_MS + 1_000, `${tookMs} ms`);
    }
  });

  it('is unavailable and not unknown when nothing was sent', async () => {
    const outcome = await gateway(`http://127.0.0.1:${await unusedPort()}`).authorize(REQUEST);
    assert.equal(outcome.kind === 'unavailable' && outcome.cause, 'not_sent');
  });

  it('warns of a decline code that nobody knows', async () => {
    const server = await answering(error(402, { type: 'card_error', decline_code: 'moon_phase' }));
    await gateway(server.origin).authorize(REQUEST);
    assert.deepEqual(log.lines.at(-1)?.fields, { orderId: '1234', code: 'moon_phase' });
  });

  it('shows no card, code or key, whatever the gateway echoes', async () => {
    const echo = `${VISA} ${CVV} ${API_KEY}`;
    const answers = [
      error(400, { type: 'invalid_request_error', code: echo, message: echo, param: echo }),
      error(402, { type: 'card_error', code: VISA, decline_code: echo, advice_code: echo }),
      intent({ status: echo }),
      intent({ status: VISA }),
      intent({ id: VISA }),
      error(402, { type: 'card_error', code: CVV }),
      httpAnswer(200, `{"id":${echo}`),
      httpAnswer(502, `<html>${echo}`, { 'Content-Type': 'text/html' }),
      `HTTP/1.1 ${echo}\r\n\r\n`,
      error(429, {}, { 'Retry-After': echo }),
    ];
    for (const answer of answers) {
      const server = await answering(answer);
      const shown = inspect([await gateway(server.origin, 500).authorize(REQUEST), log.lines], { depth: 9 });
      assert.doesNotMatch(shown, new RegExp(`${CVV}|${API_KEY}|${VISA}`));
    }
  });
});

describe('creating a Stripe gateway', () => {
  it('refuses a URL or a key that cannot be used, without quoting it', () => {
    const unusable = [
      '',
      'gateway',
      'ftp://secret',
      'http://user:secret@host',
      'http://host?secret',
      'http://h#secret',
    ];
    for (const baseUrl of unusable) {
      assert.throws(
        () => gateway(baseUrl),
        (thrown: Error) => !/secret/.test(inspect(thrown)),
        baseUrl,
      );
    }
    for (const key of ['', 'secret key', 'secret\n', 'sécret']) {
      const options = {
        baseUrl: 'http://127.0.0.1:1',
        apiKey: new Secret(key),
        wallMs: 1,
        connections: 1,
        log,
      };
      assert.throws(
        () => createStripeGateway(options),
        (thrown: Error) => /API key/.test(thrown.message) && !/s.cret/.test(inspect(thrown)),
      );
    }
  });
});

function assertUnknown(outcome: AuthorizationOutcome, cause: string): void {
  assert.equal(outcome.kind === 'unknown' && outcome.cause, cause);
}
