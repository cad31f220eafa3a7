import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type pg from 'pg';
import { connectClient, run } from '../../src/adapters/postgres/connection.ts';
import type { PostgresOrderBook } from '../../src/adapters/postgres/order-book.ts';
import {
  openUnresolvedOrders,
  type PostgresUnresolvedOrders,
} from '../../src/adapters/postgres/unresolved-orders.ts';
import type { AuthorizationOutcome } from '../../src/domain/outcome.ts';
import type { TestDatabase } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';
import { migratedDatabase, openBook, quietLog } from './test-book.ts';

const UNKNOWN = { kind: 'unknown', cause: 'no_answer', detail: 'no answer' } as const;

describe('orders that are due for the resolver', { concurrency: false }, () => {
  let database: TestDatabase;
  let client: pg.Client;
  let books: PostgresOrderBook[];
  let resolvers: PostgresUnresolvedOrders[];
  let last = 0;

  before(async () => {
    database = await migratedDatabase();
    const settings = { inquiryWaitsMs: [1], leaseMs: 60_000 };
    books = [await openBook(database.url, settings), await openBook(database.url, settings)];
    const open = () => openUnresolvedOrders({ databaseUrl: database.url, holdMs: 400, log: quietLog });
    resolvers = [open(), open()];
    client = await connectClient({ databaseUrl: database.url, applicationName: 'test', wallMs: 5_000 });
  });
  after(async () => {
    await client.end();
    await Promise.all(resolvers.map((resolver) => resolver.close()));
    await Promise.all(books.map((book) => book.close({ deadlineMs: 1_000 })));
    await database.drop();
  });

  async function order(outcome?: AuthorizationOutcome): Promise<string> {
    const orderId = `due-${(last += 1)}`;
    const fingerprint = `print of ${orderId}`;
    const terms = { orderId, customerId: '1', amountMinor: 1n, currency: 'USD', fingerprint };
    const [book] = books;
    await book?.apply(orderId, { kind: 'claim', terms });
    if (outcome !== undefined)
      await book?.apply(orderId, { kind: 'outcome', generation: 1, claim: 1, outcome });
    return orderId;
  }

  async function takeAll(): Promise<string[]> {
    const taken = await Promise.all(resolvers.map((resolver) => resolver.take(100)));
    return taken.flat().sort();
  }

  async function dueInTime(count: number): Promise<void> {
    await waitFor('orders to be due', async () => {
      const rows = await run<{ due: number }>(
        client,
        'select count(*)::int as due from cardauth.attempts where resolve_due_at <= now()',
      );
      return (rows[0]?.due ?? 0) >= count;
    });
  }

  it('gives every one to one resolver only, and again once its hold is over', async () => {
    const unknown: string[] = [];
    for (let n = 0; n < 40; n += 1) unknown.push(await order(UNKNOWN));
    await order({ kind: 'approved', reference: 'decided at once' });
    await order({ kind: 'unavailable', cause: 'not_sent', detail: 'refused' });
    const claimed = await order();
    await dueInTime(unknown.length);

    assert.deepEqual(await takeAll(), unknown.toSorted());
    assert.deepEqual(await takeAll(), []);
    const again = await waitFor('the hold to be over', async () => {
      const taken = await takeAll();
      return taken.length > 0 ? taken : undefined;
    });
    assert.deepEqual(again, unknown.toSorted());
    assert.ok(!again.includes(claimed), 'taken although somebody holds a claim');

    // A claim whose lease is over is due, too.
    await run(
      client,
      `update cardauth.attempts set lease_until = now(), resolve_due_at = now() where order_id = '${claimed}'`,
    );
    await waitFor('the claimed order', async () => (await takeAll()).includes(claimed));
  });

  it('skips what is being written instead of waiting for it', async () => {
    const [locked, free] = [await order(UNKNOWN), await order(UNKNOWN)];
    await dueInTime(2);
    await run(client, 'begin');
    await run(client, `select from cardauth.attempts where order_id = '${locked}' for update`);
    // Waiting for it would not end before the test does.
    const taken = await takeAll();
    assert.ok(taken.includes(free) && !taken.includes(locked));
    await run(client, 'rollback');
    await waitFor('the locked one', async () => (await takeAll()).includes(locked));
  });

  it('forgets what was due for a generation that is over', async () => {
    const orderId = await order(UNKNOWN);
    const [book] = books;
    const outcome = { kind: 'declined', reason: 'card_declined', class: 'hard', code: 'stolen' } as const;
    await book?.apply(orderId, { kind: 'inquired', generation: 1, inquiry: 0, outcome });
    const command = { commandId: orderId, actor: 'anna', action: 'orders reopen', reason: 'a new card' };
    const reopened = await book?.apply(orderId, { kind: 'reopened', generation: 1 }, command);
    assert.equal(reopened?.order?.generation, 2);
    await waitFor('it to be taken', async () => (await takeAll()).includes(orderId));
    const [row] = await run<{ due: string | null }>(
      client,
      `select resolve_due_at::text as due from cardauth.attempts where order_id = '${orderId}'`,
    );
    assert.equal(row?.due, null);
  });

  it('is settled once, whichever of two resolvers and a replay comes first', async () => {
    const orderId = await order(UNKNOWN);
    const [one, two] = books;
    const approved = { kind: 'approved', reference: 'found', expiresAtMs: 1_900_000_000_123 } as const;
    const inquired = { kind: 'inquired', generation: 1, inquiry: 0, outcome: approved } as const;
    const outcome = { kind: 'outcome', generation: 1, claim: 1, outcome: approved } as const;
    await Promise.all([
      one?.apply(orderId, inquired),
      two?.apply(orderId, inquired),
      two?.apply(orderId, outcome),
    ]);
    const events = await run<{ status_after: string }>(
      client,
      `select status_after from cardauth.order_events where order_id = '${orderId}' and status_after = 'ready-to-ship'`,
    );
    assert.equal(events.length, 1);
    const looked = await one?.apply(orderId, { kind: 'parked', reason: 'looked at' });
    assert.equal(looked?.order?.authorizationExpiresAtMs, approved.expiresAtMs);
  });

  it('records inquiries and voids, and remembers them', async () => {
    const orderId = await order({
      kind: 'declined',
      reason: 'card_declined',
      class: 'hard',
      code: 'lost_card',
    });
    const [book] = books;
    const reference = 'must not stand';
    const late = { kind: 'approved', reference } as const;
    await book?.apply(orderId, { kind: 'outcome', generation: 1, claim: 1, outcome: late });
    const due = await book?.apply(orderId, { kind: 'resolve' });
    assert.deepEqual(due?.next, {
      step: 'void',
      idempotencyKey: `order-${orderId}-1-void`,
      generation: 1,
      reference,
    });
    const unanswered = { kind: 'unanswered', detail: 'HTTP 502' } as const;
    for (const [answer, state, tries] of [
      [unanswered, 'due', 1],
      [{ kind: 'voided' }, 'confirmed', 1],
      [{ kind: 'voided' }, 'confirmed', 1],
    ] as const) {
      await book?.apply(orderId, { kind: 'voided', generation: 1, reference, outcome: answer });
      const { order: stored } = (await books[1]?.apply(orderId, { kind: 'resolve' })) ?? {};
      assert.deepEqual(stored?.attempt?.voiding, { reference, state, tries });
      assert.equal(stored.status, 'denied');
    }
    const events = await run<{ outcome: string }>(
      client,
      `select outcome from cardauth.order_events where order_id = '${orderId}' and fact = 'voided' order by event_id`,
    );
    assert.deepEqual(
      events.map((event) => event.outcome),
      ['void: unanswered', 'void: voided'],
    );
  });

  it('takes a reference that another order has for a contradiction, also when asked', async () => {
    const [book] = books;
    const shared = { kind: 'approved', reference: 'shared' } as const;
    await order(shared);
    const orderId = await order(UNKNOWN);
    const inquired = { kind: 'inquired', generation: 1, inquiry: 0, outcome: shared } as const;
    const decision = await book?.apply(orderId, inquired);
    assert.deepEqual(
      [decision?.order?.status, decision?.order?.statusReason],
      ['review', 'reference_reused'],
    );
  });
});
