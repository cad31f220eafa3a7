import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ask,
  AUTHORIZED,
  cardCharge,
  encodeForm,
  errorOf,
  fault,
  ledgerOf,
  openSimulator,
  parsed,
  postCharge,
  requestsOf,
  until,
} from './support.ts';

const NOW_MS = Date.parse('2026-05-31T23:59:59Z');

describe('the issuer', () => {
  const judged: [string, Parameters<typeof cardCharge>[0], string][] = [
    ['a Mastercard', { number: '5555555555554444' }, 'approved'],
    ['an Amex with four digits of CVC', { number: '378282246310005', cvc: '1234' }, 'approved'],
    ['a 19-digit card', { number: '6205500000000000004' }, 'approved'],
    ['the canonical order, expired 12 years ago', canonical(), 'approved'],
    ['a card in its last month', { expMonth: 5, expYear: 2026 }, 'approved'],
    ['a two-digit year', { expMonth: 5, expYear: 26 }, 'approved'],
    ['a card whose month is over', { expMonth: 4, expYear: 2026 }, 'expired_card'],
    ['a card that fails Luhn', { number: '4242424242424241' }, 'incorrect_number'],
    ['a card that is too short', { number: '42424242424' }, 'incorrect_number'],
    ['a card with letters', { number: '4242x42424242424' }, 'incorrect_number'],
    ['a thirteenth month', { expMonth: 13 }, 'invalid_expiry_month'],
    ['a year far away', { expYear: 2999 }, 'invalid_expiry_year'],
    ['two digits of CVC', { cvc: '12' }, 'invalid_cvc'],
    ['four digits of CVC on a Visa', { cvc: '1234' }, 'invalid_cvc'],
    ['three digits of CVC on an Amex', { number: '378282246310005' }, 'invalid_cvc'],
  ];
  for (const [what, input, outcome] of judged) {
    it(`says ${outcome} to ${what}`, async (t) => {
      const simulator = await openSimulator(t, { now: () => NOW_MS });
      const answer = await postCharge(simulator, input);
      if (outcome === 'approved') {
        assert.equal(parsed(answer)['status'], 'requires_capture');
        assert.equal(ledgerOf(simulator).length, 1);
      } else {
        assert.deepEqual([answer.status, errorOf(answer)['code']], [402, outcome]);
        assert.deepEqual(ledgerOf(simulator), []);
      }
    });
  }
});

describe('the parameters', () => {
  const charge = cardCharge();
  const refused: [string, object, string | undefined, string][] = [
    ['no amount', { ...charge, amount: '' }, 'parameter_invalid_integer', 'amount'],
    ['a decimal amount', { ...charge, amount: '42.23' }, 'parameter_invalid_integer', 'amount'],
    ['nothing to charge', { ...charge, amount: 0 }, 'parameter_invalid_integer', 'amount'],
    ['too much to charge', { ...charge, amount: 100_000_000 }, 'amount_too_large', 'amount'],
    ['an unknown currency', { ...charge, currency: 'xyz' }, undefined, 'currency'],
    ['an unknown parameter', { ...charge, ammount: 1 }, 'parameter_unknown', 'ammount'],
    ['an unknown capture method', { ...charge, capture_method: 'later' }, undefined, 'capture_method'],
    ['metadata without end', { ...charge, metadata: { order_id: 'x'.repeat(501) } }, undefined, 'metadata'],
    [
      'no card number',
      { ...charge, payment_method_data: { type: 'card', card: { exp_month: 1, exp_year: 2030 } } },
      'parameter_missing',
      'payment_method_data[card][number]',
    ],
  ];
  for (const [what, params, code, param] of refused) {
    it(`are refused with ${what}, which leaves the key free`, async (t) => {
      const simulator = await openSimulator(t);
      const headers = { ...AUTHORIZED, 'Idempotency-Key': 'order-1234-1' };
      const answer = await ask(simulator, 'POST', '/v1/payment_intents', {
        headers,
        body: encodeForm(params),
      });
      const { type, ...error } = errorOf(answer);
      assert.deepEqual([answer.status, type], [400, 'invalid_request_error']);
      assert.deepEqual([error['code'], error['param']], [code, param]);
      assert.equal((await postCharge(simulator)).status, 200);
    });
  }

  it('may come in any order under the same key', async (t) => {
    const simulator = await openSimulator(t);
    const headers = { ...AUTHORIZED, 'Idempotency-Key': 'order-1234-1' };
    const { id } = parsed(await postCharge(simulator));
    const body = encodeForm(Object.fromEntries(Object.entries(cardCharge()).reverse()));
    assert.equal(parsed(await ask(simulator, 'POST', '/v1/payment_intents', { headers, body }))['id'], id);
  });

  it('decide whether the money is taken at once, or nothing happens yet', async (t) => {
    const simulator = await openSimulator(t);
    const send = async (params: object): Promise<unknown> => {
      const answer = await ask(simulator, 'POST', '/v1/payment_intents', {
        headers: AUTHORIZED,
        body: encodeForm(params),
      });
      return parsed(answer)['status'];
    };
    assert.equal(await send({ ...charge, confirm: false }), 'requires_confirmation');
    assert.deepEqual(ledgerOf(simulator), []);
    assert.equal(await send({ ...charge, capture_method: 'automatic' }), 'succeeded');
    assert.deepEqual(
      ledgerOf(simulator).map((entry) => entry.kind === 'approval' && entry.status),
      ['succeeded'],
    );
  });
});

