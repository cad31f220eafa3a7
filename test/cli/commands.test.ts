import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { faultScriptFromJson } from '../../src/simulator/fault-script.ts';
import { RetriableError } from '../../src/topology/errors.ts';
import { cli, workerEnv } from './fake-context.ts';

describe('cardauth', () => {
  it('shows help with examples on stdout when asked, on stderr when nothing was said', async () => {
    const asked = await cli(['--help']);
    assert.deepEqual([asked.exitCode, asked.stderr], [0, '']);
    assert.match(asked.stdout, /Examples:\n {2}cardauth config check/);
    const silent = await cli([]);
    assert.deepEqual([silent.exitCode, silent.stdout], [2, '']);
    assert.match(silent.stderr, /Usage: cardauth/);
  });

  it('has the commands whose parts are there, and no others', async () => {
    const commands = (stdout: string) => [...stdout.matchAll(/^ {2}([a-z]+) .*$/gm)].map(([, name]) => name);
    const [, list = ''] = (await cli(['--help'])).stdout.split('Commands:\n');
    const withoutParts = ['orders', 'config', 'schema', 'completion', 'help'];
    assert.deepEqual(commands(list.split('\n\n')[0] ?? ''), withoutParts);
    assert.equal((await cli(['worker'])).exitCode, 2);
    const parts = {
      worker: () => assert.fail(),
      demo: () => assert.fail(),
      orderHistory: () => assert.fail(),
    };
    const { stdout } = await cli(['--help'], { parts });
    for (const name of ['worker', 'demo', 'orders']) assert.match(stdout, new RegExp(`^ {2}${name} `, 'm'));
    assert.match(
      (await cli(['orders', '--help'], { parts })).stdout + (await cli(['orders'], { parts })).stderr,
      /show/,
    );
  });

  it('exits 2 on wrong usage, with a suggestion and no repetition of a card number', async () => {
    const { exitCode, stderr, stdout } = await cli(['confg']);
    assert.deepEqual([exitCode, stdout], [2, '']);
    assert.match(stderr, /unknown command 'confg'\n\(Did you mean config\?\)\nRun it with --help/);
    assert.doesNotMatch((await cli(['4242424242424242'])).stderr, /4242424242424242/);
    assert.equal((await cli(['config', 'check', '--nonsense'])).exitCode, 2);
    assert.equal((await cli(['config', 'check', '--set', 'x'])).exitCode, 2);
  });

  it('prints its version', async () => {
    assert.deepEqual(await cli(['--version']), { exitCode: 0, stdout: '1.2.3\n', stderr: '' });
  });
});

