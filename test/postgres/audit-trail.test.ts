import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';

import { audited, openAuditTrail, type PostgresAuditTrail } from '../../src/adapters/postgres/audit-trail.ts';
import { Database } from '../../src/adapters/postgres/connection.ts';
import type { OperatorCommand } from '../../src/domain/audit.ts';
import { claim, newTerms, outcome } from '../conformance/order-book.ts';
import type { TestDatabase } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';
import { migratedDatabase, openBook, quietLog } from './test-book.ts';

let ids = 0;
function newCommand(change: Partial<OperatorCommand> = {}): OperatorCommand {
  return { commandId: `c-${ids++}`, actor: 'anna@ops', action: 'test', reason: 'because', ...change };
}

describe('the audit trail', () => {
  let database: TestDatabase;
  let trail: PostgresAuditTrail;
  let ours: Database;
  let client: pg.Client;

  before(async () => {
    database = await migratedDatabase();
    trail = openAuditTrail({ databaseUrl: database.url, log: quietLog });
    ours = new Database({
      databaseUrl: database.url,
      applicationName: 'test',
      wallMs: 10_000,
      connections: 4,
      settings: 'select 1',
      log: quietLog,
    });
    client = new pg.Client(database.url);
    await client.connect();
    await client.query('create table changed (n int)');
  });
  after(async () => {
    await Promise.all([trail.close(), ours.close(), client.end()]);
    await database.drop();
  });

  const insert = { name: 'insert', text: 'insert into public.changed values (1)' };
  async function changes(): Promise<number> {
    const { rows } = await client.query<{ n: number }>('select count(*)::int as n from changed');
    return rows[0]?.n ?? 0;
  }

  it('keeps an action once for each command and subject', async () => {
    const entry = {
      ...newCommand(),
      subject: 'parked:1',
      before: { state: 'parked' },
      after: { state: 'gone' },
    };
    assert.equal(await trail.record(entry), 'recorded');
    assert.equal(await trail.record(entry), 'repeated');
    assert.equal(await trail.record({ ...entry, subject: 'parked:2' }), 'recorded');
    const { actions } = await trail.list({ subject: 'parked:1', limit: 10 });
    assert.equal(actions.length, 1);
    const { id, happenedAtMs, ...kept } = actions[0] ?? assert.fail('nothing was kept');
    assert.deepEqual(kept, entry);
    assert.match(id, /^\d+$/);
    assert.ok(Math.abs(Date.now() - happenedAtMs) < 60_000);
  });

  it('knows a command again whose id could be a card number and is masked', async () => {
    const command = { ...newCommand({ commandId: '4242424242424242' }), subject: 'parked:masked' };
    let times = 0;
    const work = () => {
      times += 1;
      return Promise.resolve({ value: 1, changed: { after: { state: 'gone' } } });
    };
    assert.equal((await audited(ours, command, work)).kind, 'done');
    assert.equal((await audited(ours, command, work)).kind, 'repeated');
    assert.equal(times, 1, 'the work was done again, if only to be rolled back');
    const { actions } = await trail.list({ subject: 'parked:masked', limit: 10 });
    assert.match(actions[0]?.commandId ?? '', /^424242\*+4242$/);
  });

  it('lists page by page, the latest first, and by actor, action and time', async () => {
    const actor = 'bert@ops';
    for (let n = 0; n < 5; n++) {
      await trail.record({ ...newCommand({ actor, action: n < 3 ? 'pause' : 'resume' }), subject: `s:${n}` });
    }
    const first = await trail.list({ actor, limit: 2 });
    assert.deepEqual(
      first.actions.map(({ subject }) => subject),
      ['s:4', 's:3'],
    );
    const second = await trail.list({ actor, limit: 3, beforeId: first.next });
    assert.deepEqual(
      second.actions.map(({ subject }) => subject),
      ['s:2', 's:1', 's:0'],
    );
    assert.equal(second.next, undefined);
    assert.equal((await trail.list({ actor, action: 'pause', limit: 10 })).actions.length, 3);
    assert.equal((await trail.list({ actor, sinceMs: Date.now() + 60_000, limit: 10 })).actions.length, 0);
  });

  it('is written with the change or not at all', async () => {
    const command = { ...newCommand(), subject: 'thing:1' };
    const done = await audited(ours, command, async (query) => {
      await query(insert, []);
      return { value: 7, changed: { after: { n: 1 } } };
    });
    assert.deepEqual(done, { kind: 'done', value: 7 });
    assert.equal(await changes(), 1);

    const failing = audited(ours, { ...newCommand(), subject: 'thing:2' }, async (query) => {
      await query(insert, []);
      throw new Error('not today');
    });
    await assert.rejects(failing, /not today/);
    const nothing = await audited(ours, { ...newCommand(), subject: 'thing:3' }, () =>
      Promise.resolve({ value: 'as it was', changed: undefined }),
    );
    assert.deepEqual(nothing, { kind: 'done', value: 'as it was' });
    assert.equal(await changes(), 1);
    assert.equal((await trail.list({ subject: 'thing:2', limit: 1 })).actions.length, 0);
    assert.equal((await trail.list({ subject: 'thing:3', limit: 1 })).actions.length, 0);
  });

  it('lets a command that is sent twice, also at once, do its work once', async () => {
    const command = { ...newCommand(), subject: 'thing:4' };
    const before = await changes();
    const send = () =>
      audited(ours, command, async (query) => {
        await query(insert, []);
        await query({ name: 'wait', text: 'select pg_sleep(0.1)' }, []);
        return { value: undefined, changed: {} };
      });
    const kinds = (await Promise.all([send(), send(), send()])).map(({ kind }) => kind).sort();
    assert.deepEqual(kinds, ['done', 'repeated', 'repeated']);
    assert.deepEqual(await send(), { kind: 'repeated' });
    assert.equal(await changes(), before + 1);
  });

  it('takes no entry without a reason', async () => {
    await assert.rejects(trail.record({ ...newCommand({ reason: ' ' }), subject: 's' }), RangeError);
    const work = audited(ours, { ...newCommand({ actor: '' }), subject: 's' }, () =>
      assert.fail('not asked'),
    );
    await assert.rejects(work, RangeError);
  });
});

