import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import adyen from '@adyen/api-library';
import { isCancelAccepted, judge } from '../../src/adapters/gateway/adyen-outcome.ts';
import type { Exchange } from '../../src/adapters/gateway/http-exchange.ts';
import { answered, cutShort, failed, html, summary } from './exchanges.ts';
import { CVV, VISA } from './orders.ts';

const NOW_MS = Date.parse('2026-11-30T12:00:00Z');
const ASKED = { orderId: '1234', amountMinor: 4223n, currency: 'USD' };
const PSP = 'NC6HT9CRT65ZGN82';

const PAYMENT = {
  pspReference: PSP,
  resultCode: 'Authorised',
  amount: { currency: 'USD', value: 4223 },
  merchantReference: '1234',
  paymentMethod: { brand: 'visa', type: 'scheme' },
};

function payment(change: object): Exchange {
  return answered(200, { ...PAYMENT, ...change });
}

function refused(refusalReasonCode: string | undefined, change: object = {}): Exchange {
  return payment({ resultCode: 'Refused', refusalReason: `of ${VISA}`, refusalReasonCode, ...change });
}

function error(status: number, change: object, headers?: Readonly<Record<string, string>>): Exchange {
  const body = { status, errorCode: '702', message: `of ${VISA}`, errorType: 'validation', ...change };
  return answered(status, body, headers);
}

type Row = readonly [name: string, exchange: Exchange, expected: string];

