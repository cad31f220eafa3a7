/**
 * The outcome table of the payments design, row by row, through a running worker: what the first answer leads to in the
 * database, and what the order has become once the gateway behaves again.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Fault } from '../../src/simulator/fault-script.ts';
import { waitFor } from '../support/wait-for.ts';
import { newOrderId, openStage, orderJson, suiteOwner, type Stage } from './stage.ts';

interface Row {
  readonly what: string;
  readonly card?: Readonly<Record<string, unknown>>;
  /** Hits the first request only, unless `always`. */
  readonly fault?: Fault;
  readonly always?: true;
  /** The first outcome that is recorded, and the status that it leads to. */
  readonly first: readonly [outcome: string, status: string];
  /** What it ends as; `open`: nobody can tell, so it stays undecided, and is never denied. */
  readonly end: 'ready-to-ship' | 'denied' | 'review' | 'open';
  /** Approvals in the gateway's ledger, voided ones included. */
  readonly holds: 0 | 1;
}

const UNKNOWN = 'authorization-unknown';
const card = (creditCardNumber: string) => ({ creditCardNumber });

const VERDICTS: readonly Row[] = [
  { what: 'an approval', first: ['approved', 'ready-to-ship'], end: 'ready-to-ship', holds: 1 },
  { what: 'an approval of another amount', fault: { kind: 'wrong-amount' }, first: ['contradicted: amount_mismatch', 'review'], end: 'review', holds: 1 },
  { what: 'an approval in another currency', fault: { kind: 'wrong-currency' }, first: ['contradicted: currency_mismatch', 'review'], end: 'review', holds: 1 },
  { what: 'a partial approval', fault: { kind: 'partial' }, first: ['contradicted: partial_approval', 'review'], end: 'review', holds: 1 },
  { what: 'a hard decline', card: card('4000000000009979'), first: ['declined: card_declined', 'denied'], end: 'denied', holds: 0 },
  { what: 'a soft decline', card: card('4000000000009995'), first: ['declined: card_declined', 'denied'], end: 'denied', holds: 0 },
  { what: 'a decline with a code nobody knows', fault: { kind: 'unknown-decline-code' }, first: ['declined: card_declined', 'denied'], end: 'denied', holds: 0 },
  { what: 'a wish for authentication', card: card('4000002500003155'), first: ['declined: authentication_required', 'denied'], end: 'denied', holds: 0 },
  { what: 'a challenge', fault: { kind: 'requires-action' }, first: ['declined: authentication_required', 'denied'], end: 'denied', holds: 0 },
  { what: 'an authorization that stays pending', fault: { kind: 'pending' }, first: ['unknown: pending', UNKNOWN], end: 'open', holds: 0 },
  { what: 'a status that nobody knows', fault: { kind: 'unknown-status' }, first: ['unknown: pending', UNKNOWN], end: 'open', holds: 0 },
  { what: 'a 400 on a card field', fault: { kind: 'echo-pan' }, first: ['declined: invalid_card_data', 'denied'], end: 'denied', holds: 0 },
  { what: 'a 400 otherwise', card: { creditCardNumber: undefined, creditCardExpiration: undefined, creditCardCode: undefined, paymentMethod: 'pm_nobody_knows' }, first: ['rejected', 'review'], end: 'review', holds: 0 },
  { what: 'a duplicate', fault: { kind: 'decline', declineCode: 'duplicate_transaction' }, first: ['unknown: pending', UNKNOWN], end: 'open', holds: 0 },
]; // prettier-ignore

const FAULTS: readonly Row[] = [
  { what: 'a 401', fault: { kind: '401' }, first: ['unavailable: configuration', 'received'], end: 'ready-to-ship', holds: 1 },
  { what: 'a 403', fault: { kind: '403' }, first: ['unavailable: configuration', 'received'], end: 'ready-to-ship', holds: 1 },
  { what: 'a 404', fault: { kind: '404' }, first: ['unavailable: configuration', 'received'], end: 'ready-to-ship', holds: 1 },
  { what: 'a redirect', fault: { kind: 'redirect' }, first: ['unavailable: configuration', 'received'], end: 'ready-to-ship', holds: 1 },
  { what: 'a 429', fault: { kind: '429', retryAfter: 1 }, first: ['unavailable: rate_limited', 'received'], end: 'ready-to-ship', holds: 1 },
  { what: 'a key in use', fault: { kind: 'delay', ms: 2_500 }, first: ['unknown: no_answer', UNKNOWN], end: 'ready-to-ship', holds: 1 },
  { what: 'a 500 without a charge', fault: { kind: 'cached-500' }, always: true, first: ['unknown: server_error', UNKNOWN], end: 'open', holds: 0 },
  { what: 'a 502 page without a charge', fault: { kind: 'html-502' }, first: ['unknown: bad_gateway', UNKNOWN], end: 'ready-to-ship', holds: 1 },
  { what: 'a 502 page with a charge', fault: { kind: 'html-502', charged: true }, first: ['unknown: bad_gateway', UNKNOWN], end: 'ready-to-ship', holds: 1 },
  { what: 'a 200 that is no JSON', fault: { kind: 'garbage', where: 'body' }, first: ['unknown: unreadable_answer', UNKNOWN], end: 'ready-to-ship', holds: 1 },
  { what: 'a 200 without a body', fault: { kind: 'empty-body' }, first: ['unknown: unreadable_answer', UNKNOWN], end: 'ready-to-ship', holds: 1 },
  { what: 'a 200 of another content type', fault: { kind: 'wrong-content-type' }, first: ['unknown: unreadable_answer', UNKNOWN], end: 'ready-to-ship', holds: 1 },
  { what: 'a 200 over 1 MiB', fault: { kind: 'huge-body' }, first: ['unknown: unreadable_answer', UNKNOWN], end: 'ready-to-ship', holds: 1 },
  { what: 'bytes that are no HTTP', fault: { kind: 'garbage' }, first: ['unknown: unreadable_answer', UNKNOWN], end: 'ready-to-ship', holds: 1 },
  { what: 'a connection that ends before the charge', fault: { kind: 'drop-before-charge' }, first: ['unknown: connection_lost', UNKNOWN], end: 'ready-to-ship', holds: 1 },
  { what: 'a connection that ends after the charge', fault: { kind: 'charge-then-drop' }, first: ['unknown: connection_lost', UNKNOWN], end: 'ready-to-ship', holds: 1 },
  { what: 'a connection that is reset after the charge', fault: { kind: 'charge-then-drop', reset: true }, first: ['unknown: connection_lost', UNKNOWN], end: 'ready-to-ship', holds: 1 },
  { what: 'no answer', fault: { kind: 'hold' }, first: ['unknown: no_answer', UNKNOWN], end: 'ready-to-ship', holds: 1 },
  { what: 'headers that stall', fault: { kind: 'stalled-headers' }, first: ['unknown: no_answer', UNKNOWN], end: 'ready-to-ship', holds: 1 },
  { what: 'a body that stalls', fault: { kind: 'stalled-body' }, first: ['unknown: no_answer', UNKNOWN], end: 'ready-to-ship', holds: 1 },
  { what: 'a body that is cut', fault: { kind: 'cut-body' }, first: ['unknown: connection_lost', UNKNOWN], end: 'ready-to-ship', holds: 1 },
]; // prettier-ignore

