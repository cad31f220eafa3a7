import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Unknown } from '../../src/domain/outcome.ts';
import type { Exchange } from '../../src/adapters/gateway/http-exchange.ts';
import { isCancelled, judge } from '../../src/adapters/gateway/stripe-outcome.ts';
import { afterResend } from '../../src/adapters/gateway/judgement.ts';
import { answered, cutShort, failed, html, summary } from './exchanges.ts';
import { VISA } from './orders.ts';

const NOW_MS = Date.parse('2026-11-30T12:00:00Z');
const ASKED = { orderId: '1234', amountMinor: 4223n, currency: 'USD' };

const INTENT = {
  object: 'payment_intent',
  id: 'pi_1',
  status: 'requires_capture',
  amount: 4223,
  amount_capturable: 4223,
  currency: 'usd',
  metadata: { order_id: '1234' },
  last_payment_error: null,
};
const FAILED_INTENT = { ...INTENT, status: 'requires_payment_method', amount_capturable: 0 };

function intentAnswer(change: object): Exchange {
  return answered(200, { ...INTENT, ...change });
}

function errorAnswer(status: number, error: object, headers?: Readonly<Record<string, string>>): Exchange {
  return answered(status, { error }, headers);
}

function cardError(error: object): Exchange {
  return errorAnswer(402, { type: 'card_error', code: 'card_declined', ...error });
}

type Row = readonly [name: string, exchange: Exchange, expected: string];

const CHALLENGE =
  'cancel pi_1: declined authentication_required soft authentication_required pi_1, else unknown pending';
