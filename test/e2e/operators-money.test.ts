/**
 * Operators beside running workers: orders without a verdict are asked about and settled, announcements are sent, our
 * records are compared with the gateway's. Whatever they do at once, a card is charged once.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { OperatedOrder } from '../../src/ops/operated-order.ts';
import type { Reconciliation } from '../../src/ops/reconcile/run.ts';
import * as money from '../../src/money-operations.ts';
import { openOrderHistory } from '../../src/operations.ts';
import { cli, type CliRun } from '../cli/fake-context.ts';
import { waitFor } from '../support/wait-for.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { newOrderId, openStage, orderJson, suiteOwner, type Environment, type Stage } from './stage.ts';

/** The gateway is asked by nobody but operators; what has no verdict is parked soon. */
const ENVIRONMENT: Environment = {
  CARDAUTH_GATEWAY_TIMEOUT_MS: '1000',
  CARDAUTH_LEASE_MS: '3000',
  CARDAUTH_MESSAGE_TIMEOUT_MS: '4000',
  CARDAUTH_DRAIN_MS: '3000',
  CARDAUTH_MAX_ATTEMPTS: '1',
  CARDAUTH_INQUIRY_WAITS_MS: '600000,700000',
};
const REASON = ['--reason', 'a test'];

describe('operators beside a running worker', { concurrency: false }, () => {
  const owner = suiteOwner();
  let stage: Stage;
  let worker: WorkerProcess;

  before(async () => {
    stage = await openStage(owner);
    worker = await stage.startWorker(ENVIRONMENT);
  });

  /** Each run is a command of its own. */
  const operate = (...args: string[]): Promise<CliRun> =>
    cli(args.includes('--reason') ? [...args, '--command-id', newOrderId()] : args, {
      parts: {
        money: () => Promise.resolve(money),
        orderHistory: () => Promise.resolve((config) => Promise.resolve(openOrderHistory(config))),
      },
      env: { ...stage.environment, ...ENVIRONMENT },
    });

  const isParked = async (orderId: string): Promise<boolean> => {
    const parked = `select from cardauth.order_events where order_id = $1 and fact = 'parked'`;
    return (await stage.database.query(parked, [orderId])).rows.length > 0;
  };

  /** Orders that are pending at the gateway, and approved there while nobody asks. */
  const unknownOrders = async (count: number, as: 'approved' | 'declined' = 'approved'): Promise<string[]> => {
    const ids = Array.from({ length: count }, () => newOrderId());
    await stage.gateway.setFaults(
      ids.map((orderId) => ({ match: { orderId }, fault: { kind: 'pending', settle: { as, afterMs: 200 } } })),
    );
    await stage.publish(...ids.map((id) => orderJson(id)));
    for (const id of ids) {
      await waitFor(`order ${id} to be parked`, () => isParked(id), { timeoutMs: 30_000 });
      assert.equal((await stage.order(id))?.status, 'authorization-unknown');
      if (as === 'approved') {
        await waitFor(`the approval of ${id}`, async () => (await stage.gateway.approvals(id)).length === 1);
      }
    }
    return ids;
  }; // prettier-ignore

  const results = ({ stdout }: CliRun): OperatedOrder[] =>
    stdout.trim().split('\n').map((line) => JSON.parse(line) as OperatedOrder); // prettier-ignore

  const actionsOn = async (orderId: string): Promise<string[]> => {
    const { rows } = await stage.database.query<{ action: string }>(
      'select action from cardauth.audit_log where subject = $1 order by audit_id',
      [`order:${orderId}`],
    );
    return rows.map(({ action }) => action);
  };

  const isGivenBack = async (orderId: string): Promise<boolean> => {
    const confirmed = `select from cardauth.attempts where order_id = $1 and void_state = 'confirmed'`;
    return (await stage.database.query(confirmed, [orderId])).rows.length === 1;
  };

  const chargedOnce = async (orderId: string): Promise<void> => {
    const approvals = await stage.gateway.approvals(orderId);
    assert.equal(approvals.length, 1, `order ${orderId} was charged ${approvals.length} times`);
    const order = await stage.order(orderId);
    assert.equal(order?.status, 'ready-to-ship');
    assert.equal(order.gateway_reference, approvals[0]?.authorizationId);
  };

  const announcedOnce = async (orderId: string, eventId: string): Promise<void> => {
    await stage.announced(orderId);
    const ids = stage.receiptsOf(orderId).map(({ properties }) => properties.messageId as string);
    assert.deepEqual(new Set(ids), new Set([eventId]));
  };

  it('lists what has no verdict, asks when told to, and sends what nobody is left to announce', async () => {
    const [orderId = ''] = await unknownOrders(1);
    const listed = await operate('unknown', 'list', '--json', '--limit', '1000');
    assert.equal(listed.exitCode, 0);
    const { orders } = JSON.parse(listed.stdout) as { orders: { orderId: string; lastHeard: string }[] };
    assert.equal(orders.find((order) => order.orderId === orderId)?.lastHeard, 'unknown: pending');

    const asked = (await stage.gateway.requests()).length;
    const dry = await operate('unknown', 'resolve', orderId, ...REASON, '--json');
    assert.equal(dry.exitCode, 5);
    assert.equal(results(dry)[0]?.result, 'would');
    assert.equal((await stage.gateway.requests()).length, asked, 'a dry run asked the gateway');
    assert.deepEqual(await actionsOn(orderId), []);

    const done = await operate('unknown', 'resolve', orderId, ...REASON, '--json', '--yes');
    assert.equal(done.exitCode, 0, done.stdout + done.stderr);
    assert.equal(results(done)[0]?.status, 'ready-to-ship');
    await chargedOnce(orderId);
    assert.deepEqual(await actionsOn(orderId), ['unknown resolve']);

    const missing = await operate('notifications', 'list', '--json');
    assert.match(missing.stdout, new RegExp(`order-${orderId}-ready-to-ship-1`));
    const wouldSend = await operate('notifications', 'resend', '--unannounced', ...REASON, '--json');
    assert.equal(wouldSend.exitCode, 5);
    assert.equal(stage.receiptsOf(orderId).length, 0);
    const sent = await operate('notifications', 'resend', '--unannounced', ...REASON, '--yes');
    assert.equal(sent.exitCode, 0, sent.stdout + sent.stderr);
    await announcedOnce(orderId, `order-${orderId}-ready-to-ship-1`);

    const again = await operate('notifications', 'resend', orderId, ...REASON, '--yes');
    assert.equal(again.exitCode, 0, again.stdout);
    await waitFor('the second copy', () => stage.receiptsOf(orderId).length === 2);
    await announcedOnce(orderId, `order-${orderId}-ready-to-ship-1`);
    assert.deepEqual(await actionsOn(orderId), ['unknown resolve', 'notifications resend', 'notifications resend']);
    await chargedOnce(orderId);
  }); // prettier-ignore

  it('says which announcement cannot be routed, and does not mark it', async () => {
    const orderId = newOrderId();
    await stage.publish(orderJson(orderId));
    await stage.announced(orderId);
    await stage.client.declareExchange(`${stage.broker.exchange}.nobody`);
    const lost = await operate(
      ...['notifications', 'resend', orderId, ...REASON, '--yes', '--json'],
      ...['--set', `CARDAUTH_NOTIFICATIONS_EXCHANGE=${stage.broker.exchange}.nobody`],
    );
    assert.equal(lost.exitCode, 1, lost.stdout);
    assert.equal(results(lost)[0]?.result, 'failed');
    assert.match(results(lost)[0]?.explanation ?? '', /reached no queue/);
    await stage.client.deleteExchange(`${stage.broker.exchange}.nobody`);
  });

  it('settles by evidence only what the gateway does not contradict', async () => {
    const [orderId = '', other = ''] = await unknownOrders(2);
    const [reference = '', foreign = ''] = await Promise.all(
      [orderId, other].map(async (id) => (await stage.gateway.approvals(id))[0]?.authorizationId ?? ''),
    );
    const settle = (...args: string[]) =>
      operate('unknown', 'resolve', orderId, ...args, ...REASON, '--yes', '--json');
    for (const wrong of [
      ['--as', 'declined'],
      ['--as', 'declined', '--offline-evidence'],
      ['--as', 'approved', '--reference', foreign, '--offline-evidence'],
      ['--as', 'approved', '--reference', 'pi_unheard_of', '--offline-evidence'],
    ]) {
      const refused = await settle(...wrong);
      assert.equal(refused.exitCode, 1, refused.stdout);
      assert.equal(results(refused)[0]?.result, 'refused', wrong.join(' '));
    }
    assert.equal((await stage.order(orderId))?.status, 'authorization-unknown');
    const settled = await settle('--as', 'approved', '--reference', reference);
    assert.equal(settled.exitCode, 0, settled.stdout);
    await chargedOnce(orderId);
    // Settled orders are due at once: the worker announces it.
    await announcedOnce(orderId, `order-${orderId}-ready-to-ship-1`);
    assert.equal(results(await settle('--as', 'approved', '--reference', reference))[0]?.result, 'refused');
  });

  it('needs evidence when the gateway cannot be asked, and gives back what comes up later', async () => {
    const [orderId = ''] = await unknownOrders(1, 'declined');
    const away = ['--set', 'CARDAUTH_GATEWAY_URL=http://127.0.0.1:1'];
    const without = await operate(
      'unknown',
      'resolve',
      orderId,
      '--as',
      'declined',
      ...away,
      ...REASON,
      '--yes',
    );
    assert.equal(without.exitCode, 1, without.stdout);
    assert.match(without.stdout, /--offline-evidence/);
    const silent = ['--as', 'declined', '--offline-evidence', ...away];
    const settled = await operate('unknown', 'resolve', orderId, ...silent, ...REASON, '--yes');
    assert.equal(settled.exitCode, 0, settled.stdout);
    assert.equal((await stage.order(orderId))?.status, 'denied');
    // Its authorization was on record, undecided: it is given up, so that it cannot become a hold.
    await waitFor('it to be given up', () => isGivenBack(orderId), { timeoutMs: 30_000 });
    const reopened = await operate('orders', 'reopen', orderId, ...REASON, '--yes');
    assert.equal(reopened.exitCode, 0, reopened.stdout);
  });

  it('charges once whatever operators and replays do at the same time', async () => {
    const ids = await unknownOrders(6);
    const references = await Promise.all(
      ids.map(async (id) => (await stage.gateway.approvals(id))[0]?.authorizationId ?? ''),
    );
    const runs = await Promise.all([
      operate('unknown', 'resolve', ...ids, ...REASON, '--yes', '--json'),
      operate('unknown', 'resolve', ...ids, ...REASON, '--yes', '--json'),
      operate('unknown', 'resolve', ...ids, '--as', 'declined', ...REASON, '--yes', '--json'),
      ...ids.map((id, n) =>
        operate('unknown', 'resolve', id, '--as', 'approved', '--reference', references[n] ?? '', ...REASON, '--yes'),
      ),
      stage.publish(...ids.map((id) => orderJson(id))),
    ]); // prettier-ignore
    for (const run of runs) if (run !== undefined) assert.ok([0, 1, 3].includes(run.exitCode), run.stderr);
    // Where everybody was in everybody's way, nobody has settled it.
    for (const id of ids) {
      await waitFor(`order ${id} to be settled`, async () => {
        await operate('unknown', 'resolve', id, ...REASON, '--yes');
        return (await stage.order(id))?.status === 'ready-to-ship';
      });
    }
    const sent = await operate('notifications', 'resend', '--unannounced', ...REASON, '--yes');
    assert.equal(sent.exitCode, 0, sent.stdout);
    for (const id of ids) {
      await chargedOnce(id);
      await announcedOnce(id, `order-${id}-ready-to-ship-1`);
    }
  });

  it('opens a denied order for another try, once, and charges it when its message comes again', async () => {
    const orderId = newOrderId();
    await stage.gateway.setFaults([
      { match: { orderId, nth: 1 }, fault: { kind: 'decline', declineCode: 'lost_card' } },
    ]);
    await stage.publish(orderJson(orderId));
    assert.equal((await stage.announced(orderId)).status, 'denied');
    const both = await Promise.all(
      [1, 2].map(() => operate('orders', 'reopen', orderId, ...REASON, '--yes', '--json')),
    );
    assert.deepEqual(
      both.map(({ exitCode }) => exitCode).sort(),
      [0, 1],
      both.map((run) => run.stdout).join(),
    );
    assert.equal((await stage.order(orderId))?.generation, 2);
    await stage.gateway.setFaults([]);
    await stage.publish(orderJson(orderId));
    await waitFor(
      'the second decision',
      async () => (await stage.order(orderId))?.status === 'ready-to-ship',
    );
    await chargedOnce(orderId);
    await stage.announced(orderId);
    const events = stage.receiptsOf(orderId).map(({ properties }) => properties.messageId as string);
    assert.deepEqual(
      new Set(events),
      new Set([`order-${orderId}-denied-1`, `order-${orderId}-ready-to-ship-2`]),
    );
    const approved = await operate('orders', 'reopen', orderId, ...REASON, '--yes');
    assert.equal(approved.exitCode, 1, 'an approved order is never reopened');
  });

  it('finds every difference with the gateway, settles the certain ones, and then finds nothing new', async () => {
    const [unknown = ''] = await unknownOrders(1);
    const [denied, unheardOf, otherAmount, twice] = Array.from({ length: 4 }, () => newOrderId());
    assert.ok(denied !== undefined && unheardOf !== undefined && otherAmount !== undefined && twice !== undefined);
    await stage.gateway.setFaults([
      { match: { orderId: denied, nth: 1 }, fault: { kind: 'decline', declineCode: 'lost_card' } },
      { match: { orderId: otherAmount }, fault: { kind: 'wrong-amount', amountMinor: 9999 } },
    ]);
    await stage.publish(orderJson(denied), orderJson(twice), orderJson(otherAmount));
    for (const id of [denied, twice]) await stage.announced(id);
    await waitFor('the review', async () => (await stage.order(otherAmount))?.status === 'review');
    await stage.gateway.setFaults([]);
    // Charges that are none of the worker's.
    await Promise.all([denied, unheardOf, twice].map((id) => charge(stage, id)));
    const lost = newOrderId();
    await stage.publish(orderJson(lost));
    await stage.announced(lost);

    const concerned = new Set([unknown, denied, unheardOf, otherAmount, twice, lost]);
    const reconcile = async (...args: string[]) => {
      const run = await operate('reconcile', '--since', '1h', '--json', ...args);
      const result = JSON.parse(run.stdout) as Reconciliation;
      const differences = result.differences.filter(({ orderId }) => concerned.has(orderId));
      const kinds = differences.map(({ orderId, kind }) => [orderId, kind]);
      return { ...run, ...result, differences, kinds: new Map(kinds as [string, string][]) };
    };
    const all = new Map([
      [unknown, 'unrecorded_approval'],
      [denied, 'held_though_denied'],
      [unheardOf, 'unrecorded_approval'],
      [otherAmount, 'amount_differs'],
      [twice, 'two_approvals'],
    ]);
    // Young authorizations are left out: their orders may be in flight.
    assert.equal((await reconcile()).kinds.size, 0);
    await waitFor('them to be old enough', async () => (await reconcile()).kinds.size === all.size, { timeoutMs: 30_000 });
    const found = await reconcile();
    assert.deepEqual(found.kinds, all);
    assert.equal(found.exitCode, 1);
    const before = await states(stage, concerned);
    const dry = await reconcile('--fix', ...REASON);
    assert.equal(dry.exitCode, 5);
    assert.deepEqual(dry.differences.filter(({ isCertain }) => isCertain).map(({ orderId }) => orderId).sort(), [unknown, denied].sort());
    assert.deepEqual(await states(stage, concerned), before, 'a dry run changes nothing');

    const fixed = await reconcile('--fix', ...REASON, '--yes');
    assert.equal(fixed.exitCode, 3, fixed.stderr);
    await chargedOnce(unknown);
    await waitFor('the hold of the denied order to be given back', () => isGivenBack(denied));
    assert.equal((await stage.order(denied))?.status, 'denied');

    const settledState = await states(stage, concerned);
    const again = await reconcile('--fix', ...REASON, '--yes');
    assert.deepEqual(again.kinds, new Map([...all].filter(([id]) => id !== unknown && id !== denied)));
    assert.deepEqual(await states(stage, concerned), settledState, 'the second run changed something');
    assert.deepEqual(await actionsOn(unknown), ['reconcile']);

    const kept = await stage.database.query<{ fixing: boolean }>('select fixing from cardauth.reconciliation_runs where fixing');
    assert.equal(kept.rows.length, 2);
    const { rows } = await stage.database.query<{ settled: string }>(
      'select settled from cardauth.reconciliation_differences where order_id = $1 and settled is not null', [unknown]);
    assert.equal(rows.length, 1);

    // The ledger as a file tells the same.
    const csv = ['reference,order_id,amount_minor,currency,state,created_at', `pi_gone,${unheardOf},4223,USD,held,${new Date(Date.now() - 600_000).toISOString()}`].join('\n');
    const byLedger = await cli(['reconcile', '--ledger', 'ledger.csv', '--json', '--since', '1h'], {
      parts: { money: () => Promise.resolve(money) },
      env: { ...stage.environment, ...ENVIRONMENT },
      files: { 'ledger.csv': csv },
    });
    const kinds = (JSON.parse(byLedger.stdout) as Reconciliation).differences;
    assert.equal(kinds.find(({ orderId }) => orderId === unheardOf)?.kind, 'unrecorded_approval');
    assert.equal(kinds.find(({ orderId }) => orderId === lost)?.kind, 'unknown_to_gateway');
  }); // prettier-ignore

  it('ends with an empty queue', async () => {
    await stage.endAndExpectEmptyQueue(worker);
  });
});

/** A charge for the order that the worker knows nothing of. */
async function charge(stage: Stage, orderId: string): Promise<void> {
  const body = new URLSearchParams({
    amount: '4223',
    currency: 'usd',
    confirm: 'true',
    capture_method: 'manual',
    off_session: 'true',
    payment_method: 'pm_card_visa',
    'allowed_payment_method_types[0]': 'card',
    'metadata[order_id]': orderId,
  });
  const response = await fetch(`${stage.gateway.url}/v1/payment_intents`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk_test_stage', 'idempotency-key': `foreign-${orderId}` },
    body,
  });
  assert.equal(response.status, 200, await response.text());
}

async function states(stage: Stage, orderIds: ReadonlySet<string>): Promise<unknown> {
  const { rows } = await stage.database.query<object>(
    `select o.order_id, o.status, o.version, o.gateway_reference, a.void_state
     from cardauth.orders o left join cardauth.attempts a using (order_id, generation)
     where order_id = any ($1) order by order_id`,
    [[...orderIds]],
  );
  return rows;
}