const PARTIAL = `cancel ${PSP}: contradicted partial_approval ${PSP}, else contradicted partial_approval ${PSP}`;
const CHALLENGE = 'declined authentication_required soft authentication_required';

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  'an approval': [
    ['is ours', payment({}), `approved ${PSP}`],
    ['with 201', answered(201, PAYMENT), `approved ${PSP}`],
    ['with a reason code 0', payment({ refusalReasonCode: '0' }), `approved ${PSP}`],
    [
      'with a charset',
      answered(200, PAYMENT, { 'content-type': 'application/json;charset=UTF-8' }),
      `approved ${PSP}`,
    ],
    ['of more', payment({ amount: { currency: 'USD', value: 4224 } }), `contradicted amount_mismatch ${PSP}`],
    ['of less', payment({ amount: { currency: 'USD', value: 4222 } }), `contradicted amount_mismatch ${PSP}`],
    [
      'in another currency',
      payment({ amount: { currency: 'EUR', value: 4223 } }),
      `contradicted currency_mismatch ${PSP}`,
    ],
    ['of another order', payment({ merchantReference: '1235' }), `contradicted order_mismatch ${PSP}`],
    ['that is partial', payment({ resultCode: 'PartiallyAuthorised' }), PARTIAL],
    [
      'that is partial, without a reference',
      payment({ resultCode: 'PartiallyAuthorised', pspReference: undefined }),
      'contradicted partial_approval -',
    ],
    [
      'that is partial, of another order',
      payment({ resultCode: 'PartiallyAuthorised', merchantReference: 'x' }),
      `contradicted order_mismatch ${PSP}`,
    ],
  ],
  'an approval that cannot be relied on': [
    ['without a reference', payment({ pspReference: undefined }), 'unknown unreadable_answer'],
    ['with a reference that is a path', payment({ pspReference: '../x' }), 'unknown unreadable_answer'],
    ['with a card number for a reference', payment({ pspReference: VISA }), 'unknown unreadable_answer'],
    ['without an order', payment({ merchantReference: undefined }), 'unknown unreadable_answer'],
    ['without an amount', payment({ amount: undefined }), 'unknown unreadable_answer'],
    ['with null for an amount', payment({ amount: null }), 'unknown unreadable_answer'],
    [
      'with an amount in text',
      payment({ amount: { currency: 'USD', value: '4223' } }),
      'unknown unreadable_answer',
    ],
    ['without a result', payment({ resultCode: undefined }), 'unknown unreadable_answer'],
    ['empty', answered(200, ''), 'unknown unreadable_answer'],
    ['not JSON', answered(200, `{"pspReference":"${VISA}"`), 'unknown unreadable_answer'],
    ['null', answered(200, 'null'), 'unknown unreadable_answer'],
    ['a list', answered(200, [PAYMENT]), 'unknown unreadable_answer'],
    ['an error with 200', error(200, {}), 'unknown unreadable_answer'],
    ['202', answered(202, ''), 'unknown unreadable_answer'],
    [
      'with another content type',
      answered(200, PAYMENT, { 'content-type': 'text/plain' }),
      'unknown unreadable_answer',
    ],
    ['with a cut body', cutShort(200, 'connection'), 'unknown connection_lost'],
    ['with a stalled body', cutShort(200, 'timeout'), 'unknown no_answer'],
    ['over 1 MiB', cutShort(200, 'too_large'), 'unknown unreadable_answer'],
  ],
  'a refusal': [
    ['2', refused('2'), `declined card_declined soft 2_refused ${PSP}`],
    ['5', refused('5'), `declined card_declined hard 5_blocked_card ${PSP}`],
    ['6', refused('6'), `declined card_declined hard 6_expired_card ${PSP}`],
    ['8', refused('8'), `declined invalid_card_data hard 8_invalid_card_number ${PSP}`],
    ['9', refused('9'), `declined card_declined soft 9_issuer_unavailable ${PSP}`],
    ['12', refused('12'), `declined card_declined soft 12_not_enough_balance ${PSP}`],
    ['24', refused('24'), `declined card_declined hard 24_cvc_declined ${PSP}`],
    ['38', refused('38'), `declined authentication_required soft 38_authentication_required ${PSP}`],
    ['nobody knows', refused('98'), `declined card_declined unknown 98_unknown ${PSP}`],
    ['without a code', refused(undefined), `declined card_declined unknown none_unknown ${PSP}`],
    ['with a code that is none', refused(VISA), `declined card_declined unknown none_unknown ${PSP}`],
    [
      'with the name of an inherited member',
      refused('constructor'),
      `declined card_declined unknown none_unknown ${PSP}`,
    ],
    [
      'as an error of the acquirer',
      refused('4', { resultCode: 'Error' }),
      `declined card_declined soft 4_acquirer_error ${PSP}`,
    ],
    [
      'as cancelled',
      refused('15', { resultCode: 'Cancelled' }),
      `declined card_declined soft 15_cancelled ${PSP}`,
    ],
    [
      'without its reference and order',
      refused('2', { pspReference: undefined, merchantReference: undefined }),
      'declined card_declined soft 2_refused -',
    ],
    ['of another order', refused('2', { merchantReference: '99' }), `contradicted order_mismatch ${PSP}`],
  ],
  'a result that is none yet': [
    ['a challenge', answered(200, { resultCode: 'ChallengeShopper', action: {} }), `${CHALLENGE} -`],
    ['a fingerprint', payment({ resultCode: 'IdentifyShopper' }), `${CHALLENGE} ${PSP}`],
    ['a redirect', answered(200, { resultCode: 'RedirectShopper', action: {} }), `${CHALLENGE} -`],
    ['pending', payment({ resultCode: 'Pending' }), 'unknown pending'],
    ['received', payment({ resultCode: 'Received' }), 'unknown pending'],
    ['presented', payment({ resultCode: 'PresentToShopper' }), 'unknown pending'],
    ['authenticated only', payment({ resultCode: 'AuthenticationFinished' }), 'unknown pending'],
    ['nobody knows', payment({ resultCode: 'OracleConsulted' }), 'unknown pending'],
    ['in other letters', payment({ resultCode: 'AUTHORISED' }), 'unknown pending'],
    ['no word', payment({ resultCode: `card ${VISA}` }), 'unknown pending'],
  ],
  'a refused request': [
    ['for the card number', error(422, { errorCode: '101' }), 'declined invalid_card_data hard error_101 -'],
    ['for the brand', error(422, { errorCode: '102' }), 'declined invalid_card_data hard error_102 -'],
    ['for the CVC', error(422, { errorCode: '103' }), 'declined invalid_card_data hard error_103 -'],
    ['for the expiry', error(422, { errorCode: '129' }), 'declined invalid_card_data hard error_129 -'],
    [
      'for the card number with 400',
      error(400, { errorCode: '101' }),
      'declined invalid_card_data hard error_101 -',
    ],
    ['for the amount', error(422, { errorCode: '137' }), 'rejected error_137'],
    ['for its structure', error(400, { errorCode: '702' }), 'rejected error_702'],
    ['for a stored card', error(422, { errorCode: '14_006' }), 'rejected error_14_006'],
    ['with no code', error(422, { errorCode: undefined }), 'rejected http_422'],
    ['with a code that is none', error(422, { errorCode: VISA }), 'rejected http_422'],
    ['402', error(402, {}), 'rejected error_702'],
    ['422 for a key in use', error(422, { errorCode: '704' }), 'unknown key_in_use'],
    [
      '409 for a key in use',
      error(409, { errorCode: '704' }, { 'retry-after': '2' }),
      'unknown key_in_use after 2000',
    ],
    ['409 for whatever', error(409, {}), 'unknown key_in_use'],
    ['422 that is transient', error(422, {}, { 'transient-error': 'true' }), 'unknown server_error'],
    ['422 from a proxy', html(422), 'unavailable proxy_page'],
    ['413 from a proxy', answered(413, { message: 'too large' }), 'unavailable proxy_page'],
    ['400 with a cut body', cutShort(400, 'timeout'), 'unknown no_answer'],
  ],
  'a broken configuration': [
    ...[301, 302, 307, 308, 401, 403, 404, 405].flatMap((status): Row[] => [
      [`${status}`, error(status, { errorType: 'security' }), 'unavailable configuration'],
      [`${status} as a page`, html(status), 'unavailable configuration'],
      [`${status} with a cut body`, cutShort(status, 'connection'), 'unavailable configuration'],
    ]),
    ['TLS', failed(false, 'tls', 'CERT_HAS_EXPIRED'), 'unavailable configuration'],
  ],
  'a gateway in trouble': [
    ['429', error(429, {}), 'unavailable rate_limited'],
    ['429 in seconds', error(429, {}, { 'retry-after': '7' }), 'unavailable rate_limited after 7000'],
    ['500', error(500, { errorType: 'internal' }), 'resend, else unknown server_error'],
    [
      '500 for a currency that is not set up',
      error(500, { errorCode: '905_1', errorType: 'configuration' }),
      'rejected error_905_1',
    ],
    ['500 with a cut body', cutShort(500, 'connection'), 'resend, else unknown server_error'],
    ['500 as a page', html(500), 'unknown bad_gateway'],
    ['502', html(502), 'unknown bad_gateway'],
    ['503 in JSON', error(503, {}, { 'retry-after': '1' }), 'unknown bad_gateway after 1000'],
    ['504', html(504), 'unknown bad_gateway'],
    ['408', html(408), 'unknown bad_gateway'],
  ],
  'a request without an answer': [
    ['refused', failed(false, 'connection', 'ECONNREFUSED'), 'unavailable not_sent'],
    ['waiting in the pool', failed(false, 'timeout', 'WALL'), 'unavailable not_sent'],
    ['reset after', failed(true, 'connection', 'ECONNRESET'), 'unknown connection_lost'],
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
        assert.doesNotMatch(JSON.stringify(judgement), new RegExp(`${VISA}|${CVV}`));
      });
    }
  });
}

