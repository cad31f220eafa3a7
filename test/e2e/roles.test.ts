/** Least rights: an order end to end as the worker's role, and everything forbidden tried and refused. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, describe, it } from 'node:test';
import pg from 'pg';

import { TABLE_RIGHTS } from '../../src/adapters/postgres/grants.ts';
import { runCli } from './run-cli.ts';
import { waitFor } from '../support/wait-for.ts';
import { newOrderId, openStage, orderJson, suiteOwner, type Stage } from './stage.ts';

describe('least rights', { concurrency: false }, () => {
  const owner = suiteOwner();
  const suffix = randomBytes(4).toString('hex');
  /** Names that have to be quoted. */
  const roles = { worker: `card "worker"; ${suffix}`, operator: `Card Ops ${suffix}` };
  let stage: Stage;

  before(async () => {
    stage = await openStage(owner);
    for (const role of Object.values(roles)) {
      const name = pg.escapeIdentifier(role);
      await stage.database.query(`create role ${name} login password 'only for this test'`);
      owner.after(async () => {
        await stage.database.query(`drop owned by ${name}`);
        await stage.database.query(`drop role ${name}`);
      });
    }
    const flags = ['--worker', roles.worker, '--operator', roles.operator];
    const granted = await runCli(owner, ['migrate', 'roles', ...flags, '--yes'], stage.environment);
    assert.equal(granted.code, 0, granted.stderr);
    // Any number of times.
    assert.equal((await runCli(owner, ['migrate', 'roles', ...flags, '--yes'], stage.environment)).code, 0);
  });

  function urlOf(role: string): string {
    const url = new URL(stage.databaseUrl);
    url.username = encodeURIComponent(role);
    url.password = encodeURIComponent('only for this test');
    return url.href;
  }

  it('names every table of the schema', async () => {
    const { rows } = await stage.database.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'cardauth' order by 1`,
    );
    assert.deepEqual(
      rows.map(({ name }) => name),
      Object.keys(TABLE_RIGHTS).sort(),
    );
  });

  it('are enough for a worker: an order is authorized and announced', async () => {
    const worker = await stage.startWorker({ DATABASE_URL: urlOf(roles.worker) });
    const [good, declined, unreadable] = [newOrderId(), newOrderId(), newOrderId()];
    await stage.publish(
      orderJson(good),
      orderJson(declined, { creditCardNumber: '4000000000000002' }),
      orderJson(unreadable, { chargeAmount: 42.235 }),
    );
    assert.equal((await stage.announced(good)).status, 'ready-to-ship');
    assert.equal((await stage.announced(declined)).status, 'denied');
    const env = { ...stage.environment, DATABASE_URL: urlOf(roles.operator) };
    await waitFor("the worker's first report", async () => {
      const shown = await runCli(owner, ['breaker', 'show'], env);
      return /flowing/.test(shown.stdout);
    });
    await stage.endAndExpectEmptyQueue(worker);
    assert.ok(!worker.lines.some(({ text }) => text.includes('42501')));
  });

  it('are enough for operators', async () => {
    const env = { ...stage.environment, DATABASE_URL: urlOf(roles.operator), CARDAUTH_ACTOR: 'anna' };
    const order = newOrderId();
    for (const args of [
      ['pause', '--reason', 'r'],
      ['resume', '--reason', 'r'],
      ['audit', 'list'],
      ['status'],
      ['migrate', 'status'],
    ]) {
      const { code, stderr } = await runCli(owner, args, env);
      assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
    }
    const unknown = await runCli(owner, ['orders', 'show', order], env);
    assert.match(unknown.stderr, /nothing is known of order/);
    const up = await runCli(owner, ['migrate', 'roles', '--worker', roles.worker, '--yes'], env);
    assert.notEqual(up.code, 0);
  });

  for (const kind of ['worker', 'operator'] as const) {
    it(`keep the ${kind} from everything else`, async (t) => {
      const client = new pg.Client(urlOf(roles[kind]));
      await client.connect();
      t.after(() => client.end());
      for (const sql of [
        ...FORBIDDEN_TO_ALL,
        ...(kind === 'worker' ? FORBIDDEN_TO_WORKERS : FORBIDDEN_TO_OPERATORS),
      ]) {
        await assert.rejects(client.query(sql), { code: '42501' }, sql);
      }
    });
  }

  it('are given only to roles that exist, and that are two', async () => {
    const grant = (...args: string[]) => runCli(owner, ['migrate', 'roles', ...args], stage.environment);
    const missing = await grant('--worker', `no-such-role-${suffix}`, '--yes');
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /no role no-such-role-.* exists: .*create role "no-such-role-/);
    const same = await grant('--worker', roles.worker, '--operator', roles.worker);
    assert.equal(same.code, 2);
    const printed = await grant('--worker', roles.worker);
    assert.equal(printed.code, 0);
    assert.match(printed.stdout, /^grant insert on cardauth\.audit_log to "card ""worker""; [0-9a-f]+";$/m);
  });
});

const FORBIDDEN_TO_ALL = [
  'create table cardauth.mine (n int)',
  'create schema mine',
  'alter table cardauth.orders add column mine int',
  'alter table cardauth.orders disable trigger all',
  'drop table cardauth.orders',
  'create index on cardauth.orders (status)',
  `create or replace function cardauth.refuse() returns trigger language plpgsql as 'begin return null; end'`,
  'truncate cardauth.order_events',
  'delete from cardauth.orders',
  'delete from cardauth.attempts',
  `update cardauth.order_events set alarm = null`,
  'delete from cardauth.order_events',
  `update cardauth.audit_log set actor = 'somebody else'`,
  'delete from cardauth.audit_log',
  'truncate cardauth.audit_log',
  `insert into cardauth.schema_migrations (version, name, checksum) values (99, 'mine', '')`,
  'insert into cardauth.intake_control default values',
  'delete from cardauth.intake_control',
  `select setval('cardauth.worker_numbers', 1)`,
  `create role mine`,
];

const FORBIDDEN_TO_WORKERS = [
  'select * from cardauth.audit_log',
  'select * from cardauth.order_events',
  'update cardauth.intake_control set is_paused = false',
];

const FORBIDDEN_TO_OPERATORS = ['delete from cardauth.workers', `update cardauth.workers set state = 'mine'`];
