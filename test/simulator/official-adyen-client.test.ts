import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import adyen from '@adyen/api-library';
import type { PaymentCancelResponse } from '@adyen/api-library/lib/src/typings/checkout/paymentCancelResponse.js';
import type { PaymentResponse } from '@adyen/api-library/lib/src/typings/checkout/paymentResponse.js';
import type { cancelBody, paymentBody } from '../../src/simulator/adyen-answer.ts';
import { MERCHANT_ACCOUNT, officialAdyen, officialPayment } from '../gateway/official-adyen.ts';
import { anOrder, cardMeans, VISA, type OrderSketch } from '../gateway/orders.ts';
import { approvalsOf, fault, ledgerOf, openSimulator, release, requestsOf, until } from './support.ts';
import type { TestSimulator } from './support.ts';

const { HttpClientException } = adyen;
const { PaymentCancelRequest } = adyen.Types.checkout;

type MembersOf<T> = T extends unknown ? keyof T : never;
type Unheard<Ours, Theirs> = Exclude<MembersOf<Ours>, keyof Theirs>;
/** Do not compile when the simulator sends a member that the official types do not have. */
const PAYMENT_IS_KNOWN: [Unheard<ReturnType<typeof paymentBody>, PaymentResponse>] extends [never]
  ? true
  : false = true;
const CANCEL_IS_KNOWN: [Unheard<ReturnType<typeof cancelBody>, PaymentCancelResponse>] extends [never]
  ? true
  : false = true;

function clientOf(t: TestContext, { port }: TestSimulator) {
  const { PaymentsApi, ModificationsApi } = officialAdyen(t, port, 'AQE-simulator');
  return {
    pay: (sketch: OrderSketch, idempotencyKey: string) =>
      PaymentsApi.payments(officialPayment(anOrder(sketch)), { idempotencyKey }),
    cancel: (pspReference: string, idempotencyKey: string) =>
      ModificationsApi.cancelAuthorisedPaymentByPspReference(
        pspReference,
        Object.assign(new PaymentCancelRequest(), { merchantAccount: MERCHANT_ACCOUNT }),
        { idempotencyKey },
      ),
  };
}

