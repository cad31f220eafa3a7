import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import pg from 'pg';

import { applyGrants } from '../../src/adapters/postgres/grants.ts';
import { createOrderBook, type PostgresOrderBook } from '../../src/adapters/postgres/order-book.ts';
import { RetriableError } from '../../src/topology/errors.ts';
import { chargeStep, claim, newTerms, outcome } from '../conformance/order-book.ts';
import { createDatabase, type TestDatabase } from '../support/services.ts';
import { startProxy, type Proxy } from '../support/tcp-proxy.ts';
import type { Unit } from '../support/proxy-flow.ts';
import { waitFor } from '../support/wait-for.ts';
import { migrateUp } from '../../src/adapters/postgres/migrate.ts';
import { migratedDatabase, openBook, quietLog, realClock, startBook, untilAvailable } from './test-book.ts';

const DEADLINE_MS = 600;

describe('a database that fails', () => {
  let database: TestDatabase;
  let admin: pg.Client;

  before(async () => {
    database = await migratedDatabase();
    admin = new pg.Client(database.url);
    await admin.connect();
  });
  after(async () => {
    await admin.end();
    await database.drop();
  });

  it('cuts the connection between a commit and its reply: the fact is there, and is safe to bring again', async (t) => {
    const { book, proxy } = await bookBehindProxy(t);
    const terms = newTerms();
    cutReplyTo(proxy, 'write orders');
    await assert.rejects(book.apply(terms.orderId, { kind: 'claim', terms }), isDatabaseError);
    assert.equal(await storedStatus(terms.orderId), 'authorizing');

    await untilAvailable(book);
    const { next } = await book.apply(terms.orderId, { kind: 'claim', terms });
    assert.deepEqual(next, chargeStep(terms.orderId, 2));

    cutReplyTo(proxy, 'write orders');
    const approved = { kind: 'approved', reference: terms.orderId } as const;
    await assert.rejects(outcome(book, terms, 2, approved), isDatabaseError);
    await untilAvailable(book);
    const again = await outcome(book, terms, 2, approved);
    assert.equal(again.order?.status, 'ready-to-ship');
    assert.equal(again.order.version, 3, 'the second bringing changed nothing');
    assert.equal(again.alarm, undefined);
  });

  for (const when of ['before the database has it', 'before its reply']) {
    it(`cuts the connection in the middle of a commit of many facts, ${when}: none is lost, none counts twice`, async (t) => {
      const { book, proxy } = await bookBehindProxy(t, 10_000);
      const claimed = await Promise.all(Array.from({ length: 20 }, () => claim(book)));
      const fresh = Array.from({ length: 20 }, () => newTerms());
      const bringAll = () =>
        Promise.allSettled([
          ...claimed.map(({ terms }) =>
            outcome(book, terms, 1, { kind: 'approved', reference: `of-${terms.orderId}` }),
          ),
          ...fresh.map((terms) => book.apply(terms.orderId, { kind: 'claim', terms })),
        ]);
      if (when === 'before its reply') cutReplyTo(proxy, 'write orders');
      else cutOff(proxy, 'write orders');
      const answers = await bringAll();
      const rejected = answers.flatMap((each) =>
        each.status === 'rejected' ? [each.reason as unknown] : [],
      );
      assert.ok(rejected.length > 1, 'one connection carries many facts');
      assert.ok(rejected.every(isDatabaseError));

      await untilAvailable(book);
      for (const each of await bringAll()) {
        assert.equal(each.status, 'fulfilled');
        assert.equal(each.value.alarm, undefined);
        assert.equal(
          each.value.next.step,
          each.value.order?.status === 'authorizing' ? 'charge' : 'announce',
        );
      }
      const { rows } = await admin.query<{ version: number; events: number }>(
        `select o.version, count(*)::int as events
         from cardauth.orders o join cardauth.order_events e using (order_id)
         where order_id = any ($1) group by o.order_id`,
        [claimed.map(({ terms }) => terms.orderId)],
      );
      assert.deepEqual(new Set(rows.map(({ version, events }) => `${version} ${events}`)), new Set(['2 2']));
    });
  }

  it('accepts and never answers: every fact is answered by its deadline', async (t) => {
    const { book, proxy } = await bookBehindProxy(t);
    const { terms } = await claim(book);
    proxy.freeze();
    const startMs = performance.now();
    const facts = Array.from({ length: 20 }, () => {
      const fresh = newTerms();
      return book.apply(fresh.orderId, { kind: 'claim', terms: fresh });
    });
    facts.push(outcome(book, terms, 1, { kind: 'approved', reference: terms.orderId }));
    for (const each of await Promise.allSettled(facts)) {
      assert.equal(each.status, 'rejected');
      assert.ok(isDatabaseError(each.reason));
    }
    const tookMs = performance.now() - startMs;
    assert.ok(tookMs < DEADLINE_MS + 300, `answered after ${tookMs} ms`);
    await waitFor('the book to know', () => book.availability.unavailableBecause());

    proxy.thaw();
    await untilAvailable(book);
    const { order } = await outcome(book, terms, 1, { kind: 'approved', reference: terms.orderId });
    assert.equal(order?.status, 'ready-to-ship');
  });

  it('accepts and never answers while closing: closing ends all the same', async (t) => {
    const { book, proxy } = await bookBehindProxy(t);
    proxy.freeze();
    const terms = newTerms();
    const claimed = assert.rejects(book.apply(terms.orderId, { kind: 'claim', terms }), isDatabaseError);
    await book.close({ deadlineMs: 100 });
    await claimed;
  });

  it('goes away and comes back: facts wait for it, as long as their deadline allows', async (t) => {
    const { book, proxy } = await bookBehindProxy(t, 10_000);
    await proxy.refuse();
    proxy.cut();
    await waitFor('the book to know', () => book.availability.unavailableBecause());
    const terms = newTerms();
    const claimed = book.apply(terms.orderId, { kind: 'claim', terms });
    await proxy.accept();
    assert.equal((await claimed).next.step, 'charge');
  });

  it('is away when the worker starts: it keeps trying and says why', async (t) => {
    const proxy = await proxyFor(t);
    await proxy.refuse();
    const book = startBook(proxy.url, { deadlineMs: DEADLINE_MS });
    t.after(() => book.close({ deadlineMs: 100 }));
    const why = await waitFor('the reason', () =>
      /ECONNREFUSED/.exec(book.availability.unavailableBecause() ?? ''),
    );
    assert.ok(why);
    const terms = newTerms();
    await assert.rejects(book.apply(terms.orderId, { kind: 'claim', terms }), isDatabaseError);
    await proxy.accept();
    await untilAvailable(book);
  });

  it('turns read-only: not usable, and usable again afterwards', async (t) => {
    const name = new URL(database.url).pathname.slice(1);
    const book = await openBook(database.url, { deadlineMs: DEADLINE_MS });
    t.after(() => book.close({ deadlineMs: 100 }));
    await admin.query(`alter database ${name} set default_transaction_read_only = on`);
    try {
      await endSessions();
      await waitFor('read-only to be seen', () =>
        book.availability.unavailableBecause()?.includes('read-only'),
      );
      const terms = newTerms();
      await assert.rejects(book.apply(terms.orderId, { kind: 'claim', terms }), /read-only/);
    } finally {
      await admin.query('set transaction_read_only = off');
      await admin.query(`alter database ${name} reset default_transaction_read_only`);
    }
    await endSessions();
    await untilAvailable(book);
    await claim(book);
  });

  for (const [what, code] of [
    ['a serialization failure', '40001'],
    ['a deadlock', '40P01'],
  ] as const) {
    it(`${what} (${code}): the statement is tried again, and the fact is written once`, async (t) => {
      const own = await migratedDatabase();
      t.after(() => own.drop());
      await failTwice(own.url, code);
      const book = await openBook(own.url);
      t.after(() => book.close({ deadlineMs: 100 }));
      const { terms } = await claim(book);
      const { next } = await book.apply(terms.orderId, { kind: 'claim', terms });
      assert.deepEqual(next, chargeStep(terms.orderId, 2), 'the first claim was written once');
      assert.equal(book.availability.unavailableBecause(), undefined);
    });
  }

  it('has no connection left: not usable, and usable again afterwards', async (t) => {
    const role = `worker_${newTerms().orderId.replaceAll(/\W/g, '')}`;
    await admin.query(`create role ${role} login connection limit 0`);
    t.after(async () => {
      await admin.query(`drop owned by ${role}`);
      await admin.query(`drop role ${role}`);
    });
    await applyGrants({ url: database.url, roles: { worker: role } });
    const url = Object.assign(new URL(database.url), { username: role }).href;
    const book = startBook(url, { deadlineMs: DEADLINE_MS });
    t.after(() => book.close({ deadlineMs: 100 }));
    await waitFor('the reason', () => book.availability.unavailableBecause()?.includes('no connection left'));
    const terms = newTerms();
    await assert.rejects(book.apply(terms.orderId, { kind: 'claim', terms }), isDatabaseError);
    await admin.query(`alter role ${role} connection limit -1`);
    await untilAvailable(book);
    await claim(book);
  });

  it('ends the sessions of a worker: its book takes a new number and goes on', async (t) => {
    const book = await openBook(database.url);
    t.after(() => book.close({ deadlineMs: 100 }));
    const { worker } = book;
    const { terms } = await claim(book);
    await endSessions();
    await waitFor('another session', () => book.worker !== undefined && book.worker !== worker);
    await untilAvailable(book);
    const { next } = await book.apply(terms.orderId, { kind: 'claim', terms });
    assert.deepEqual(next, chargeStep(terms.orderId, 2));
  });

  it('has no schema yet: the worker waits for the migrations', async (t) => {
    const empty = await createDatabase();
    t.after(() => empty.drop());
    const book = startBook(empty.url);
    t.after(() => book.close({ deadlineMs: 100 }));
    await waitFor('the reason', () =>
      book.availability.unavailableBecause()?.includes('cardauth migrate up'),
    );
    await migrateUp({ url: empty.url, log: quietLog });
    await untilAvailable(book);
    await claim(book);
  });

  it('changes its schema under way: a connection with outdated statements is replaced', async (t) => {
    const book = await openBook(database.url);
    t.after(() => book.close({ deadlineMs: 100 }));
    await claim(book);
    await admin.query('alter table cardauth.orders alter card_brand type varchar(300)');
    const terms = newTerms();
    const decision = await waitFor('a claim to succeed again', async () => {
      await untilAvailable(book);
      return book.apply(terms.orderId, { kind: 'claim', terms });
    });
    assert.equal(decision.next.step, 'charge');
  });

  it('loses its schema under way: not usable, and the reason says what to do', async (t) => {
    const lost = await migratedDatabase();
    t.after(() => lost.drop());
    const book = await openBook(lost.url);
    t.after(() => book.close({ deadlineMs: 100 }));
    await drop(lost.url);
    const terms = newTerms();
    await assert.rejects(book.apply(terms.orderId, { kind: 'claim', terms }), /cardauth migrate up/);
    await waitFor('the reason', () =>
      book.availability.unavailableBecause()?.includes('cardauth migrate up'),
    );
  });

  it('has a URL that cannot be read: said at once, without the password in it', () => {
    const options = { leaseMs: 1, keyWindowMs: 1, clock: realClock, log: quietLog };
    const databaseUrl = 'postgres://me:hunter2@host:not-a-port/db';
    assert.throws(
      () => createOrderBook({ ...options, databaseUrl }),
      (error: Error) =>
        /database URL cannot be read/.test(error.message) && !String(error.stack).includes('hunter2'),
    );
  });

  async function proxyFor(t: TestContext): Promise<Proxy<Unit>> {
    const proxy = await startProxy({ target: database.url });
    t.after(() => proxy.close());
    return proxy;
  }

  async function bookBehindProxy(
    t: TestContext,
    deadlineMs = DEADLINE_MS,
  ): Promise<{ book: PostgresOrderBook; proxy: Proxy<Unit> }> {
    const proxy = await proxyFor(t);
    const book = await openBook(proxy.url, { deadlineMs });
    t.after(() => book.close({ deadlineMs: 100 }));
    return { book, proxy };
  }

  async function storedStatus(orderId: string): Promise<string | undefined> {
    const sql = 'select status from cardauth.orders where order_id = $1';
    const { rows } = await admin.query<{ status: string }>(sql, [orderId]);
    return rows[0]?.status;
  }

  async function endSessions(): Promise<void> {
    await admin.query(`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'cardauth worker'`);
  }
});