describe('every result that the official client knows', () => {
  it('is judged, and one alone is an approval', () => {
    const results = Object.values(adyen.Types.checkout.PaymentResponse.ResultCodeEnum);
    const kinds = new Map(
      results.map((code) => [
        code as string,
        summary(judge(payment({ resultCode: code }), ASKED, NOW_MS)).split(' ')[0],
      ]),
    );
    const of = (kind: string) => results.filter((code) => kinds.get(code) === kind).sort();
    assert.deepEqual(of('approved'), ['Authorised']);
    assert.deepEqual(of('cancel'), ['PartiallyAuthorised']);
    assert.deepEqual(of('declined'), [
      'Cancelled',
      'ChallengeShopper',
      'Error',
      'IdentifyShopper',
      'RedirectShopper',
      'Refused',
    ]);
    assert.deepEqual(of('unknown'), [
      'AuthenticationFinished',
      'AuthenticationNotRequired',
      'Pending',
      'PresentToShopper',
      'Received',
      'Success',
    ]);
  });
});

describe('every status with every kind of body', () => {
  const bodies = [PAYMENT, { ...PAYMENT, resultCode: 'Refused' }, { status: 1, errorCode: '101' }, '', 'x'];

  it('is judged, and only a 2xx with a payment of ours is ever an approval', () => {
    for (let status = 200; status <= 600; status += 1) {
      for (const body of bodies) {
        const text = summary(judge(answered(status, body), ASKED, NOW_MS));
        assert.equal(
          text.startsWith('approved'),
          status < 300 && body === PAYMENT,
          `HTTP ${status}: ${text}`,
        );
        if (text.startsWith('declined')) assert.ok(status < 500, `HTTP ${status}: ${text}`);
      }
    }
  });
});

describe('a cancel at Adyen', () => {
  const received = {
    merchantAccount: 'ExampleCom',
    paymentPspReference: PSP,
    pspReference: 'X',
    status: 'received',
  };

  it('is accepted when the gateway says so of this payment', () => {
    assert.equal(isCancelAccepted(answered(201, received), PSP), true);
  });

  it('is not accepted by anything else', () => {
    const others = [
      answered(201, { ...received, paymentPspReference: 'ANOTHER' }),
      answered(201, { ...received, status: 'refused' }),
      answered(422, received),
      answered(200, ''),
      html(200),
      error(422, { errorCode: '167' }),
      cutShort(201, 'connection'),
      failed(true, 'timeout', 'WALL'),
    ];
    for (const exchange of others) assert.equal(isCancelAccepted(exchange, PSP), false);
  });
});