describe('the official Adyen client meets the simulator', () => {
  it('authorizes a card', async (t) => {
    assert.ok(PAYMENT_IS_KNOWN);
    assert.ok(CANCEL_IS_KNOWN);
    const simulator = await openSimulator(t);
    const payment = await clientOf(t, simulator).pay({}, 'order-1234-1');
    assert.match(payment.pspReference ?? '', /^[A-Z0-9]{16}$/);
    assert.equal(payment.resultCode, 'Authorised');
    assert.deepEqual([payment.amount?.currency, payment.amount?.value], ['USD', 4223]);
    assert.equal(payment.merchantReference, '1234');
    const [approval, ...more] = approvalsOf(simulator);
    assert.deepEqual(more, []);
    assert.equal(approval?.authorizationId, payment.pspReference);
    assert.deepEqual(
      [approval?.orderId, approval?.amountMinor, approval?.captureMethod, approval?.idempotencyKey],
      ['1234', 4223, 'manual', 'order-1234-1'],
    );
  });

  const refusals = [
    ['4000000000000002', 'Refused', '2', 'Refused'],
    ['4000000000009995', 'Refused', '12', 'Not enough balance'],
    ['4000000000009987', 'Refused', '5', 'Blocked Card'],
    ['4000000000009979', 'Refused', '5', 'Blocked Card'],
    ['4000000000000069', 'Refused', '6', 'Expired Card'],
    ['4000000000000127', 'Refused', '24', 'CVC Declined'],
    ['4000000000000119', 'Error', '4', 'Acquirer Error'],
    ['4000002500003155', 'Refused', '38', 'Authentication required'],
  ] as const;
  for (const [number, resultCode, reasonCode, reason] of refusals) {
    it(`is refused with ${reason} by the test card ...${number.slice(-4)}, with HTTP 200`, async (t) => {
      const simulator = await openSimulator(t);
      const payment = await clientOf(t, simulator).pay({ means: cardMeans(number) }, 'k');
      assert.deepEqual(
        [payment.resultCode, payment.refusalReasonCode, payment.refusalReason],
        [resultCode, reasonCode, reason],
      );
      assert.deepEqual(ledgerOf(simulator), []);
    });
  }

  const hopeless = [
    ['4242424242424241', '739', '101'],
    [VISA, '7390', '103'],
  ] as const;
  for (const [number, cvv, errorCode] of hopeless) {
    it(`is told ${errorCode} with HTTP 422 of a hopeless card`, async (t) => {
      const simulator = await openSimulator(t);
      const error = await rejection(clientOf(t, simulator).pay({ means: cardMeans(number, cvv) }, 'k'));
      assert.ok(error instanceof HttpClientException);
      assert.deepEqual([error.statusCode, error.errorCode], [422, errorCode]);
      assert.deepEqual(ledgerOf(simulator), []);
    });
  }

  it('authorizes a stored card of the shopper', async (t) => {
    const simulator = await openSimulator(t);
    const client = clientOf(t, simulator);
    const means = { kind: 'token', paymentMethod: 'pm_card_visa' } as const;
    assert.equal((await client.pay({ means }, 'k')).resultCode, 'Authorised');
    assert.equal(approvalsOf(simulator)[0]?.paymentMethod, 'pm_card_visa');
    const unknown = { kind: 'token', paymentMethod: 'pm_nothing' } as const;
    const error = await rejection(client.pay({ means: unknown }, 'k2'));
    assert.ok(error instanceof HttpClientException);
    assert.equal(error.errorCode, '803');
  });

  it('gets the first answer again for the same key, whatever it sends with it', async (t) => {
    const simulator = await openSimulator(t);
    const client = clientOf(t, simulator);
    const first = await client.pay({}, 'order-1234-1');
    assert.deepEqual(await client.pay({}, 'order-1234-1'), first);
    assert.deepEqual(await client.pay({ amountMinor: 1n }, 'order-1234-1'), first);
    const declined = { means: cardMeans('4000000000009995') };
    const refusal = await client.pay(declined, 'k');
    assert.deepEqual(await client.pay(declined, 'k'), refusal);
    assert.equal(ledgerOf(simulator).length, 1);
  });

  it('is told 704 of a key that is in use', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'hold-in-flight' }, times: 1 }));
    const client = clientOf(t, simulator);
    const first = client.pay({}, 'k');
    await until(simulator, 'the first request executes', ({ counts }) => counts.charges === 1);
    const error = await rejection(client.pay({}, 'k'));
    assert.ok(error instanceof HttpClientException);
    assert.deepEqual([error.statusCode, error.errorCode], [409, '704']);
    assert.equal(await release(simulator), 1);
    const { pspReference } = await first;
    assert.equal((await client.pay({}, 'k')).pspReference, pspReference);
    assert.equal(ledgerOf(simulator).length, 1);
  });

  it('cancels an authorization once, however often it asks', async (t) => {
    const simulator = await openSimulator(t);
    const client = clientOf(t, simulator);
    const { pspReference = '' } = await client.pay({}, 'k');
    for (const key of ['cancel-1', 'cancel-1', 'cancel-2']) {
      const cancelled = await client.cancel(pspReference, key);
      assert.deepEqual([cancelled.status, cancelled.paymentPspReference], ['received', pspReference]);
    }
    const error = await rejection(client.cancel('NOSUCHPAYMENT', 'cancel-3'));
    assert.ok(error instanceof HttpClientException);
    assert.equal(error.errorCode, '167');
    const kinds = ledgerOf(simulator).map(({ kind, amountMinor }) => [kind, amountMinor]);
    assert.deepEqual(kinds, [
      ['approval', 4223],
      ['void', 4223],
    ]);
    const paths = (await requestsOf(simulator)).recent.map(({ path }) => path);
    assert.deepEqual(new Set(paths), new Set(['/v72/payments', '/payments/:id/cancels']));
  });

  it('gets the same answers from a simulator that was started again', async (t) => {
    const before = await openSimulator(t);
    const first = clientOf(t, before);
    const approved = await first.pay({}, 'k1');
    const cancelled = await first.cancel(approved.pspReference ?? '', 'k1-cancel');
    await before.close();
    t.mock.restoreAll();
    const after = await openSimulator(t, { ledgerFile: before.ledgerFile });
    const second = clientOf(t, after);
    assert.deepEqual(await second.pay({}, 'k1'), approved);
    assert.deepEqual(await second.cancel(approved.pspReference ?? '', 'k1-cancel'), cancelled);
    assert.equal(ledgerOf(after).length, 2);
  });

  const verdicts = [
    ['partial', 'PartiallyAuthorised', 2112],
    ['wrong-amount', 'Authorised', 4224],
    ['pending', 'Pending', 4223],
    ['unknown-status', 'OracleConsulted', 4223],
    ['requires-action', 'ChallengeShopper', undefined],
  ] as const;
  for (const [kind, resultCode, value] of verdicts) {
    it(`gets ${resultCode} under the fault ${kind}`, async (t) => {
      const simulator = await openSimulator(t, fault({ fault: { kind } }));
      const payment = await clientOf(t, simulator).pay({}, 'k');
      assert.deepEqual([payment.resultCode, payment.amount?.value], [resultCode, value]);
    });
  }

  it('is refused without an API key, with too long a key, and with a card in a wrong place', async (t) => {
    const simulator = await openSimulator(t);
    const order = officialPayment(anOrder());
    const unauthorized = officialAdyen(t, simulator.port, 'no key');
    assertRefused(await rejection(unauthorized.PaymentsApi.payments(order)), 401, '000');
    t.mock.restoreAll();
    const official = officialAdyen(t, simulator.port, 'AQE-simulator');
    const tooLong = { idempotencyKey: 'k'.repeat(65) };
    assertRefused(await rejection(official.PaymentsApi.payments(order, tooLong)), 400, '000');
    const leaking = Object.assign(officialPayment(anOrder()), { reference: VISA });
    assertRefused(await rejection(official.PaymentsApi.payments(leaking)), 422, '702');
    assert.deepEqual(ledgerOf(simulator), []);
  });
});

function assertRefused(error: unknown, statusCode: number, errorCode: string): void {
  assert.ok(error instanceof HttpClientException);
  assert.deepEqual([error.statusCode, error.errorCode], [statusCode, errorCode]);
}

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => assert.fail('the request was expected to be refused'),
    (error: unknown) => error,
  );
}
