/** Operators beside running workers: pause and resume, reports, status, with services away. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import type { StatusView } from '../../src/ops/status-view.ts';
import { waitFor } from '../support/wait-for.ts';
import { runCli, startCli, type CliResult } from './run-cli.ts';
import { freePort, newOrderId, openStage, orderJson, suiteOwner, type Stage } from './stage.ts';

const NOWHERE = '127.0.0.1:1';

describe('operators beside workers', { concurrency: false }, () => {
  const owner = suiteOwner();
  let stage: Stage;
  let env: Record<string, string>;
  const run = (...args: string[]): Promise<CliResult> => runCli(owner, args, env);
  const status = async (): Promise<StatusView> =>
    JSON.parse((await run('status', '--json')).stdout) as StatusView;
  const readyz = async (port: number) => {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`);
    return { code: response.status, text: await response.text() };
  };

  before(async () => {
    stage = await openStage(owner);
    env = { ...stage.environment, LOG_LEVEL: 'info', CARDAUTH_ACTOR: 'anna@ops' };
  });

  it('says how things stand without any worker', async () => {
    const { code, stdout, stderr } = await run('status');
    // The parked and delay queues are missing until a worker declares them; the orders queue is there.
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^ALERT +no worker is running$/m);
    assert.match(stdout, /^queue orders +0 ready, 0 consumer\(s\)/m);
    assert.match(stdout, /^books since .*: balanced$/m);
    assert.equal((await run('breaker', 'show')).stdout, 'no worker is running');
  });

  it('pauses two workers, lets what is in flight complete, starts a third one paused, and resumes them', async (t) => {
    const [portA, portB, portC] = [await freePort(), await freePort(), await freePort()];
    const a = await stage.startWorker({ CARDAUTH_HTTP_PORT: String(portA) });
    const b = await stage.startWorker({ CARDAUTH_HTTP_PORT: String(portB) });

    const [inFlight, waiting] = [newOrderId(), newOrderId()];
    await stage.gateway.setFaults([{ match: { orderId: inFlight }, fault: { kind: 'hold-before-charge' } }]);
    await stage.publish(orderJson(inFlight));
    await waitFor(
      'the order to be at the gateway',
      async () => (await stage.gateway.requests(inFlight)).length === 1,
    );
    const seen = await waitFor('a worker to report the order', async () => {
      const now = await status();
      return now.workers?.length === 2 && now.inFlight === 1 ? now : undefined;
    });
    const holder = seen.workers?.find(({ report }) => report.inFlight === 1)?.report.oldest;
    assert.equal(holder?.orderId, inFlight);
    assert.equal(holder.component, 'authorize-credit-card');
    assert.equal(seen.oldest?.orderId, inFlight);
    assert.equal(seen.oldest.status, 'authorizing');
    assert.equal(seen.books?.inFlight, 1);

    const paused = await run(
      'pause',
      '--reason',
      'card 4242 4242 4242 4242 says so',
      '--command-id',
      'p-1',
      '--json',
    );
    assert.equal(paused.code, 0, paused.stderr);
    assert.match(paused.stdout, /"outcome":"changed","paused":true,"by":"anna@ops"/);
    assert.doesNotMatch(paused.stdout, /4242 4242 4242 4242/);
    for (const worker of [a, b]) {
      await worker.waitForLine((line) =>
        /"name":"operator","why":"paused by anna@ops.*"msg":"intake held"/.test(line.text),
      );
    }
    const held = await readyz(portA);
    assert.equal(held.code, 503);
    assert.match(held.text, /operator: paused by anna@ops since 20.*says so/);

    await stage.gateway.setFaults([]);
    await stage.gateway.release();
    await stage.announced(inFlight);

    await stage.publish(orderJson(waiting));
    const third = await stage.startWorker({ CARDAUTH_HTTP_PORT: String(portC) }, 'started');
    await third.waitForLine((line) => /"why":"paused by anna@ops/.test(line.text));
    assert.match((await readyz(portC)).text, /operator: paused by anna@ops/);
    const standing = await waitFor('three workers to report', async () => {
      const now = await status();
      return now.workers?.length === 3 ? now : undefined;
    });
    assert.equal(standing.queues?.find(({ role }) => role === 'orders')?.ready, 1);
    assert.ok(standing.alerts.some((alert) => /paused by anna@ops/.test(alert)));
    assert.ok(standing.workers?.every(({ report }) => report.holds.includes('operator')));
    assert.equal(await stage.order(waiting), undefined);

    const again = await run('pause', '--reason', 'me too', '--actor', 'bert');
    assert.match(again.stdout, /^nothing to do: the intake is paused, by anna@ops at/);
    const repeated = await run('pause', '--reason', 'again', '--command-id', 'p-1');
    assert.match(repeated.stdout, /^this command was carried out before: the intake is paused/);

    const resumes = await Promise.all(
      ['x', 'y'].map((actor) => run('resume', '--reason', 'done', '--actor', actor)),
    );
    assert.equal(resumes.filter(({ stdout }) => stdout === 'the intake is open').length, 1);
    await stage.announced(waiting);

    const { stdout } = await run('audit', 'list', '--subject', 'intake', '--json');
    const { actions } = JSON.parse(stdout) as {
      actions: { action: string; actor: string; reason: string }[];
    };
    assert.deepEqual(
      actions.map(({ action }) => action),
      ['resume', 'pause'],
    );
    assert.deepEqual(
      [actions[1]?.actor, /4242 4242 4242 4242/.test(actions[1]?.reason ?? '')],
      ['anna@ops', false],
    );

    await t.test('a worker that is killed is seen to be dead, one that stops is gone', async () => {
      a.kill('SIGKILL');
      await a.exited;
      b.kill('SIGTERM');
      await b.exited;
      third.kill('SIGTERM');
      await third.exited;
      const left = await waitFor('the lock to be given back', async () => {
        const now = await status();
        return now.workers?.some(({ isAlive }) => isAlive) === false ? now : undefined;
      });
      assert.equal(left.workers?.length, 1);
      assert.equal(left.workers[0]?.pid, a.pid);
      assert.ok(left.alerts.some((alert) => /^worker \d+ \(.*\) died/.test(alert)));
    });
  });

  it('shows a stopped gateway, and by which worker', async () => {
    const worker = await stage.startWorker();
    await stage.gateway.setFaults([{ match: {}, fault: { kind: '401' } }]);
    await stage.publish(orderJson(newOrderId()));
    const shown = await waitFor('the valve to be reported as shut', async () => {
      const { stdout } = await run('breaker', 'show', '--json');
      const [valve] = JSON.parse(stdout) as { valve: string; because: string | null; pid: number }[];
      return valve?.because === null ? undefined : valve;
    });
    assert.match(shown.valve, /^(stopped|probing)$/);
    assert.match(shown.because ?? '', /401/);
    assert.equal(shown.pid, worker.pid);
    await stage.gateway.setFaults([]);
    worker.kill();
    await worker.exited;
  });

  it('is red when the books do not balance', async () => {
    const id = newOrderId();
    await stage.database.query(
      `insert into cardauth.orders (order_id, customer_id, status, amount_minor, currency, fingerprint, version,
        decided_at, notified_at) values ($1, 'c', 'denied', 1, 'USD', 'f', 1, now(), now())`,
      [id],
    );
    await stage.database.query(
      `insert into cardauth.attempts (order_id, generation, idempotency_key, gateway_reference, claim, owner, maybe_sent,
        state) values ($1, 1, 'order-' || $1 || '-1', 'ref-of-nobody', 1, 1, true, 'approved')`,
      [id],
    );
    const { code, stdout } = await run('status');
    assert.equal(code, 1);
    assert.match(stdout, /^ALERT +the books do not balance: /m);
    await stage.database.query('delete from cardauth.attempts where order_id = $1', [id]);
    assert.equal((await run('status')).code, 0);
  });

  it('works while the broker is away, says so while the database is, and exits 69 without both', async () => {
    const noBroker = { ...env, AMQP_URL: `amqp://u:hunter2-hunter2@${NOWHERE}` };
    const noDatabase = { ...env, DATABASE_URL: `postgres://u:hunter2-hunter2@${NOWHERE}/x` };
    const without = (world: Record<string, string>, ...args: string[]) => runCli(owner, args, world);
    const [broker, database, both, pausing, audit, breaker] = await Promise.all([
      without(noBroker, 'status'),
      without(noDatabase, 'status', '--json'),
      without({ ...noBroker, ...noDatabase, AMQP_URL: noBroker.AMQP_URL }, 'status'),
      without(noDatabase, 'pause', '--reason', 'r'),
      without(noDatabase, 'audit', 'list'),
      without(noDatabase, 'breaker', 'show'),
    ]);
    assert.equal(broker.code, 3);
    assert.match(broker.stdout, /^MISSING +broker: /m);
    assert.match(broker.stdout, /^books since/m);
    assert.equal(database.code, 3);
    const view = JSON.parse(database.stdout) as StatusView;
    assert.match(view.missing.join(), /^database: /);
    assert.equal(view.unknown, null);
    assert.equal(view.queues?.[0]?.role, 'orders');
    assert.deepEqual([both.code, pausing.code, audit.code, breaker.code], [69, 69, 69, 69]);
    for (const { stderr, stdout } of [broker, database, both, pausing, audit, breaker]) {
      assert.doesNotMatch(stdout + stderr, /hunter2/);
    }
  });

  it('watches in a pipe, one line each, until it is interrupted', async () => {
    for (const [args, isRight] of [
      [['status', '--watch'], (text: string) => /^20\S+ {2}oldest .* ready \d+ /.test(text)],
      [
        ['status', '--watch', '--json'],
        (text: string) => (JSON.parse(text) as StatusView).missing.length === 0,
      ],
    ] as const) {
      const watching = startCli(owner, args, env);
      await waitFor('two looks', () => watching.lines.filter(({ from }) => from === 'stdout').length >= 2);
      watching.kill('SIGINT');
      assert.equal((await watching.exited).code, 130);
      for (const { text } of watching.lines) assert.ok(isRight(text), text);
      assert.ok(watching.lines.every(({ text }) => !text.includes('\x1b')));
    }
  });

  it('refuses wrong flags, with exit code 2, and changes nothing', async () => {
    for (const args of [
      ['pause'],
      ['pause', '--reason', '  '],
      ['pause', '--reason', 'x'.repeat(501)],
      ['pause', '--reason', 'r', '--actor', ''],
      ['resume', '--reason', 'r', '--command-id', 'a b'],
      ['audit', 'list', '--since', 'yesterday'],
      ['audit', 'list', '--limit', '0'],
      ['status', '--since', 'never'],
      ['breaker'],
      ['migrate', 'roles', '--worker', 'public'],
    ]) {
      const { code, stdout, stderr } = await run(...args);
      assert.equal(code, 2, `${args.join(' ')}: ${stderr}`);
      assert.equal(stdout, '');
      assert.notEqual(stderr, '');
    }
    assert.equal((await status()).intake?.paused, false);
  });
});