describe('cardauth config', () => {
  it('check says that all is well, or exits 78 with every problem', async () => {
    const good = await cli(['config', 'check'], { env: workerEnv });
    assert.deepEqual(good, { exitCode: 0, stdout: 'the configuration is complete\n', stderr: '' });
    const bad = await cli(['config', 'check'], { env: { CARDAUTH_LEASE_MS: 'soon' } });
    assert.deepEqual([bad.exitCode, bad.stdout], [78, '']);
    for (const name of ['CARDAUTH_LEASE_MS', 'CARDAUTH_GATEWAY_API_KEY', 'CARDAUTH_FINGERPRINT_KEY']) {
      assert.match(bad.stderr, new RegExp(`^${name} `, 'm'));
    }
  });

  it('show prints values with their origin, secrets masked, and problems on stderr', async () => {
    const world = { env: workerEnv, files: { 'a.env': 'CARDAUTH_HTTP_PORT=1\n' } };
    const { exitCode, stdout } = await cli(
      ['config', 'show', '--env-file', 'a.env', '--set', 'LOG_LEVEL=debug'],
      world,
    );
    assert.equal(exitCode, 0);
    assert.match(stdout, /^CARDAUTH_HTTP_PORT +1 +a\.env$/m);
    assert.match(stdout, /^LOG_LEVEL +debug +flag$/m);
    assert.doesNotMatch(stdout, /sk_test|fingerprint-key/);
    const incomplete = await cli(['config', 'show', '--json']);
    assert.equal(incomplete.exitCode, 78);
    const [first] = JSON.parse(incomplete.stdout) as unknown[];
    assert.deepEqual(first, {
      name: 'AMQP_URL',
      value: 'amqp://guest:****@127.0.0.1:5672',
      origin: 'default',
    });
    assert.match(incomplete.stderr, /CARDAUTH_GATEWAY_API_KEY is required/);
  });

  it('refuses secrets as flags', async () => {
    const { exitCode, stderr } = await cli([
      'config',
      'check',
      '--set',
      'DATABASE_URL=postgres://u:hunter2@h',
    ]);
    assert.equal(exitCode, 2);
    assert.match(stderr, /DATABASE_URL is a secret and cannot be a flag/);
    assert.doesNotMatch(stderr, /hunter2/);
  });

  it('example prints what is kept in .env.example and the README', async () => {
    assert.match((await cli(['config', 'example'])).stdout, /^#CARDAUTH_LEASE_MS=25000$/m);
    assert.match(
      (await cli(['config', 'example', '--format', 'markdown'])).stdout,
      /^\| variable \| default/,
    );
  });
});

describe('cardauth worker', () => {
  it('gets the whole configuration and gives its exit code', async () => {
    const configs: Config[] = [];
    const worker = () => Promise.resolve((config: Config) => Promise.resolve(configs.push(config) + 6));
    const { exitCode } = await cli(['worker', '--set', 'CARDAUTH_MAX_ATTEMPTS=3'], {
      parts: { worker },
      env: workerEnv,
    });
    assert.equal(exitCode, 7);
    assert.equal(configs[0]?.topology.maxAttempts, 3);
  });

  it('does not start with a bad configuration', async () => {
    const worker = () => assert.fail('the worker was loaded');
    assert.equal((await cli(['worker'], { parts: { worker } })).exitCode, 78);
  });
});

describe('cardauth migrate', () => {
  const state = { applied: ['0001-orders.sql'], pending: ['0002-more.sql'], problem: undefined };
  const migrations = (changes: object = {}) => ({
    migrations: () =>
      Promise.resolve(() => ({
        up: () => Promise.resolve({ applied: state.pending }),
        status: () => Promise.resolve({ ...state, ...changes }),
        grants: ({ worker = '-', operator = '-' }) => [`grant ${worker} ${operator}`],
        grant: () => Promise.resolve(),
      })),
  });

  it('up needs nothing but the database, and lists what it applied', async () => {
    const run = await cli(['migrate', 'up'], { parts: migrations(), env: { CARDAUTH_GATEWAY: 'adyen' } });
    assert.deepEqual(run, { exitCode: 0, stdout: 'applied 0002-more.sql\n', stderr: '' });
    const json = await cli(['migrate', 'up', '--json'], { parts: migrations() });
    assert.deepEqual(JSON.parse(json.stdout), { applied: ['0002-more.sql'] });
  });

  it('status lists both, and fails when they do not fit', async () => {
    const { stdout, exitCode } = await cli(['migrate', 'status'], { parts: migrations() });
    assert.deepEqual([exitCode, stdout], [0, 'applied  0001-orders.sql\npending  0002-more.sql\n']);
    const broken = await cli(['migrate', 'status', '--json'], { parts: migrations({ problem: 'drift' }) });
    assert.equal(broken.exitCode, 1);
    assert.deepEqual(JSON.parse(broken.stdout), { ...state, problem: 'drift' });
  });

  it('roles prints, and changes nothing without --yes', async () => {
    const printed = await cli(['migrate', 'roles', '--worker', 'w', '--operator', 'o'], {
      parts: migrations(),
    });
    assert.deepEqual(printed, { exitCode: 0, stdout: 'grant w o;\n', stderr: '' });
    const done = await cli(['migrate', 'roles', '--worker', 'w', '--yes'], { parts: migrations() });
    assert.equal(done.stdout, 'the rights are given\n');
    const { exitCode, stderr } = await cli(['migrate', 'roles'], { parts: migrations() });
    assert.deepEqual([exitCode, stderr], [2, 'cardauth: name a role: --worker, --operator or both\n']);
  });

  it('exits 69 when the database cannot be reached, 1 on anything else', async () => {
    const failing = (error: Error) => ({ migrations: () => Promise.reject(error) });
    const refused = new AggregateError([Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })]);
    const wrapped = new Error('no database', { cause: refused });
    assert.equal((await cli(['migrate', 'up'], { parts: failing(wrapped) })).exitCode, 69);
    const classed = new RetriableError('down', { errorClass: 'database' });
    assert.equal((await cli(['migrate', 'up'], { parts: failing(classed) })).exitCode, 69);
    const bug = await cli(['migrate', 'up'], { parts: failing(new SyntaxError('quotes "987"')) });
    assert.equal(bug.exitCode, 1);
    assert.doesNotMatch(bug.stderr, /987/);
  });
});

