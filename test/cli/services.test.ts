import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connectBroker } from '../support/broker-client.ts';
import { createBroker, createDatabase } from '../support/services.ts';
import { startProcess } from '../support/worker-process.ts';

const program = fileURLToPath(new URL('../../../bin/cardauth.mjs', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'cardauth-cli-'));
after(() => {
  rmSync(folder, { recursive: true });
});

/** A port that nobody listens on: the kernel never gives port 1 away. */
const NOWHERE = '127.0.0.1:1';

async function run(owner: TestContext, args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = startProcess({ owner, args: [program, ...args], env });
  const { code } = await child.exited;
  const textOf = (from: string) => child.lines.filter((line) => line.from === from).map(({ text }) => text);
  return { code, stdout: textOf('stdout'), stderr: textOf('stderr').join('\n') };
}

function fileOf(name: string, lines: readonly string[]): string {
  const path = join(folder, name);
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

describe('the commands on real services', () => {
  it('migrate from several places at once applies everything once; status and show agree', async (t) => {
    const database = await createDatabase();
    t.after(() => database.drop());
    const env = { DATABASE_URL: database.url };
    const ups = await Promise.all([1, 2, 3].map(() => run(t, ['migrate', 'up', '--json'], env)));
    assert.deepEqual(
      ups.map(({ code }) => code),
      [0, 0, 0],
    );
    const applied = ups.flatMap(
      ({ stdout }) => (JSON.parse(stdout.join('')) as { applied: string[] }).applied,
    );
    assert.ok(applied.length > 0 && new Set(applied).size === applied.length);
    const status = await run(t, ['migrate', 'status', '--json'], env);
    assert.deepEqual(JSON.parse(status.stdout.join('')), { applied, pending: [], problem: null });
    const shown = await run(t, ['orders', 'show', 'no-such-order'], env);
    assert.equal(shown.code, 1);
    assert.match(shown.stderr, /nothing is known of order no-such-order/);
    // No broker is configured that anyone listens at: these need the database only.
    const alone = { ...env, AMQP_URL: `amqp://u:p@${NOWHERE}` };
    const listed = await run(t, ['orders', 'list', '--newer-than', '1h', '--json'], alone);
    assert.deepEqual([listed.code, listed.stdout], [0, ['{"orders":[],"next":null}']]);
    assert.equal((await run(t, ['orders', 'explain', 'no-such-order'], alone)).code, 1);
  });

  it('publish puts the lines of a file on the queue, byte for byte', async (t) => {
    const broker = createBroker();
    const client = await connectBroker(broker.url);
    t.after(async () => {
      await client.close();
      await broker.cleanup();
    });
    await client.declareQueue(broker.ordersQueue);
    const good = Array.from(
      { length: 500 },
      (_, n) => `{"id":${9_000_000_000_000_000_000n + BigInt(n)}, "chargeAmount":1.10}`,
    );
    const file = fileOf('orders.ndjson', [...good, '{"creditCardCode":987']);
    const env = { AMQP_URL: broker.url, CARDAUTH_ORDERS_QUEUE: broker.ordersQueue };
    const { code, stdout, stderr } = await run(t, ['orders', 'publish', file], env);
    assert.equal(code, 3);
    assert.deepEqual(stdout, [`published 500 to ${broker.ordersQueue}, refused 1`]);
    assert.equal(stderr, 'line 501 is not JSON in UTF-8: not published');
    const bodies: string[] = [];
    for (let n = 0; n < 500; n++)
      bodies.push((await client.take(broker.ordersQueue))?.body.toString() ?? 'nothing');
    assert.deepEqual(bodies.sort(), good.sort());
  });

  it('publish says so when the queue does not exist', async (t) => {
    const { url, ordersQueue } = createBroker();
    const file = fileOf('lost.ndjson', ['{"id":1}']);
    const { code, stderr } = await run(t, ['orders', 'publish', file], {
      AMQP_URL: url,
      CARDAUTH_ORDERS_QUEUE: ordersQueue,
    });
    assert.equal(code, 1);
    assert.match(stderr, /^line 1 not published: the orders queue does not exist$/m);
  });

  it('exit 69 when the service cannot be reached', async (t) => {
    const env = {
      DATABASE_URL: `postgres://u:hunter2-hunter2@${NOWHERE}/x`,
      AMQP_URL: `amqp://u:hunter2-hunter2@${NOWHERE}`,
    };
    const file = fileOf('unsent.ndjson', ['{"id":1}']);
    const runs = await Promise.all([
      run(t, ['migrate', 'up'], env),
      run(t, ['migrate', 'status'], env),
      run(t, ['orders', 'show', '1'], env),
      run(t, ['orders', 'list'], env),
      run(t, ['orders', 'explain', '1'], env),
      run(t, ['orders', 'publish', file], env),
    ]);
    for (const { code, stdout, stderr } of runs) {
      assert.equal(code, 69, stderr);
      assert.deepEqual(stdout, []);
      assert.doesNotMatch(stderr, /hunter2/);
    }
  });
});
