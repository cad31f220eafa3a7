import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import Stripe from 'stripe';
import type { intentBody } from '../../src/simulator/payment-intent.ts';
import {
  approvalsOf,
  cardCharge,
  fault,
  ledgerOf,
  officialClient,
  openSimulator,
  release,
  until,
} from './support.ts';

type Demanded<T> = { [K in keyof T]-?: object extends Pick<T, K> ? never : K }[keyof T];
type Missing = Exclude<Demanded<Stripe.PaymentIntent>, keyof ReturnType<typeof intentBody>>;
/** Does not compile when the official type demands a member that the simulator does not send. */
const NOTHING_IS_MISSING: [Missing] extends [never] ? true : Missing = true;

describe('the official client meets the simulator', () => {
  it('authorizes a card', async (t) => {
    assert.ok(NOTHING_IS_MISSING);
    const simulator = await openSimulator(t);
    const stripe = officialClient(simulator);
    const intent = await stripe.paymentIntents.create(cardCharge(), { idempotencyKey: 'order-1234-1' });

    assert.equal(intent.object, 'payment_intent');
    assert.match(intent.id, /^pi_\w+$/);
    assert.equal(intent.status, 'requires_capture');
    assert.equal(intent.amount, 4223);
    assert.equal(intent.amount_capturable, 4223);
    assert.equal(intent.currency, 'usd');
    assert.equal(intent.capture_method, 'manual');
    assert.equal(intent.livemode, false);
    assert.equal(intent.last_payment_error, null);
    assert.deepEqual(intent.metadata, { order_id: '1234' });
    assert.ok(typeof intent.latest_charge === 'string' && intent.latest_charge.startsWith('ch_'));
    assert.match(intent.lastResponse.requestId, /^req_/);
    assert.equal(intent.lastResponse.idempotencyKey, 'order-1234-1');
    assert.deepEqual(await stripe.paymentIntents.retrieve(intent.id), intent);
  });

  const declines = [
    ['4000000000000002', 'card_declined', 'generic_decline', 'try_again_later'],
    ['4000000000009995', 'card_declined', 'insufficient_funds', 'try_again_later'],
    ['4000000000009987', 'card_declined', 'lost_card', 'do_not_try_again'],
    ['4000000000009979', 'card_declined', 'stolen_card', 'do_not_try_again'],
    ['4000000000000069', 'expired_card', 'expired_card', 'confirm_card_data'],
    ['4000000000000127', 'incorrect_cvc', 'incorrect_cvc', 'confirm_card_data'],
    ['4000000000000119', 'processing_error', 'processing_error', 'try_again_later'],
    ['4000002500003155', 'authentication_required', 'authentication_required', undefined],
  ] as const;
  for (const [number, code, declineCode, adviceCode] of declines) {
    it(`is declined with ${declineCode} by the test card ...${number.slice(-4)}`, async (t) => {
      const simulator = await openSimulator(t);
      const error = await rejection(officialClient(simulator).paymentIntents.create(cardCharge({ number })));

      assert.ok(error instanceof Stripe.errors.StripeCardError);
      assert.equal(error.statusCode, 402);
      assert.equal(error.code, code);
      assert.equal(error.decline_code, declineCode);
      assert.equal(error.advice_code, adviceCode);
      assert.equal(error.payment_intent?.status, 'requires_payment_method');
      assert.equal(error.payment_intent.last_payment_error?.code, code);
      assert.deepEqual(ledgerOf(simulator), []);
    });
  }

  it('gets a challenge instead of a decline when the cardholder is there', async (t) => {
    const simulator = await openSimulator(t);
    const charge = cardCharge({ number: '4000002500003155', attended: true });
    const intent = await officialClient(simulator).paymentIntents.create(charge);
    assert.equal(intent.status, 'requires_action');
    assert.equal(intent.next_action?.type, 'use_stripe_sdk');
    assert.deepEqual(ledgerOf(simulator), []);
  });

  for (const token of ['pm_card_visa', 'pm_card_mastercard', 'pm_card_amex']) {
    it(`authorizes the token ${token}`, async (t) => {
      const simulator = await openSimulator(t);
      const intent = await officialClient(simulator).paymentIntents.create(cardCharge({ token }));
      assert.equal(intent.status, 'requires_capture');
      assert.equal(approvalsOf(simulator)[0]?.paymentMethod, token);
    });
  }

  it('is declined with a declining token, and told when there is no such token', async (t) => {
    const stripe = officialClient(await openSimulator(t));
    const declined = stripe.paymentIntents.create(cardCharge({ token: 'pm_card_visa_chargeDeclined' }));
    assert.ok((await rejection(declined)) instanceof Stripe.errors.StripeCardError);
    const unknown = await rejection(stripe.paymentIntents.create(cardCharge({ token: 'pm_nothing' })));
    assert.ok(unknown instanceof Stripe.errors.StripeInvalidRequestError);
    assert.equal(unknown.code, 'resource_missing');
  });

  it('gets the first answer again for the same key: the approval', async (t) => {
    const simulator = await openSimulator(t);
    const stripe = officialClient(simulator);
    const options = { idempotencyKey: 'order-1234-1' };
    const first = await stripe.paymentIntents.create(cardCharge(), options);
    const again = await stripe.paymentIntents.create(cardCharge(), options);

    assert.deepEqual(again, first);
    assert.equal(first.lastResponse.headers['idempotent-replayed'], undefined);
    assert.equal(again.lastResponse.headers['idempotent-replayed'], 'true');
    assert.equal(ledgerOf(simulator).length, 1);
  });

  it('gets the first answer again for the same key: the decline', async (t) => {
    const stripe = officialClient(await openSimulator(t));
    const declined = cardCharge({ number: '4000000000009995' });
    const first = await rejection(stripe.paymentIntents.create(declined, { idempotencyKey: 'k' }));
    const again = await rejection(stripe.paymentIntents.create(declined, { idempotencyKey: 'k' }));
    assert.ok(
      first instanceof Stripe.errors.StripeCardError && again instanceof Stripe.errors.StripeCardError,
    );
    assert.equal(again.payment_intent?.id, first.payment_intent?.id);
    assert.equal(again.headers?.['idempotent-replayed'], 'true');
    assert.equal(again.headers['stripe-should-retry'], 'false');
  });

  it('is refused when it uses a key with other parameters', async (t) => {
    const simulator = await openSimulator(t);
    const stripe = officialClient(simulator);
    await stripe.paymentIntents.create(cardCharge(), { idempotencyKey: 'k' });
    const other = stripe.paymentIntents.create(cardCharge({ amountMinor: 4224 }), { idempotencyKey: 'k' });
    const error = await rejection(other);
    assert.ok(error instanceof Stripe.errors.StripeIdempotencyError);
    assert.equal(error.statusCode, 400);
    assert.equal(ledgerOf(simulator).length, 1);
  });

  it('is refused when it uses a key that is in use', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'hold-in-flight' }, times: 1 }));
    const stripe = officialClient(simulator);
    const first = stripe.paymentIntents.create(cardCharge(), { idempotencyKey: 'k' });
    await until(simulator, 'the first request executes', ({ counts }) => counts.charges === 1);
    const error = await rejection(stripe.paymentIntents.create(cardCharge(), { idempotencyKey: 'k' }));

    assert.ok(error instanceof Stripe.errors.StripeAPIError);
    assert.equal(error.statusCode, 409);
    assert.equal(error.code, 'idempotency_key_in_use');
    assert.equal(error.headers?.['stripe-should-retry'], 'true');
    assert.equal(await release(simulator), 1);
    const { id } = await first;
    assert.equal((await stripe.paymentIntents.create(cardCharge(), { idempotencyKey: 'k' })).id, id);
    assert.equal(ledgerOf(simulator).length, 1);
  });

  it('voids an authorization once, and is told when there is nothing to void', async (t) => {
    const simulator = await openSimulator(t);
    const stripe = officialClient(simulator);
    const { id } = await stripe.paymentIntents.create(cardCharge());
    const voided = await stripe.paymentIntents.cancel(id, {}, { idempotencyKey: 'void-1234' });
    assert.equal(voided.status, 'canceled');
    assert.equal(voided.amount_capturable, 0);
    assert.ok(voided.canceled_at !== null);
    const replayed = await stripe.paymentIntents.cancel(id, {}, { idempotencyKey: 'void-1234' });
    assert.deepEqual(replayed, voided);

    const again = await rejection(stripe.paymentIntents.cancel(id));
    assert.ok(again instanceof Stripe.errors.StripeInvalidRequestError);
    assert.equal(again.code, 'payment_intent_unexpected_state');
    const missing = await rejection(stripe.paymentIntents.cancel('pi_missing'));
    assert.ok(missing instanceof Stripe.errors.StripeInvalidRequestError);
    assert.equal(missing.statusCode, 404);
    assert.equal(missing.code, 'resource_missing');
    assert.deepEqual(
      ledgerOf(simulator).map(({ kind, amountMinor }) => [kind, amountMinor]),
      [
        ['approval', 4223],
        ['void', 4223],
      ],
    );
  });

  it('finds an order by search, and only that one', async (t) => {
    const stripe = officialClient(await openSimulator(t));
    const wanted = await stripe.paymentIntents.create(cardCharge({ orderId: "o'1" }));
    await stripe.paymentIntents.create(cardCharge({ orderId: '2' }));
    const found = await stripe.paymentIntents.search({ query: "metadata['order_id']:'o\\'1'" });
    assert.equal(found.object, 'search_result');
    assert.deepEqual(found.data, [wanted]);
    assert.equal(found.has_more, false);
    assert.deepEqual((await stripe.paymentIntents.search({ query: "metadata['order_id']:'3'" })).data, []);
    const unsupported = await rejection(stripe.paymentIntents.search({ query: "status:'canceled'" }));
    assert.ok(unsupported instanceof Stripe.errors.StripeInvalidRequestError);
  });

  it('finds an order only after the index caught up', async (t) => {
    let nowMs = Date.parse('2026-06-01T12:00:00Z');
    const stripe = officialClient(await openSimulator(t, { searchLagMs: 60_000, now: () => nowMs }));
    await stripe.paymentIntents.create(cardCharge());
    const query = "metadata['order_id']:'1234'";
    assert.equal((await stripe.paymentIntents.search({ query })).data.length, 0);
    nowMs += 60_000;
    assert.equal((await stripe.paymentIntents.search({ query })).data.length, 1);
  });

  it('lists all intents, newest first, page by page', async (t) => {
    const stripe = officialClient(await openSimulator(t));
    const created: string[] = [];
    for (const orderId of ['1', '2', '3', '4', '5']) {
      created.push((await stripe.paymentIntents.create(cardCharge({ orderId }))).id);
    }
    const listed: string[] = [];
    for await (const { id } of stripe.paymentIntents.list({ limit: 2 })) listed.push(id);
    assert.deepEqual(listed, created.reverse());
  });

  it('lists the intents of a range of time, page by page', async (t) => {
    let nowMs = Date.UTC(2026, 0, 1);
    const stripe = officialClient(await openSimulator(t, { now: () => nowMs }));
    const created: string[] = [];
    for (const orderId of ['1', '2', '3', '4', '5']) {
      created.push((await stripe.paymentIntents.create(cardCharge({ orderId }))).id);
      nowMs += 10_000;
    }
    const startSeconds = Date.UTC(2026, 0, 1) / 1000;
    const range = { gte: startSeconds + 10, lt: startSeconds + 40 };
    const listed: string[] = [];
    for await (const { id } of stripe.paymentIntents.list({ limit: 2, created: range })) listed.push(id);
    assert.deepEqual(listed, created.slice(1, 4).reverse());
    const first = await stripe.paymentIntents.list({ limit: 3, created: range });
    assert.equal(first.has_more, false);
    await assert.rejects(stripe.paymentIntents.list({ created: -1 }), /timestamp/);
  });

  it('is refused without a proper API key', async (t) => {
    const { port } = await openSimulator(t);
    const options = { host: '127.0.0.1', port, protocol: 'http', maxNetworkRetries: 0 } as const;
    const error = await rejection(new Stripe('nonsense', options).paymentIntents.create(cardCharge()));
    assert.ok(error instanceof Stripe.errors.StripeAuthenticationError);
  });
});

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => assert.fail('the request was expected to be refused'),
    (error: unknown) => error,
  );
}