/** Lets the statement of that name reach the server, and cuts the connection instead of passing the answer. */
function cutReplyTo(proxy: Proxy<Unit>, statement: string): void {
  let sent = false;
  proxy.rule('toServer', ({ bytes }) => {
    sent ||= bytes.includes(statement);
    return 'pass';
  });
  proxy.rule('toClient', ({ bytes }) => {
    if (!sent || bytes.length === 0) return 'pass';
    proxy.rule('toServer', () => 'pass');
    proxy.rule('toClient', () => 'pass');
    return 'cut';
  });
}

/** Cuts the connection instead of passing the statement of that name on. */
function cutOff(proxy: Proxy<Unit>, statement: string): void {
  proxy.rule('toServer', ({ bytes }) => {
    if (!bytes.includes(statement)) return 'pass';
    proxy.rule('toServer', () => 'pass');
    return 'cut';
  });
}

function isDatabaseError(error: unknown): boolean {
  return error instanceof RetriableError && error.errorClass === 'database' && error.cause === undefined;
}

/** The first two writes of an order fail like this; a sequence counts them, since it takes part in no transaction. */
async function failTwice(url: string, code: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(`
    create sequence cardauth.failures;
    create function cardauth.fail_twice() returns trigger language plpgsql as $$
    begin
      if nextval('cardauth.failures') <= 2 then raise exception 'in the way' using errcode = '${code}'; end if;
      return new;
    end $$;
    create trigger fails before insert on cardauth.orders
      for each row execute function cardauth.fail_twice()`);
  await client.end();
}

async function drop(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query('drop schema cardauth cascade');
  await client.end();
}