const PARTIAL = 'cancel pi_1: contradicted partial_approval pi_1, else contradicted partial_approval pi_1';

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  'an approval': [
    ['is ours', intentAnswer({}), 'approved pi_1'],
    ['with an upper-case currency', intentAnswer({ currency: 'USD' }), 'approved pi_1'],
    ['with 201', answered(201, INTENT), 'approved pi_1'],
    [
      'with a charset',
      answered(200, INTENT, { 'content-type': 'application/json; charset=utf-8' }),
      'approved pi_1',
    ],
    ['of more', intentAnswer({ amount: 4224, amount_capturable: 4224 }), 'contradicted amount_mismatch pi_1'],
    ['of less', intentAnswer({ amount: 4222, amount_capturable: 4222 }), 'contradicted amount_mismatch pi_1'],
    ['that holds more', intentAnswer({ amount_capturable: 4224 }), 'contradicted amount_mismatch pi_1'],
    ['in another currency', intentAnswer({ currency: 'eur' }), 'contradicted currency_mismatch pi_1'],
    [
      'of another order',
      intentAnswer({ metadata: { order_id: '1235' } }),
      'contradicted order_mismatch pi_1',
    ],
    ['that is partial', intentAnswer({ amount_capturable: 4222 }), PARTIAL],
    ['that holds nothing', intentAnswer({ amount_capturable: 0 }), PARTIAL],
  ],
  'an answer of success that is no approval': [
    ['processing', intentAnswer({ status: 'processing' }), 'unknown pending'],
    ['already captured', intentAnswer({ status: 'succeeded' }), 'unknown pending'],
    ['canceled', intentAnswer({ status: 'canceled' }), 'unknown pending'],
    ['a status nobody knows', intentAnswer({ status: 'requires_oracle' }), 'unknown pending'],
    ['a status that is no word', intentAnswer({ status: `card ${VISA}` }), 'unknown pending'],
    ['no status', intentAnswer({ status: undefined }), 'unknown unreadable_answer'],
    ['a challenge', intentAnswer({ status: 'requires_action' }), CHALLENGE],
    ['failed without a reason', answered(200, FAILED_INTENT), 'unknown pending'],
    [
      'failed with a reason',
      answered(200, {
        ...FAILED_INTENT,
        last_payment_error: { type: 'card_error', decline_code: 'lost_card' },
      }),
      'declined card_declined hard lost_card pi_1',
    ],
    ['empty', answered(200, ''), 'unknown unreadable_answer'],
    ['not JSON', answered(200, `{"id": "pi_1", ${VISA}`), 'unknown unreadable_answer'],
    ['JSON of something else', answered(200, { object: 'charge', id: 'ch_1' }), 'unknown unreadable_answer'],
    ['another object', intentAnswer({ object: 'setup_intent' }), 'unknown unreadable_answer'],
    ['a list', answered(200, [INTENT]), 'unknown unreadable_answer'],
    ['null', answered(200, 'null'), 'unknown unreadable_answer'],
    ['an error with 200', answered(200, { error: { type: 'card_error' } }), 'unknown unreadable_answer'],
    ['without an id', intentAnswer({ id: undefined }), 'unknown unreadable_answer'],
    ['with an id that is a path', intentAnswer({ id: '../x' }), 'unknown unreadable_answer'],
    ['without an order', intentAnswer({ metadata: {} }), 'unknown unreadable_answer'],
    ['without metadata', intentAnswer({ metadata: undefined }), 'unknown unreadable_answer'],
    ['with an amount in text', intentAnswer({ amount: '4223' }), 'unknown unreadable_answer'],
    ['with half an amount', intentAnswer({ amount: 4223.5 }), 'unknown unreadable_answer'],
    [
      'with another content type',
      answered(200, INTENT, { 'content-type': 'text/plain' }),
      'unknown unreadable_answer',
    ],
    ['with an encoding', answered(200, INTENT, { 'content-encoding': 'gzip' }), 'unknown unreadable_answer'],
    ['nested deeply', answered(200, '['.repeat(100_000)), 'unknown unreadable_answer'],
    ['204', answered(204, ''), 'unknown unreadable_answer'],
    ['with a cut body', cutShort(200, 'connection'), 'unknown connection_lost'],
    ['with a stalled body', cutShort(200, 'timeout'), 'unknown no_answer'],
    ['over 1 MiB', cutShort(200, 'too_large'), 'unknown unreadable_answer'],
    ['not in UTF-8', cutShort(200, 'malformed'), 'unknown unreadable_answer'],
  ],
  'a decline': [
    ['hard', cardError({ decline_code: 'stolen_card' }), 'declined card_declined hard stolen_card -'],
    [
      'soft',
      cardError({ decline_code: 'insufficient_funds' }),
      'declined card_declined soft insufficient_funds -',
    ],
    [
      'without a decline code',
      cardError({ code: 'expired_card' }),
      'declined card_declined hard expired_card -',
    ],
    [
      'nobody knows',
      cardError({ decline_code: 'moon_phase' }),
      'declined card_declined unknown moon_phase -',
    ],
    ['without any code', cardError({ code: undefined }), 'declined card_declined unknown card_error -'],
    ['with a code that is no word', cardError({ code: VISA }), 'declined card_declined unknown card_error -'],
    [
      'with a code too long',
      cardError({ code: 'x'.repeat(65) }),
      'declined card_declined unknown card_error -',
    ],
    [
      'advised against',
      cardError({ decline_code: 'generic_decline', advice_code: 'do_not_try_again' }),
      'declined card_declined hard generic_decline -',
    ],
    [
      'advised to be tried later',
      cardError({ decline_code: 'moon_phase', advice_code: 'try_again_later' }),
      'declined card_declined soft moon_phase -',
    ],
    [
      'hard, and advised to be tried later',
      cardError({ decline_code: 'lost_card', advice_code: 'try_again_later' }),
      'declined card_declined hard lost_card -',
    ],
    [
      'advised to correct the card',
      cardError({ decline_code: 'do_not_honor', advice_code: 'confirm_card_data' }),
      'declined card_declined hard do_not_honor -',
    ],
    [
      'advised against by the network',
      cardError({ decline_code: 'do_not_honor', network_advice_code: '03' }),
      'declined card_declined hard do_not_honor -',
    ],
    [
      'that the network never lets be retried',
      cardError({ decline_code: 'do_not_honor', network_decline_code: 'R1' }),
      'declined card_declined hard do_not_honor -',
    ],
    [
      'that the network lets be retried later',
      cardError({
        decline_code: 'insufficient_funds',
        network_advice_code: '26',
        network_decline_code: '51',
      }),
      'declined card_declined soft insufficient_funds - after 172800000 ms',
    ],
    [
      'with network codes that are none',
      cardError({ decline_code: 'do_not_honor', network_advice_code: VISA, network_decline_code: 7 }),
      'declined card_declined soft do_not_honor -',
    ],
    [
      'of the number',
      cardError({ code: 'incorrect_number' }),
      'declined invalid_card_data hard incorrect_number -',
    ],
    [
      'with its intent',
      cardError({ decline_code: 'lost_card', payment_intent: FAILED_INTENT }),
      'declined card_declined hard lost_card pi_1',
    ],
    [
      'with an intent of another order',
      cardError({ payment_intent: { ...FAILED_INTENT, metadata: { order_id: 'x' } } }),
      'contradicted order_mismatch pi_1',
    ],
    ['with an intent that holds money', cardError({ payment_intent: INTENT }), 'unknown pending'],
    [
      'with an intent that is no intent',
      cardError({ payment_intent: 7 }),
      'declined card_declined unknown card_declined -',
    ],
    [
      'for want of authentication',
      cardError({ code: 'authentication_required', payment_intent: FAILED_INTENT }),
      'declined authentication_required soft authentication_required pi_1',
    ],
    [
      'with a challenge still open',
      cardError({ payment_intent: { ...INTENT, status: 'requires_action' } }),
      CHALLENGE,
    ],
    ['as a duplicate', cardError({ decline_code: 'duplicate_transaction' }), 'unknown pending'],
    [
      'with 400',
      errorAnswer(400, { type: 'card_error', code: 'lost_card' }),
      'declined card_declined hard lost_card -',
    ],
    ['with a cut body', cutShort(402, 'connection'), 'unknown connection_lost'],
  ],
  'a refused request': [
    [
      '400 on a card field',
      errorAnswer(400, {
        type: 'invalid_request_error',
        code: 'parameter_invalid_integer',
        param: 'payment_method_data[card][exp_month]',
        message: `what is ${VISA}?`,
      }),
      'declined invalid_card_data hard parameter_invalid_integer -',
    ],
    [
      '422 on a card field without a code',
      errorAnswer(422, { type: 'invalid_request_error', param: 'card[number]' }),
      'declined invalid_card_data hard invalid_card_field -',
    ],
    [
      '400 on another field',
      errorAnswer(400, { type: 'invalid_request_error', code: 'parameter_missing', param: 'amount' }),
      'rejected parameter_missing',
    ],
    [
      '402 that is no decline',
      errorAnswer(402, { type: 'invalid_request_error' }),
      'rejected invalid_request_error',
    ],
    ['with an error that says nothing', errorAnswer(418, {}), 'rejected http_418'],
    ['400 for a key reused', errorAnswer(400, { type: 'idempotency_error' }), 'contradicted key_reused -'],
    ['409 for a key reused', errorAnswer(409, { type: 'idempotency_error' }), 'contradicted key_reused -'],
    [
      '409 for a key in use',
      errorAnswer(409, { type: 'idempotency_error', code: 'idempotency_key_in_use' }, { 'retry-after': '2' }),
      'unknown key_in_use after 2000',
    ],
    [
      '409 for whatever',
      errorAnswer(409, { type: 'invalid_request_error', code: 'lock_timeout' }),
      'unknown key_in_use',
    ],
    ['400 from a proxy', html(400), 'unavailable proxy_page'],
    ['409 from a proxy', html(409), 'unavailable proxy_page'],
    ['413 from a proxy', answered(413, { message: 'too large' }), 'unavailable proxy_page'],
    ['400 with a cut body', cutShort(400, 'timeout'), 'unknown no_answer'],
  ],
  'a broken configuration': [
    ...[301, 302, 304, 307, 308, 401, 403, 404, 405].flatMap((status): Row[] => [
      [`${status}`, errorAnswer(status, { type: 'invalid_request_error' }), 'unavailable configuration'],
      [`${status} as a page`, html(status), 'unavailable configuration'],
      [`${status} with a cut body`, cutShort(status, 'connection'), 'unavailable configuration'],
    ]),
    ['TLS', failed(false, 'tls', 'CERT_HAS_EXPIRED'), 'unavailable configuration'],
  ],
  'a gateway in trouble': [
    ['429', errorAnswer(429, { type: 'rate_limit_error' }), 'unavailable rate_limited'],
    ['429 in seconds', errorAnswer(429, {}, { 'retry-after': '7' }), 'unavailable rate_limited after 7000'],
    [
      '429 with a date',
      errorAnswer(429, {}, { 'retry-after': 'Mon, 30 Nov 2026 12:00:03 GMT' }),
      'unavailable rate_limited after 3000',
    ],
    [
      '429 for a year',
      errorAnswer(429, {}, { 'retry-after': '31536000' }),
      'unavailable rate_limited after 300000',
    ],
    ['500', errorAnswer(500, { type: 'api_error' }), 'resend, else unknown server_error'],
    ['500 replayed', errorAnswer(500, {}, { 'idempotent-replayed': 'true' }), 'unknown server_error'],
    ['500 for good', errorAnswer(500, {}, { 'stripe-should-retry': 'false' }), 'unknown server_error'],
    ['500 with a cut body', cutShort(500, 'connection'), 'resend, else unknown server_error'],
    ['500 as a page', html(500), 'unknown bad_gateway'],
    ['502', html(502), 'unknown bad_gateway'],
    ['503 in JSON', errorAnswer(503, {}, { 'retry-after': '1' }), 'unknown bad_gateway after 1000'],
    ['504', html(504), 'unknown bad_gateway'],
    ['599', html(599), 'unknown bad_gateway'],
    ['999', html(999), 'unknown bad_gateway'],
    ['408', html(408), 'unknown bad_gateway'],
    ['424', errorAnswer(424, { type: 'api_error' }), 'unknown bad_gateway'],
  ],
  'a request without an answer': [
    ['refused', failed(false, 'connection', 'ECONNREFUSED'), 'unavailable not_sent'],
    ['reset before', failed(false, 'connection', 'ECONNRESET'), 'unavailable not_sent'],
    ['waiting in the pool', failed(false, 'timeout', 'WALL'), 'unavailable not_sent'],
    ['reset after', failed(true, 'connection', 'ECONNRESET'), 'unknown connection_lost'],
    ['TLS broken after', failed(true, 'tls', 'EPROTO'), 'unknown connection_lost'],
    ['timeout after', failed(true, 'timeout', 'WALL'), 'unknown no_answer'],
    ['garbage', failed(true, 'malformed', 'NOT_HTTP'), 'unknown unreadable_answer'],
  ],
};

