import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import pg from 'pg';

import { PostgresRetryLedger } from '../../src/adapters/postgres/retry-ledger.ts';
import type { SentCopy } from '../../src/ports/retry-ledger.ts';
import { VirtualClock } from '../../src/topology/testing/virtual-clock.ts';
import { claim } from '../conformance/order-book.ts';
import { startProxy, type Proxy } from '../support/tcp-proxy.ts';
import type { TestDatabase } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';
import { migratedDatabase, openBook, quietLog, realClock } from './test-book.ts';

describe('the retry ledger', { concurrency: false }, () => {
  let database: TestDatabase;
  let client: pg.Client;
  const ledgers: PostgresRetryLedger[] = [];

  before(async () => {
    database = await migratedDatabase();
    client = new pg.Client(database.url);
    await client.connect();
  });
  beforeEach(async () => {
    await client.query('truncate cardauth.retry_ledger');
  });
  after(async () => {
    await Promise.all([client.end(), ...ledgers.map((one) => one.close())]);
    await database.drop();
  });

  it('says of a copy where it waits, why, and until when; and that it came back', async () => {
    const ledger = opened();
    const copy = sent({ levelMs: 60_000 });
    ledger.sent(copy);
    const row = await waitFor('the row', () => rowOf(copy.copyId));
    assert.deepEqual(
      [row.order_id, row.message_id, row.level_ms, row.reason_class, row.returned_at],
      [copy.orderId, 'm-1', '60000', 'no_answer', null],
    );
    assert.equal((row.due_at?.getTime() ?? 0) - (row.sent_at?.getTime() ?? 0), 60_000);
    ledger.returned(copy.copyId);
    await waitFor('the return', async () => (await rowOf(copy.copyId))?.returned_at);
  });

  it('writes nothing of a copy that is back before anybody was told', async () => {
    const ledger = opened({ gatherMs: 60_000 });
    const copy = sent();
    ledger.sent(copy);
    ledger.returned(copy.copyId);
    await ledger.close();
    assert.equal(await rowOf(copy.copyId), undefined);
  });

  it('takes both notes of two workers in either order', async () => {
    const [one, other] = [opened(), opened()];
    const copy = sent();
    other.returned(copy.copyId);
    await waitFor('the return', () => rowOf(copy.copyId));
    one.sent(copy);
    const row = await waitFor('both', async () => {
      const found = await rowOf(copy.copyId);
      return found?.sent_at === null ? undefined : found;
    });
    assert.notEqual(row.returned_at, null);
    assert.equal(row.order_id, copy.orderId);
  });

  it('keeps notes while the database is away, and writes them once it is back', async (t) => {
    const proxy = await startProxy({ target: database.url });
    t.after(() => proxy.close());
    const clock = new VirtualClock();
    const ledger = opened({ databaseUrl: proxy.url, clock });
    await away(proxy);
    const copies = Array.from({ length: 700 }, () => sent());
    for (const copy of copies) ledger.sent(copy);
    for (let tries = 0; tries < 3; tries++) {
      await moved(clock, 10_000);
      assert.equal((await rows()).length, 0);
    }
    await proxy.accept();
    await waitFor('all notes', async () => {
      await moved(clock, 10_000);
      return (await rows()).length === copies.length;
    });
    assert.equal(ledger.dropped, 0);
  });

  it('has a limit, and drops and counts the oldest beyond it', async (t) => {
    const proxy = await startProxy({ target: database.url });
    t.after(() => proxy.close());
    const clock = new VirtualClock();
    const ledger = opened({ databaseUrl: proxy.url, clock, mostWaiting: 10 });
    await away(proxy);
    const copies = Array.from({ length: 25 }, () => sent());
    for (const copy of copies) {
      ledger.sent(copy);
      await moved(clock, 1_000);
    }
    assert.ok(ledger.dropped >= 15, String(ledger.dropped));
    await proxy.accept();
    await waitFor('the rest', async () => {
      await moved(clock, 10_000);
      return (await rows()).length > 0;
    });
    const left = (await rows()).map(({ copy_id }) => copy_id);
    assert.ok(left.length <= 10);
    assert.ok(left.includes(copies.at(-1)?.copyId ?? ''));
    assert.ok(!left.includes(copies[0]?.copyId ?? ''));
  });

  describe('calls overdue', () => {
    it('what did not come back within its level’s time and as much again, a minute at least', async () => {
      const ledger = opened();
      const [shortLate, shortSoon, longLate, longSoon, back] = await Promise.all([
        insert({ levelMs: 1_000, dueAgoS: 61 }),
        insert({ levelMs: 1_000, dueAgoS: 59 }),
        insert({ levelMs: 600_000, dueAgoS: 601 }),
        insert({ levelMs: 600_000, dueAgoS: 599 }),
        insert({ levelMs: 1_000, dueAgoS: 900, returned: true }),
      ]);
      assert.ok(shortSoon && longSoon && back);
      const { count, oldest } = await ledger.overdue(10);
      assert.equal(count, 2);
      assert.deepEqual(
        oldest.map(({ copyId }) => copyId),
        [longLate, shortLate],
      );
      assert.equal(oldest[0]?.levelMs, 600_000);
      const first = await ledger.overdue(1);
      assert.deepEqual([first.count, first.oldest.length], [2, 1]);
    });

    it('nothing of an order that is announced, or was parked since', async () => {
      const book = await openBook(database.url);
      const { terms } = await claim(book);
      const { orderId } = terms;
      await insert({ orderId, dueAgoS: 900 });
      const parkedId = randomUUID();
      await insert({ orderId: parkedId, dueAgoS: 900 });
      const ledger = opened();
      assert.equal((await ledger.overdue(1)).count, 2);

      await park(parkedId, '1 day');
      assert.equal((await ledger.overdue(1)).count, 2, 'parked before the copy was sent');
      await park(parkedId, '0 s');
      assert.equal((await ledger.overdue(1)).count, 1);

      const approved = { kind: 'approved', reference: `ref-${orderId}` } as const;
      await book.apply(orderId, { kind: 'outcome', generation: 1, claim: 1, outcome: approved });
      await book.apply(orderId, { kind: 'notified', generation: 1, status: 'ready-to-ship' });
      assert.equal((await ledger.overdue(1)).count, 0);
      await book.close({ deadlineMs: 1_000 });
    });

    it('and says so once a minute, and forgets what nobody needs', async () => {
      const warnings: { readonly reasons?: readonly string[] }[] = [];
      const clock = new VirtualClock();
      const log = { ...quietLog, warn: (fields: object) => void warnings.push(fields) };
      const ledger = opened({ clock, log });
      const late = await insert({ orderId: 'late-1', dueAgoS: 900 });
      const gone = [
        await insert({ dueAgoS: 5_000, returned: true }),
        await insert({ orderId: null, dueAgoS: 8 * 86_400 }),
      ];
      const stays = await insert({ orderId: null, dueAgoS: 86_400 });
      ledger.start();
      await moved(clock, 59_000);
      assert.equal(warnings.length, 0);
      await moved(clock, 2_000);
      await waitFor('the warning', () => warnings.length === 1);
      assert.deepEqual(
        warnings.map(({ reasons }) => reasons),
        [[stays, 'late-1']],
      );
      const left = (await rows()).map(({ copy_id }) => copy_id);
      assert.ok(left.includes(late) && left.includes(stays));
      assert.ok(gone.every((copyId) => !left.includes(copyId)));
    });
  });

  function opened(options: Partial<ConstructorParameters<typeof PostgresRetryLedger>[0]> = {}) {
    const ledger = new PostgresRetryLedger({
      databaseUrl: database.url,
      clock: realClock,
      log: quietLog,
      gatherMs: 20,
      ...options,
    });
    ledgers.push(ledger);
    return ledger;
  }

  interface Row {
    readonly copy_id: string;
    readonly order_id: string | null;
    readonly message_id: string | null;
    readonly level_ms: string | null;
    readonly reason_class: string | null;
    readonly sent_at: Date | null;
    readonly due_at: Date | null;
    readonly returned_at: Date | null;
  }

  async function rows(): Promise<Row[]> {
    return (await client.query<Row>('select * from cardauth.retry_ledger')).rows;
  }

  async function rowOf(copyId: string): Promise<Row | undefined> {
    return (await rows()).find((row) => row.copy_id === copyId);
  }

  async function insert(row: {
    orderId?: string | null;
    levelMs?: number;
    dueAgoS: number;
    returned?: boolean;
  }): Promise<string> {
    const copyId = randomUUID();
    const { orderId = `o-${copyId}`, levelMs = 1_000, dueAgoS, returned = false } = row;
    await client.query(
      `insert into cardauth.retry_ledger values (
         $1, $2, null, $3::bigint, 'x', now() - $4::float8 * interval '1 s' - $3::bigint * interval '1 ms',
         now() - $4::float8 * interval '1 s', case when $5 then now() - $4::float8 * interval '1 s' end)`,
      [copyId, orderId, levelMs, dueAgoS, returned],
    );
    return copyId;
  }

  async function park(orderId: string, ago: string): Promise<void> {
    await client.query(
      `insert into cardauth.parked_orders
         (order_id, reason, class, attempts, error, origin_queue, first_seen_at, parked_at, not_replayable_because)
       values ($1, 'review', 'review', 0, '', '', now(), now() - $2::interval, 'test')`,
      [orderId, ago],
    );
  }
});

function sent(change: Partial<SentCopy> = {}): SentCopy {
  const copyId = randomUUID();
  return {
    copyId,
    orderId: `o-${copyId}`,
    messageId: 'm-1',
    levelMs: 1_000,
    reasonClass: 'no_answer',
    ...change,
  };
}

async function away(proxy: Proxy<{ bytes: Buffer }>): Promise<void> {
  await proxy.refuse();
  proxy.cut();
}

/** Time passes, and what it set off has some time of its own. */
async function moved(clock: VirtualClock, ms: number): Promise<void> {
  clock.move(ms);
  while (clock.runOne());
  await new Promise((resolve) => setTimeout(resolve, 30));
}