describe('cardauth orders publish', () => {
  const publisher = (publish: (body: string) => Promise<void>, closed: string[] = []) => ({
    orderPublisher: () =>
      Promise.resolve(() =>
        Promise.resolve({
          publish: ({ body }: { body: Uint8Array }) => publish(Buffer.from(body).toString()),
          close: () => Promise.resolve(void closed.push('closed')),
        }),
      ),
  });

  it('publishes stdin and sums up', async () => {
    const bodies: string[] = [];
    const closed: string[] = [];
    const parts = publisher((body) => Promise.resolve(void bodies.push(body)), closed);
    const run = await cli(['orders', 'publish', '-'], { parts, stdin: '{"id":1}\n{"id":2}\n' });
    assert.deepEqual(run, { exitCode: 0, stdout: 'published 2 to orders\n', stderr: '' });
    assert.deepEqual([bodies, closed], [['{"id":1}', '{"id":2}'], ['closed']]);
  });

  it('exits 3 when only some were published, and names the lines', async () => {
    const files = { 'o.ndjson': '{"id":1}\n{"cvv":987\n{"id":2}\n' };
    const parts = publisher(() => Promise.resolve());
    const run = await cli(['orders', 'publish', 'o.ndjson', '--json'], { parts, files });
    assert.equal(run.exitCode, 3);
    assert.equal(run.stderr, 'line 2 is not JSON in UTF-8: not published\n');
    assert.deepEqual(JSON.parse(run.stdout), {
      queue: 'orders',
      published: 2,
      refused: 1,
      failed: 0,
      stopped: null,
    });
  });

  it('shows twenty bad lines at most', async () => {
    const parts = publisher(() => Promise.resolve());
    const { exitCode, stderr } = await cli(['orders', 'publish', '-'], { parts, stdin: 'x\n'.repeat(50) });
    assert.equal(exitCode, 1);
    assert.equal(stderr.split('\n').length, 22);
    assert.match(stderr, /\.\.\. and 30 more lines\n$/);
  });

  it('exits 69 when the broker confirms nothing', async () => {
    const unavailable = new RetriableError('down', { errorClass: 'publisher_unavailable' });
    const parts = publisher(() => Promise.reject(unavailable));
    const { exitCode, stdout } = await cli(['orders', 'publish', '-'], { parts, stdin: '{}\n'.repeat(5000) });
    assert.equal(exitCode, 69);
    assert.match(stdout, /published 0 to orders, not confirmed \d+, given up before the end/);
  });

  it('exits 130 when interrupted', async () => {
    const controller = new AbortController();
    const parts = publisher(() => {
      controller.abort();
      return Promise.resolve();
    });
    const world = { parts, stdin: '{}\n'.repeat(5000), interrupt: controller.signal };
    const { exitCode, stdout } = await cli(['orders', 'publish', '-'], world);
    assert.equal(exitCode, 130);
    assert.match(stdout, /interrupted before the end/);
  });

  it('shows progress on a terminal only, and none with NO_COLOR', async () => {
    const world = { parts: publisher(() => Promise.resolve()), stdin: '{}\n'.repeat(1000) };
    const { stderr } = await cli(['orders', 'publish', '-'], { ...world, isTTY: true });
    assert.ok(stderr.includes('\r\x1b[K500 published'), stderr);
    assert.equal((await cli(['orders', 'publish', '-'], world)).stderr, '');
    const plain = { ...world, isTTY: true, env: { NO_COLOR: '1' } };
    assert.equal((await cli(['orders', 'publish', '-'], plain)).stderr, '');
  });

  it('fails when the file is not there', async () => {
    const parts = publisher(() => Promise.resolve());
    assert.equal((await cli(['orders', 'publish', 'none'], { parts })).exitCode, 1);
  });
});

describe('cardauth simulator', () => {
  it('starts with the faults of a file, and stops when told to', async () => {
    const controller = new AbortController();
    const told: unknown[] = [];
    const simulator = () =>
      Promise.resolve({
        faultScriptFromJson,
        startSimulator: (options: { port: number; ledgerFile: string; faults: unknown }) => {
          told.push([options.port, options.ledgerFile, options.faults]);
          setImmediate(() => {
            controller.abort();
          });
          return Promise.resolve({
            url: 'http://127.0.0.1:8080',
            close: () => Promise.resolve(void told.push('closed')),
          });
        },
      });
    const files = { 'faults.json': '[{"fault":{"kind":"garbage"}}]' };
    const args = ['simulator', '--port', '8080', '--ledger', 'l.ndjson', '--faults', 'faults.json'];
    const world = { parts: { simulator }, files, interrupt: controller.signal };
    const { exitCode, stderr } = await cli(args, world);
    assert.equal(exitCode, 0);
    assert.match(stderr, /listening on http:\/\/127\.0\.0\.1:8080, ledger l\.ndjson/);
    assert.deepEqual(told, [[8080, 'l.ndjson', faultScriptFromJson(files['faults.json'])], 'closed']);
    for (const faults of ['none.json', '[{"fault":{"kind":"boo"}}]']) {
      assert.equal((await cli([...args.slice(0, 5), '--faults', faults], world)).exitCode, 2);
    }
  });
});
