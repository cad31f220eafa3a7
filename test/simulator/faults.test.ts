import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Fault } from '../../src/simulator/fault-script.ts';
import {
  approvalsOf,
  ask,
  AUTHORIZED,
  errorOf,
  fault,
  ledgerOf,
  officialClient,
  openSimulator,
  parsed,
  postCharge,
  rawCharge,
  release,
  requestsOf,
  until,
  VISA,
} from './support.ts';

describe('a fault at the edge: nothing charged, the key stays free', () => {
  const answers: [Fault, number, RegExp][] = [
    [{ kind: '429' }, 429, /rate_limit/],
    [{ kind: '401' }, 401, /Invalid API Key/],
    [{ kind: '403' }, 403, /does not have access/],
    [{ kind: '404' }, 404, /Unrecognized request URL/],
    [{ kind: 'redirect' }, 307, /^$/],
    [{ kind: 'redirect', status: 302 }, 302, /^$/],
    [{ kind: 'html-502' }, 502, /^<html>/],
    [{ kind: 'echo-pan' }, 400, new RegExp(VISA)],
    [{ kind: 'echo-pan', status: 500 }, 500, new RegExp(VISA)],
  ];
  for (const [given, status, text] of answers) {
    it(`${JSON.stringify(given)} answers ${status}`, async (t) => {
      const simulator = await openSimulator(t, fault({ fault: given, times: 1 }));
      const answer = await postCharge(simulator);
      assert.equal(answer.status, status);
      assert.match(answer.text, text);
      assert.deepEqual(ledgerOf(simulator), []);
      await assertCharges(simulator);
    });
  }

  it('429 says when to come back, as told', async (t) => {
    const date = 'Wed, 21 Oct 2026 07:28:00 GMT';
    const simulator = await openSimulator(t, {
      faults: [
        { match: { nth: 1 }, fault: { kind: '429', retryAfter: 2 } },
        { match: { nth: 2 }, fault: { kind: '429', retryAfter: date } },
      ],
    });
    assert.equal((await postCharge(simulator)).headers['retry-after'], '2');
    assert.equal((await postCharge(simulator)).headers['retry-after'], date);
  });

  it('redirect leads to where a client that follows is seen', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'redirect' } }));
    const { location } = (await postCharge(simulator)).headers;
    await ask(simulator, 'GET', location ?? assert.fail('no Location'));
    const { recent } = await requestsOf(simulator);
    assert.deepEqual(
      recent.map(({ path }) => path),
      ['/v1/payment_intents', '/__redirected'],
    );
  });

  for (const reset of [false, true]) {
    it(`drop-before-charge ends the connection${reset ? ' with a reset' : ''}`, async (t) => {
      const simulator = await openSimulator(
        t,
        fault({ fault: { kind: 'drop-before-charge', reset }, times: 1 }),
      );
      const { received, end } = await rawCharge(simulator, {});
      assert.deepEqual([received, end], ['', reset ? 'reset' : 'closed']);
      assert.deepEqual(ledgerOf(simulator), []);
      await assertCharges(simulator);
    });
  }

  it('hold-before-charge goes on when released', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'hold-before-charge' }, times: 1 }));
    const held = postCharge(simulator);
    await until(simulator, 'the request is held', ({ counts }) => counts.open === 1);
    assert.deepEqual(ledgerOf(simulator), []);
    assert.equal(await release(simulator), 1);
    assert.equal(parsed(await held)['status'], 'requires_capture');
  });

  it('hold-before-charge forgets a client that hangs up', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'hold-before-charge' }, times: 1 }));
    await hangUpDuring(simulator);
    assert.equal(await release(simulator), 0);
    assert.deepEqual(ledgerOf(simulator), []);
    await assertCharges(simulator);
  });
});