for (const [group, rows] of Object.entries(ROWS)) {
  describe(group, () => {
    for (const [name, exchange, expected] of rows) {
      it(name, () => {
        const judgement = judge(exchange, ASKED, NOW_MS);
        assert.equal(summary(judgement), expected);
        assert.doesNotMatch(JSON.stringify(judgement), new RegExp(VISA));
      });
    }
  });
}

describe('every status with every kind of body', () => {
  const bodies = [
    INTENT,
    FAILED_INTENT,
    { error: { type: 'card_error', decline_code: 'lost_card' } },
    '',
    'x',
  ];

  it('is judged, and only a 2xx with an intent of ours is ever an approval', () => {
    for (let status = 200; status <= 600; status += 1) {
      for (const body of bodies) {
        const text = summary(judge(answered(status, body), ASKED, NOW_MS));
        const mayBeApproved = status < 300 && body === INTENT;
        assert.equal(text.startsWith('approved'), mayBeApproved, `HTTP ${status}: ${text}`);
        // Nothing is declined but by a 4xx that says so.
        if (text.startsWith('declined')) assert.ok(status >= 400 && status < 500, `HTTP ${status}: ${text}`);
      }
    }
  });
});

describe('the resend after a 500', () => {
  const first: Unknown = { kind: 'unknown', cause: 'server_error', detail: 'HTTP 500' };
  const after = (second: Exchange): string => summary(afterResend(judge(second, ASKED, NOW_MS), first));

  it('counts when it brings a verdict', () => {
    assert.equal(after(intentAnswer({})), 'approved pi_1');
    assert.equal(after(cardError({ code: 'lost_card' })), 'declined card_declined hard lost_card -');
    assert.equal(after(intentAnswer({ status: 'requires_action' })), CHALLENGE);
    assert.equal(after(intentAnswer({ currency: 'eur' })), 'contradicted currency_mismatch pi_1');
  });

  it('leaves the first doubt when it was not sent or not taken', () => {
    assert.equal(after(failed(false, 'connection', 'ECONNREFUSED')), 'unknown server_error');
    assert.equal(after(errorAnswer(429, {}, { 'retry-after': '3' })), 'unknown server_error after 3000');
    assert.equal(after(errorAnswer(401, {})), 'unknown server_error');
    assert.equal(after(html(400)), 'unknown server_error');
  });

  it('is the last one', () => {
    assert.equal(after(errorAnswer(500, {})), 'unknown server_error');
  });
});

describe('a cancel', () => {
  const refused = (intent: object): Exchange =>
    errorAnswer(400, {
      type: 'invalid_request_error',
      code: 'payment_intent_unexpected_state',
      payment_intent: { ...INTENT, ...intent },
    });

  it('is confirmed by the canceled intent, now or earlier', () => {
    assert.equal(isCancelled(intentAnswer({ status: 'canceled' }), 'pi_1'), true);
    assert.equal(isCancelled(refused({ status: 'canceled' }), 'pi_1'), true);
  });

  it('is not confirmed by anything else', () => {
    const others = [
      intentAnswer({}),
      intentAnswer({ status: 'canceled', id: 'pi_2' }),
      answered(200, ''),
      refused({ status: 'requires_capture' }),
      refused({ status: 'canceled', id: 'pi_2' }),
      errorAnswer(404, { code: 'resource_missing' }),
      answered(500, { ...INTENT, status: 'canceled' }),
      html(200),
      cutShort(200, 'connection'),
      failed(true, 'timeout', 'WALL'),
    ];
    for (const exchange of others) assert.equal(isCancelled(exchange, 'pi_1'), false);
  });
});
