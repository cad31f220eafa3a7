import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hangUpDuring } from './fault-support.ts';
import {
  approvalsOf,
  errorOf,
  fault,
  ledgerOf,
  officialClient,
  openSimulator,
  parsed,
  postCharge,
  release,
  until,
} from './support.ts';

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

  it('decline declines with the given words, as often as the rule says, and under the key for good', async (t) => {
    const words = { declineCode: 'insufficient_funds', networkAdviceCode: '26', networkDeclineCode: '51' };
    const simulator = await openSimulator(t, fault({ fault: { kind: 'decline', ...words }, times: 1 }));
    const answer = await postCharge(simulator, {}, { key: 'first' });
    const { code, decline_code, network_advice_code, network_decline_code } = errorOf(answer);
    assert.deepEqual(
      [answer.status, code, decline_code, network_advice_code, network_decline_code],
      [402, 'card_declined', 'insufficient_funds', '26', '51'],
    );
    assert.equal((await postCharge(simulator, {}, { key: 'first' })).text, answer.text);
    assert.deepEqual(ledgerOf(simulator), []);
    assert.equal((await postCharge(simulator, {}, { key: 'second' })).status, 200);
  });

  it('a card that is declined anyway stays declined', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'charge-then-500' } }));
    assert.equal((await postCharge(simulator, { number: '4000000000000002' })).status, 402);
    assert.deepEqual(ledgerOf(simulator), []);
  });
});