describe('a fault in the verdict: stored under the key', () => {
  it('delay charges late, client or no client', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'delay', ms: 400 }, times: 1 }));
    await hangUpDuring(simulator);
    await until(simulator, 'the late charge', () => ledgerOf(simulator).length === 1);
    assert.equal((await postCharge(simulator)).headers['idempotent-replayed'], 'true');
  });

  it('delay makes the client wait', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'delay', ms: 60 } }));
    const startMs = performance.now();
    assert.equal((await postCharge(simulator)).status, 200);
    assert.ok(performance.now() - startMs >= 59);
  });

  it('hold-in-flight keeps the key in use, and charges when released, client or no client', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'hold-in-flight' }, times: 1 }));
    await hangUpDuring(simulator);
    assert.equal(errorOf(await postCharge(simulator))['code'], 'idempotency_key_in_use');
    assert.equal(await release(simulator), 1);
    await until(simulator, 'the late charge', () => ledgerOf(simulator).length === 1);
    assert.equal((await postCharge(simulator)).headers['idempotent-replayed'], 'true');
  });

  it('cached-500 fails again and again without a charge', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'cached-500' }, times: 1 }));
    const first = await postCharge(simulator);
    const again = await postCharge(simulator);
    assert.equal(errorOf(first)['type'], 'api_error');
    assert.deepEqual([first.status, first.headers['stripe-should-retry']], [500, 'false']);
    assert.deepEqual([again.status, again.text], [500, first.text]);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    assert.deepEqual(ledgerOf(simulator), []);
    assert.equal((await postCharge(simulator, {}, { key: 'another' })).status, 200);
  });

  it('charge-then-500 fails again and again after one charge, which a search finds', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'charge-then-500' }, times: 1 }));
    assert.equal((await postCharge(simulator)).status, 500);
    assert.equal((await postCharge(simulator)).status, 500);
    assert.equal(ledgerOf(simulator).length, 1);
    const [found] = (
      await officialClient(simulator).paymentIntents.search({ query: "metadata['order_id']:'1234'" })
    ).data;
    assert.equal(found?.status, 'requires_capture');
  });

  it('wrong-amount, wrong-currency and partial approve something else, and the ledger has the truth', async (t) => {
    const simulator = await openSimulator(t, {
      faults: [
        { match: { orderId: 'amount' }, fault: { kind: 'wrong-amount' } },
        { match: { orderId: 'amount-7' }, fault: { kind: 'wrong-amount', amountMinor: 7 } },
        { match: { orderId: 'currency' }, fault: { kind: 'wrong-currency' } },
        { match: { orderId: 'currency-jpy' }, fault: { kind: 'wrong-currency', currency: 'JPY' } },
        { match: { orderId: 'half' }, fault: { kind: 'partial' } },
        { match: { orderId: 'partial-100' }, fault: { kind: 'partial', heldMinor: 100 } },
      ],
    });
    const seen = [];
    for (const orderId of ['amount', 'amount-7', 'currency', 'currency-jpy', 'half', 'partial-100']) {
      const { amount, amount_capturable, currency } = parsed(await postCharge(simulator, { orderId }));
      seen.push([amount, amount_capturable, currency]);
    }
    assert.deepEqual(seen, [
      [4224, 4224, 'usd'],
      [7, 7, 'usd'],
      [4223, 4223, 'eur'],
      [4223, 4223, 'jpy'],
      [4223, 2112, 'usd'],
      [4223, 100, 'usd'],
    ]);
    assert.deepEqual(
      approvalsOf(simulator).map((entry) => [
        entry.amountMinor,
        entry.currency,
        entry.requestedAmountMinor,
        entry.requestedCurrency,
      ]),
      [
        [4224, 'usd', 4223, 'usd'],
        [7, 'usd', 4223, 'usd'],
        [4223, 'eur', 4223, 'usd'],
        [4223, 'jpy', 4223, 'usd'],
        [2112, 'usd', 4223, 'usd'],
        [100, 'usd', 4223, 'usd'],
      ],
    );
  });

  for (const [kind, status] of [
    ['pending', 'processing'],
    ['unknown-status', 'requires_oracle'],
    ['requires-action', 'requires_action'],
  ] as const) {
    it(`${kind} answers 200 ${status}, uncharged, and can be canceled`, async (t) => {
      const simulator = await openSimulator(t, fault({ fault: { kind } }));
      const answer = await postCharge(simulator);
      assert.deepEqual([answer.status, parsed(answer)['status']], [200, status]);
      const canceled = await officialClient(simulator).paymentIntents.cancel(String(parsed(answer)['id']));
      assert.equal(canceled.status, 'canceled');
      assert.deepEqual(ledgerOf(simulator), []);
    });
  }

  for (const kind of ['pending', 'unknown-status'] as const) {
    it(`${kind} settles as approved: asking tells, the key does not`, async (t) => {
      const simulator = await openSimulator(
        t,
        fault({ fault: { kind, settle: { as: 'approved', afterMs: 20 } } }),
      );
      const first = await postCharge(simulator);
      await until(simulator, 'it settles', () => ledgerOf(simulator).length === 1);
      const asked = await officialClient(simulator).paymentIntents.retrieve(String(parsed(first)['id']));
      assert.equal(asked.status, 'requires_capture');
      assert.equal((await postCharge(simulator)).text, first.text);
      assert.equal(ledgerOf(simulator).length, 1);
    });
  }

  it('pending settles as declined', async (t) => {
    const settle = { as: 'declined', afterMs: 10 } as const;
    const simulator = await openSimulator(t, fault({ fault: { kind: 'pending', settle } }));
    const { id } = parsed(await postCharge(simulator));
    const stripe = officialClient(simulator);
    let status;
    do ({ status } = await stripe.paymentIntents.retrieve(String(id)));
    while (status === 'processing');
    assert.equal(status, 'requires_payment_method');
    assert.deepEqual(ledgerOf(simulator), []);
  });

  it('a void that comes before it settles stands', async (t) => {
    const settle = { as: 'approved', afterMs: 300 } as const;
    const simulator = await openSimulator(t, {
      faults: [
        { match: { orderId: 'void' }, fault: { kind: 'pending', settle } },
        { match: { orderId: 'next' }, fault: { kind: 'pending', settle } },
      ],
    });
    const { id } = parsed(await postCharge(simulator, { orderId: 'void' }));
    await officialClient(simulator).paymentIntents.cancel(String(id));
    await postCharge(simulator, { orderId: 'next' });
    await until(simulator, 'the later one settles', () => ledgerOf(simulator).length > 0);
    assert.deepEqual(
      ledgerOf(simulator).map(({ orderId }) => orderId),
      ['next'],
    );
  });

  it('unknown-decline-code declines with a code nobody knows', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'unknown-decline-code' }, times: 1 }));
    const answer = await postCharge(simulator);
    assert.deepEqual([answer.status, errorOf(answer)['decline_code']], [402, 'moon_phase_adverse']);
    assert.equal((await postCharge(simulator)).text, answer.text);
    assert.deepEqual(ledgerOf(simulator), []);
  });

  it('a card that is declined anyway stays declined', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'charge-then-500' } }));
    assert.equal((await postCharge(simulator, { number: '4000000000000002' })).status, 402);
    assert.deepEqual(ledgerOf(simulator), []);
  });
});