describe('the API key', () => {
  for (const [what, authorization, status] of [
    ['is taken as a bearer token', 'Bearer sk_test_1', 200],
    ['is taken as the user of Basic authentication', `Basic ${btoa('rk_test_1:')}`, 200],
    ['must be a secret one', 'Bearer pk_test_1', 401],
    ['must be there', '', 401],
  ] as const) {
    it(what, async (t) => {
      const simulator = await openSimulator(t);
      const headers = { ...AUTHORIZED, Authorization: authorization };
      const body = encodeForm(cardCharge());
      assert.equal((await ask(simulator, 'POST', '/v1/payment_intents', { headers, body })).status, status);
    });
  }
});

describe('an idempotency key', () => {
  it('is forgotten when its retention is over, and then charges again', async (t) => {
    let nowMs = NOW_MS;
    const simulator = await openSimulator(t, { now: () => nowMs });
    const { id } = parsed(await postCharge(simulator));
    nowMs += 24 * 3_600_000 - 1;
    assert.equal(parsed(await postCharge(simulator))['id'], id);
    nowMs += 1;
    assert.notEqual(parsed(await postCharge(simulator))['id'], id);
    assert.equal(ledgerOf(simulator).length, 2);
  });

  it('has the age of its approval after a restart', async (t) => {
    let nowMs = NOW_MS;
    const first = await openSimulator(t, { now: () => nowMs, keyRetentionMs: 1000 });
    await postCharge(first);
    await first.close();
    nowMs += 1000;
    const second = await openSimulator(t, {
      now: () => nowMs,
      keyRetentionMs: 1000,
      ledgerFile: first.ledgerFile,
    });
    assert.equal((await postCharge(second)).headers['idempotent-replayed'], undefined);
  });
});

describe('the log of requests', () => {
  it('tells what arrived and what became of it', async (t) => {
    const simulator = await openSimulator(t, fault({ match: { nth: 2 }, fault: { kind: '429' } }));
    await postCharge(simulator);
    await postCharge(simulator);
    await postCharge(simulator);
    await until(simulator, 'all are answered', ({ counts }) => counts.open === 0);
    const { counts, recent } = await requestsOf(simulator);
    assert.deepEqual(counts, {
      total: 3,
      charges: 3,
      open: 0,
      replayed: 1,
      byStatus: { 200: 2, 429: 1 },
      byFault: { 429: 1 },
    });
    assert.deepEqual(
      recent.map(({ nth, fault: met, status, replayed, state }) => [nth, met, status, replayed, state]),
      [
        [1, null, 200, false, 'answered'],
        [2, '429', 429, false, 'answered'],
        [3, null, 200, true, 'answered'],
      ],
    );
    assert.deepEqual(
      [recent[0]?.method, recent[0]?.path, recent[0]?.orderId, recent[0]?.idempotencyKey],
      ['POST', '/v1/payment_intents', '1234', 'order-1234-1'],
    );
  });

  it('remembers the last ones only, and can be asked for one order', async (t) => {
    const simulator = await openSimulator(t, { requestLogSize: 3 });
    for (const orderId of ['1', '2', '3', '4']) await postCharge(simulator, { orderId });
    const { counts, recent } = await requestsOf(simulator);
    assert.equal(counts.total, 4);
    assert.deepEqual(
      recent.map(({ orderId }) => orderId),
      ['2', '3', '4'],
    );
    assert.equal((await requestsOf(simulator, '3')).recent.length, 1);
  });
});

describe('a request the simulator cannot serve', () => {
  it('is a body beyond a mebibyte', async (t) => {
    const simulator = await openSimulator(t);
    const body = 'x'.repeat(1024 * 1024 + 1);
    assert.equal(
      (await ask(simulator, 'POST', '/v1/payment_intents', { headers: AUTHORIZED, body })).status,
      413,
    );
  });

  it('is an unknown URL', async (t) => {
    const simulator = await openSimulator(t);
    for (const [method, path] of [
      ['GET', '/v1/charges'],
      ['DELETE', '/v1/payment_intents'],
      ['POST', '/v1/payment_intents/pi_1'],
      ['GET', '/__unknown'],
    ] as const) {
      assert.equal(
        (await ask(simulator, method, path, { headers: AUTHORIZED })).status,
        404,
        `${method} ${path}`,
      );
    }
  });
});

function canonical() {
  return { number: '1111222233334444', expMonth: 1, expYear: 2014, cvc: '123', amountMinor: 4223 };
}