describe('the outcome table, through a running worker', { concurrency: false }, () => {
  const owner = suiteOwner();
  let stage: Stage;

  before(async () => {
    stage = await openStage(owner);
    await stage.startWorker({ CARDAUTH_GATEWAY_TIMEOUT_MS: '1000', CARDAUTH_MAX_ATTEMPTS: '1000' });
  });

  for (const row of [...VERDICTS, ...FAULTS]) {
    const [outcome, status] = row.first;
    it(`${row.what}: ${status}, in the end ${row.end}`, async () => {
      const id = newOrderId();
      const { fault } = row;
      const times = row.always ? {} : { times: 1 };
      await stage.gateway.setFaults(fault === undefined ? [] : [{ match: { orderId: id }, fault, ...times }]);
      // A good order beside it keeps the breaker out of this.
      await stage.publish(orderJson(id, row.card), orderJson(newOrderId()));

      assert.deepEqual(await firstOutcome(stage, id), { outcome, status_after: status });
      await endsAs(stage, id, row.end);
      const approvals = await stage.gateway.approvals(id);
      assert.equal(approvals.length, row.holds);
      const charges = (await stage.gateway.requests(id)).filter(({ path }) => path === '/v1/payment_intents');
      const keys = new Set(charges.map(({ idempotencyKey }) => idempotencyKey));
      assert.deepEqual(keys, new Set([`order-${id}-1`]));
    });
  }

  it('a key that was used for something else: review', async () => {
    const id = newOrderId();
    await stage.gateway.setFaults([]);
    const used = await fetch(`${stage.gateway.url}/v1/payment_intents`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk_test_stage', 'idempotency-key': `order-${id}-1` },
      body: new URLSearchParams({ amount: '1', currency: 'usd', payment_method: 'pm_card_visa' }),
    });
    assert.equal(used.status, 200);
    await stage.publish(orderJson(id));
    assert.deepEqual(await firstOutcome(stage, id), {
      outcome: 'contradicted: key_reused',
      status_after: 'review',
    });
    await endsAs(stage, id, 'review');
    assert.equal((await stage.gateway.approvals(id)).length, 0);
  });

  it('a gateway that is away: not sent, received, in the end ready-to-ship', async () => {
    const id = newOrderId();
    await stage.gateway.stop();
    await stage.publish(orderJson(id));
    const first = await firstOutcome(stage, id);
    await stage.gateway.start();
    assert.deepEqual(first, { outcome: 'unavailable: not_sent', status_after: 'received' });
    await endsAs(stage, id, 'ready-to-ship');
    assert.equal((await stage.gateway.approvals(id)).length, 1);
  });
});

function firstOutcome(stage: Stage, id: string) {
  return waitFor(`an outcome of order ${id}`, async () => {
    const { rows } = await stage.database.query<{ outcome: string; status_after: string }>(
      `select outcome, status_after from cardauth.order_events
       where order_id = $1 and fact = 'outcome' order by event_id limit 1`,
      [id],
    );
    return rows[0];
  });
}

async function endsAs(stage: Stage, id: string, end: Row['end']): Promise<void> {
  switch (end) {
    case 'ready-to-ship':
    case 'denied': {
      const { status, notified_at } = await stage.announced(id, { timeoutMs: 30_000 });
      assert.equal(status, end);
      assert.notEqual(notified_at, null);
      const [receipt] = stage.receiptsOf(id);
      assert.equal(receipt?.routingKey, `order.${end}`);
      return;
    }
    case 'review': {
      const { row } = await stage.parked.next();
      assert.equal(row.order_id, id);
      assert.equal(row.class, 'review');
      assert.equal((await stage.order(id))?.status, 'review');
      assert.deepEqual(stage.receiptsOf(id), []);
      return;
    }
    case 'open': {
      await waitFor('a second try', async () => (await stage.gateway.requests(id)).length >= 3);
      assert.equal((await stage.order(id))?.status, UNKNOWN);
      assert.deepEqual(stage.receiptsOf(id), []);
    }
  }
}