describe('a fact that an operator brings', () => {
  let database: TestDatabase;
  let trail: PostgresAuditTrail;

  before(async () => {
    database = await migratedDatabase();
    trail = openAuditTrail({ databaseUrl: database.url, log: quietLog });
  });
  after(async () => {
    await trail.close();
    await database.drop();
  });

  it('is kept with what it changed, in the same commit', async (t) => {
    const book = await openBook(database.url);
    t.after(() => book.close({ deadlineMs: 1_000 }));
    const { terms } = await claim(book);
    const command = newCommand({ action: 'unknown resolve', reason: 'seen in the dashboard' });
    const approved = { kind: 'approved', reference: `ref-${terms.orderId}` } as const;
    const fact = { kind: 'outcome', generation: 1, claim: 1, outcome: approved } as const;
    const { order, isRepeated } = await book.apply(terms.orderId, fact, command);
    assert.equal(order?.status, 'ready-to-ship');
    assert.equal(isRepeated, undefined);

    const subject = `order:${terms.orderId}`;
    const { actions } = await trail.list({ subject, limit: 10 });
    const [action] = actions;
    assert.equal(actions.length, 1);
    assert.equal(action?.reason, 'seen in the dashboard');
    assert.equal(action.before?.['status'], 'authorizing');
    assert.equal(action.after?.['status'], 'ready-to-ship');
    assert.equal(action.after['gatewayReference'], approved.reference);

    const again = await book.apply(terms.orderId, fact, command);
    assert.equal(again.isRepeated, true);
    assert.deepEqual(again.next, { step: 'nothing' });
    assert.equal((await trail.list({ subject, limit: 10 })).actions.length, 1);
  });

  it('is kept also when it changes nothing, and once of many sent at the same time by two books', async (t) => {
    const books = await Promise.all([openBook(database.url), openBook(database.url)]);
    t.after(() => Promise.all(books.map((book) => book.close({ deadlineMs: 1_000 }))));
    const [one, other] = books;
    const { terms } = await claim(one);
    await outcome(one, terms, 1, { kind: 'approved', reference: `ref-${terms.orderId}` });
    const command = newCommand();
    const fact = { kind: 'claim', terms } as const;
    const applied = await Promise.all(
      Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? one : other).apply(terms.orderId, fact, command)),
    );
    assert.equal(applied.filter(({ isRepeated }) => isRepeated === true).length, 11);
    const { actions } = await trail.list({ subject: `order:${terms.orderId}`, limit: 10 });
    assert.equal(actions.length, 1);
    assert.deepEqual(actions[0]?.before?.['status'], 'ready-to-ship');
  });

  it('finds out when the same command is just being carried out by somebody else', async (t) => {
    const book = await openBook(database.url);
    const other = new pg.Client(database.url);
    await other.connect();
    t.after(() => Promise.all([book.close({ deadlineMs: 1_000 }), other.end()]));
    const { terms } = await claim(book);
    await outcome(book, terms, 1, { kind: 'approved', reference: `ref-${terms.orderId}` });
    const command = newCommand();
    await other.query('begin');
    await other.query(
      `insert into cardauth.audit_log (command_id, actor, action, reason, subject) values ($1, 'a', 'test', 'r', $2)`,
      [command.commandId, `order:${terms.orderId}`],
    );
    const applying = book.apply(terms.orderId, { kind: 'claim', terms }, command);
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await waitFor('the book to wait', async () => ((await other.query(waiting)).rowCount ?? 0) > 0);
    await other.query('commit');
    assert.equal((await applying).isRepeated, true);
  });

  it('does not disturb the facts it shares a commit with', async (t) => {
    const book = await openBook(database.url);
    t.after(() => book.close({ deadlineMs: 1_000 }));
    const command = newCommand({ action: 'claim many' });
    const orders = Array.from({ length: 20 }, () => newTerms());
    const claims = orders.map((terms) => book.apply(terms.orderId, { kind: 'claim', terms }, command));
    const plain = Array.from({ length: 20 }, () => claim(book));
    for (const { order } of await Promise.all(claims)) assert.equal(order?.status, 'authorizing');
    await Promise.all(plain);
    const { actions } = await trail.list({ action: 'claim many', limit: 100 });
    assert.equal(actions.length, 20);
    assert.ok(
      actions.every(({ before, after }) => before === undefined && after?.['status'] === 'authorizing'),
    );
  });
});