describe('a fault on the wire: charged, and the same key brings the true answer', () => {
  it('charge-then-drop ends the connection', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'charge-then-drop' }, times: 1 }));
    assert.deepEqual(await rawCharge(simulator, {}), { received: '', end: 'closed' });
    await assertChargedAlready(simulator);
  });

  it('charge-then-drop resets the connection', async (t) => {
    const simulator = await openSimulator(
      t,
      fault({ fault: { kind: 'charge-then-drop', reset: true }, times: 1 }),
    );
    assert.deepEqual(await rawCharge(simulator, {}), { received: '', end: 'reset' });
    await assertChargedAlready(simulator);
  });

  it('hold answers when released', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'hold' }, times: 1 }));
    const held = postCharge(simulator);
    await until(simulator, 'the charge', () => ledgerOf(simulator).length === 1);
    const again = await postCharge(simulator);
    assert.equal(await release(simulator), 1);
    assert.equal((await held).text, again.text);
    await assertChargedAlready(simulator);
  });

  it('hold lets a client hang up', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'hold' }, times: 1 }));
    await hangUpDuring(simulator);
    assert.equal(await release(simulator), 0);
    await assertChargedAlready(simulator);
  });

  it('stalled-headers stops in the middle of a header', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'stalled-headers' }, times: 1 }));
    const stalled = rawCharge(simulator, {});
    await until(simulator, 'the charge', () => ledgerOf(simulator).length === 1);
    await release(simulator);
    assert.match((await stalled).received, /^HTTP\/1\.1 200 OK\r\nContent-Type: applicat$/);
    await assertChargedAlready(simulator);
  });

  it('stalled-body stops in the middle of the body, and finishes when released', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'stalled-body' }, times: 1 }));
    let soFar = '';
    const stalled = rawCharge(simulator, {}, (received) => {
      soFar = received;
      return received.endsWith('}');
    });
    const length = (): number => Number(/Content-Length: (\d+)/.exec(soFar)?.[1]);
    const half = (): number => Math.floor(length() / 2);
    await until(simulator, 'half an answer', () => bodyOf(soFar).length >= half());
    assert.equal(bodyOf(soFar).length, half());
    await release(simulator);
    const { received, end } = await stalled;
    assert.equal(end, 'enough');
    assert.equal(bodyOf(received).length, length());
    await assertChargedAlready(simulator);
  });

  it('cut-body ends the connection in the middle of the body', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'cut-body' }, times: 1 }));
    const { received, end } = await rawCharge(simulator, {});
    assert.equal(end, 'closed');
    assert.match(received, /^HTTP\/1\.1 200 OK\r\n/);
    assert.equal(
      bodyOf(received).length,
      Math.floor(Number(/Content-Length: (\d+)/.exec(received)?.[1]) / 2),
    );
    await assertChargedAlready(simulator);
  });

  it('garbage is no HTTP', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'garbage' }, times: 1 }));
    await assert.rejects(postCharge(simulator), { code: /^HPE_/ });
    await assertChargedAlready(simulator);
  });

  it('garbage in the body is no JSON', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'garbage', where: 'body' }, times: 1 }));
    const answer = await postCharge(simulator);
    assert.equal(answer.status, 200);
    assert.throws(() => parsed(answer), SyntaxError);
    await assertChargedAlready(simulator);
  });

  it('empty-body, wrong-content-type, huge-body and a late html-502 look as they are called', async (t) => {
    const kinds = ['empty-body', 'wrong-content-type', 'huge-body'] as const;
    const simulator = await openSimulator(t, {
      faults: [
        ...kinds.map((kind) => ({ match: { orderId: kind }, fault: { kind }, times: 1 })),
        { match: { orderId: 'html-502' }, fault: { kind: 'html-502', charged: true }, times: 1 },
      ],
    });
    const empty = await postCharge(simulator, { orderId: 'empty-body' });
    assert.deepEqual(
      [empty.status, empty.text, empty.headers['content-type']],
      [200, '', 'application/json'],
    );
    const named = await postCharge(simulator, { orderId: 'wrong-content-type' });
    assert.deepEqual(
      [named.headers['content-type'], parsed(named)['status']],
      ['text/plain', 'requires_capture'],
    );
    const huge = await postCharge(simulator, { orderId: 'huge-body' });
    assert.equal(huge.text.length, 2 * 1024 * 1024);
    assert.equal(parsed(huge)['status'], 'requires_capture');
    const page = await postCharge(simulator, { orderId: 'html-502' });
    assert.deepEqual([page.status, page.headers['content-type']], [502, 'text/html']);
    for (const orderId of [...kinds, 'html-502']) await assertChargedAlready(simulator, orderId);
  });
});

