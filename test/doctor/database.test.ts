import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';

import { databaseExamination } from '../../src/adapters/postgres/examine-database.ts';
import { migrateUp } from '../../src/adapters/postgres/migrate.ts';
import type { Finding } from '../../src/ports/examination.ts';
import { createDatabase, type TestDatabase } from '../support/services.ts';
import { silent } from '../support/silent-log.ts';

describe('doctor at a database', () => {
  const role = `cardauth_doctor_${randomBytes(6).toString('hex')}`;
  let database: TestDatabase;
  let admin: pg.Client;
  let asRole: string;

  before(async () => {
    database = await createDatabase();
    admin = new pg.Client({ connectionString: database.url });
    await admin.connect();
    await admin.query(`create role ${role} login password 'hunter2-hunter2'`);
    const url = new URL(database.url);
    url.username = role;
    url.password = 'hunter2-hunter2';
    asRole = url.href;
  });
  after(async () => {
    await admin.query(`drop owned by ${role}`);
    await admin.query(`drop role ${role}`);
    await admin.end();
    await database.drop();
  });

  function examined(url = database.url, wallMs: () => number = Date.now): Promise<readonly Finding[]> {
    return databaseExamination({ databaseUrl: url, clock: { wallMs } }).examine();
  }

  it('asks for the migrations first, and then finds all well but the rights of a superuser', async () => {
    const empty = await examined();
    assert.deepEqual(statusesOf(empty, 'database.schema'), ['error']);
    assert.equal(empty.find(({ check }) => check === 'database.schema')?.remedy, 'cardauth migrate up');
    assert.deepEqual(statusesOf(empty, 'database.rights'), []);
    await migrateUp({ url: database.url, log: silent });
    const bad = (await examined()).filter(({ status }) => status !== 'ok');
    assert.deepEqual(
      bad.map(({ check, status }) => [check, status]).filter(([check]) => check !== 'database.durability'),
      [['database.excess-rights', 'warning']],
    );
  });

  it('names the grants that are missing, and those that are too many', async () => {
    await admin.query(`grant usage on schema cardauth to ${role}`);
    await admin.query(`grant select on cardauth.schema_migrations to ${role}`);
    const poor = await examined(asRole);
    const missing = poor.filter(({ check }) => check === 'database.rights');
    const remedies = missing.map(({ remedy }) => remedy);
    assert.ok(
      remedies.includes(`grant select, insert, update on cardauth.orders to ${role}`),
      remedies.join('\n'),
    );
    assert.ok(remedies.includes(`grant select, insert on cardauth.order_events to ${role}`));
    assert.ok(remedies.includes(`grant usage on sequence cardauth.worker_numbers to ${role}`));
    assert.ok(missing.some(({ status, what }) => status === 'error' && what.includes('cardauth.attempts')));
    assert.deepEqual(statusesOf(poor, 'orders.in-review'), ['skipped']);

    for (const remedy of remedies) await admin.query(remedy ?? '');
    const enough = await examined(asRole);
    assert.deepEqual(statusesOf(enough, 'database.rights'), ['ok']);
    assert.deepEqual(statusesOf(enough, 'database.excess-rights'), ['ok']);

    await admin.query(`grant delete on cardauth.audit_log to ${role}`);
    await admin.query(`grant create on schema cardauth to ${role}`);
    const rich = await examined(asRole);
    assert.deepEqual(statusesOf(rich, 'database.excess-rights'), ['warning', 'warning']);
    await admin.query(`revoke delete on cardauth.audit_log from ${role}`);
    await admin.query(`revoke create on schema cardauth from ${role}`);
  });

  it('sees commits that are not waited for, a standby, and clocks that differ', async () => {
    await admin.query(`alter role ${role} set synchronous_commit = off`);
    await admin.query(`alter role ${role} set default_transaction_read_only = on`);
    const findings = await examined(asRole, () => Date.now() - 60_000);
    assert.ok(statusesOf(findings, 'database.durability').includes('warning'));
    assert.deepEqual(statusesOf(findings, 'database.writable'), ['error']);
    assert.deepEqual(statusesOf(findings, 'database.clock'), ['warning']);
    await admin.query(`alter role ${role} reset all`);
  });

  it('counts what waits for somebody', async () => {
    await admin.query(`
      insert into cardauth.parked_orders (reason, class, attempts, error, origin_queue, first_seen_at, parked_at,
        not_replayable_because)
      values ('unparseable', 'input', 0, 'x', 'orders', now(), now() - interval '100 hours', 'a test')`);
    await admin.query(`
      insert into cardauth.orders (order_id, customer_id, status, amount_minor, currency, fingerprint, version,
        decided_at, updated_at, attempts)
      values ('r', 'c', 'review', 1, 'USD', 'f', 1, null, now() - interval '3 hours', 1),
        ('d', 'c', 'denied', 1, 'USD', 'f', 1, now() - interval '1 hour', now(), 1)`);
    await admin.query(`
      insert into cardauth.attempts (order_id, generation, idempotency_key, claim, owner, maybe_sent, state,
        resolve_due_at)
      values ('r', 1, 'order-r-1', 1, 1, true, 'review', now() - interval '20 minutes')`);
    const findings = await examined();
    for (const [check, text] of [
      ['orders.parked', /^1 order\(s\) are parked, the first since 4 days/],
      ['orders.in-review', /^1 order\(s\) are in review, the first since 3 h/],
      ['orders.unannounced', /^1 order\(s\) are decided and not announced, the first since 60 min/],
      ['orders.without-verdict', /^1 order\(s\) are due to be looked after, the first since 20 min/],
    ] as const) {
      const finding = findings.find((one) => one.check === check);
      assert.equal(finding?.status, 'warning', check);
      assert.match(finding.what, text);
    }
  });

  it('says so when it cannot be reached or refuses the login, without the password', async () => {
    const nowhere = new URL(asRole);
    nowhere.port = '1';
    for (const [url, isAway] of [
      [nowhere.href, true],
      [asRole.replace(role, 'nobody-of-that-name'), undefined],
    ] as const) {
      const findings = await examined(url);
      assert.deepEqual(
        findings.map(({ check, status, isUnreachable }) => [check, status, isUnreachable]),
        [['database.reachable', 'error', isAway]],
      );
      assert.doesNotMatch(JSON.stringify(findings), /hunter2/);
    }
  });
});

function statusesOf(findings: readonly Finding[], check: string): readonly string[] {
  return findings.filter((finding) => finding.check === check).map(({ status }) => status);
}