describe('a fault on another request', () => {
  it('meets lookups and voids by their path', async (t) => {
    const simulator = await openSimulator(t, {
      faults: [
        { match: { path: '/v1/payment_intents/*', method: 'GET' }, fault: { kind: 'html-502' }, times: 1 },
        {
          match: { path: '/v1/payment_intents/*', orderId: '1234' },
          fault: { kind: 'charge-then-drop' },
          times: 1,
        },
      ],
    });
    const { id } = parsed(await postCharge(simulator));
    const path = `/v1/payment_intents/${String(id)}`;
    assert.equal((await ask(simulator, 'GET', path, { headers: AUTHORIZED })).status, 502);
    await assert.rejects(ask(simulator, 'POST', `${path}/cancel`, { headers: AUTHORIZED }), {
      code: 'ECONNRESET',
    });
    assert.deepEqual(
      ledgerOf(simulator).map(({ kind }) => kind),
      ['approval', 'void'],
    );
  });
});

type Opened = Awaited<ReturnType<typeof openSimulator>>;

/** The key is free: the same request is executed now. */
async function assertCharges(simulator: Opened): Promise<void> {
  const answer = await postCharge(simulator);
  assert.deepEqual([answer.status, answer.headers['idempotent-replayed']], [200, undefined]);
  assert.equal(ledgerOf(simulator).length, 1);
}

async function assertChargedAlready(simulator: Opened, orderId = '1234'): Promise<void> {
  const approvals = approvalsOf(simulator).filter((entry) => entry.orderId === orderId);
  assert.equal(approvals.length, 1);
  const answer = await postCharge(simulator, { orderId });
  assert.equal(answer.headers['idempotent-replayed'], 'true');
  assert.equal(parsed(answer)['id'], approvals[0]?.authorizationId);
  assert.equal(approvalsOf(simulator).filter((entry) => entry.orderId === orderId).length, 1);
}

/** A client that gives up while the gateway has its request, noticed by the gateway. */
async function hangUpDuring(simulator: Opened): Promise<void> {
  const client = new AbortController();
  const asked = postCharge(simulator, {}, { signal: client.signal });
  await until(simulator, 'the request is there', ({ counts }) => counts.open === 1);
  client.abort();
  await assert.rejects(asked, { name: 'AbortError' });
  await until(simulator, 'the client is gone', ({ counts }) => counts.open === 0);
}

function bodyOf(received: string): string {
  return received.slice(received.indexOf('\r\n\r\n') + 4);
}
