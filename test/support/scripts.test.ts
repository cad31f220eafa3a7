import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { waitFor } from './wait-for.ts';
import { startProcess } from './worker-process.ts';

// The scripts run before anything is built, so they are no TypeScript and have no types of their own.
const script = (name: string): string =>
  fileURLToPath(new URL(`../../../scripts/services/${name}`, import.meta.url));

interface Machine {
  readonly findRabbitmq: () => unknown;
  readonly findPostgres: () => unknown;
  readonly dockerIsRunning: () => Promise<boolean>;
  readonly canInstall: () => boolean;
}
type Plan = Record<'rabbitmq' | 'postgres', { from: string; url?: string; binaries?: unknown }>;
const { planServices } = (await import(script('plan.mjs'))) as {
  planServices: (options: { env: Record<string, string>; machine: Machine }) => Promise<Plan>;
};

const bare: Machine = {
  findRabbitmq: () => undefined,
  findPostgres: () => undefined,
  dockerIsRunning: () => Promise.resolve(false),
  canInstall: () => false,
};
const complete: Machine = {
  findRabbitmq: () => ({ server: '/usr/lib/rabbitmq/bin/rabbitmq-server' }),
  findPostgres: () => '/usr/lib/postgresql/17/bin',
  dockerIsRunning: () => Promise.resolve(true),
  canInstall: () => true,
};
const url = { amqp: 'amqp://broker', database: 'postgres://database' };

test('each service comes from the first place that has it', async () => {
  const origins = async (env: Record<string, string>, machine: Machine): Promise<string> => {
    const { rabbitmq, postgres } = await planServices({ env, machine });
    return `${rabbitmq.from} ${postgres.from}`;
  };
  const both = { AMQP_URL: url.amqp, DATABASE_URL: url.database };
  assert.equal(await origins(both, complete), 'environment environment');
  assert.equal(await origins(both, bare), 'environment environment');
  assert.equal(await origins({ AMQP_URL: url.amqp }, complete), 'environment binaries');
  assert.equal(await origins({ DATABASE_URL: url.database }, complete), 'binaries environment');
  assert.equal(await origins({ AMQP_URL: '', DATABASE_URL: '' }, complete), 'binaries binaries');
  assert.equal(await origins({}, { ...complete, findRabbitmq: () => undefined }), 'docker binaries');
  assert.equal(await origins({}, { ...bare, dockerIsRunning: complete.dockerIsRunning }), 'docker docker');
  assert.equal(await origins({}, { ...bare, canInstall: () => true }), 'apt apt');
  assert.equal(await origins({ AMQP_URL: url.amqp }, { ...bare, canInstall: () => true }), 'environment apt');
});

test('with nothing to start from, the message lists the choices and the exit code is 69', async () => {
  await assert.rejects(planServices({ env: {}, machine: bare }), (error: Error & { exitCode?: number }) => {
    assert.match(error.message, /no RabbitMQ and no PostgreSQL found/);
    for (const choice of ['AMQP_URL=', 'DATABASE_URL=', 'apt-get install', 'Docker']) {
      assert.ok(error.message.includes(choice), choice);
    }
    return error.exitCode === 69;
  });
  const oneMissing = planServices({ env: { AMQP_URL: url.amqp }, machine: bare });
  await assert.rejects(oneMissing, { message: /^no PostgreSQL found/ });
});

for (const [end, how] of [
  ['SIGKILL', 'is killed'],
  ['SIGINT', 'is interrupted'],
  ['throw', 'throws'],
  ['stop', 'stops what it started'],
] as const) {
  test(`nothing that was started outlives a command that ${how}`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'cardauth-test-'));
    const trace = `${directory}-ran`;
    t.after(() => {
      rmSync(trace, { force: true });
    });
    const touch = `require('node:fs').writeFileSync(${JSON.stringify(trace)}, '')`;
    const command = startProcess({
      owner: t,
      args: [
        '--input-type=module',
        '-e',
        `import { startKeeper } from ${JSON.stringify(script('keeper.mjs'))};
         const directory = ${JSON.stringify(directory)};
         const keeper = startKeeper();
         keeper.removeAtEnd(directory);
         keeper.runAtEnd({ command: process.execPath, args: ['-e', ${JSON.stringify(touch)}] });
         const service = await keeper.spawn({
           command: process.execPath,
           args: ['-e', 'console.log("up"); setInterval(() => undefined, 1000)'],
           env: {}, cwd: directory, logFile: directory + '/log', stopSignals: ['SIGTERM', 'SIGKILL'],
         });
         console.log('service ' + service.pid);
         if (${JSON.stringify(end)} === 'throw') throw new Error('as planned');
         if (${JSON.stringify(end)} === 'stop') await keeper.stop();`,
      ],
    });
    const { text } = await command.waitForLine('service');
    const pid = Number(text.split(' ')[1]);
    assert.ok(Number.isInteger(pid));
    if (end.startsWith('SIG')) command.kill(end as NodeJS.Signals);
    await command.exited;
    await waitFor('the end of the service', () => !existsSync(`/proc/${pid}`));
    await waitFor(
      'its directory to go and its command to run',
      () => !existsSync(directory) && existsSync(trace),
    );
  });
}

test('a process that cannot be started, or ends early, is an error that shows its log', async (t) => {
  const command = startProcess({
    owner: t,
    args: [
      '--input-type=module',
      '-e',
      `import { startKeeper } from ${JSON.stringify(script('keeper.mjs'))};
       import { waitUntilReady } from ${JSON.stringify(script('ready.mjs'))};
       const keeper = startKeeper();
       const directory = ${JSON.stringify(mkdtempSync(join(tmpdir(), 'cardauth-test-')))};
       keeper.removeAtEnd(directory);
       const logFile = directory + '/log';
       const spawn = (command, args) => keeper.spawn({ command, args, env: {}, cwd: '/', logFile, stopSignals: ['SIGKILL'] });
       await spawn('/no/such/program', []).catch((error) => console.log(error.message));
       const { exited } = await spawn(process.execPath, ['-e', 'console.error("port in use"); process.exit(7)']);
       const ready = waitUntilReady({ name: 'It', probe: async () => false, timeoutMs: 9000, exited, logFile });
       await ready.catch((error) => console.log(error.message));
       await keeper.stop();`,
    ],
  });
  await command.exited;
  const output = command.lines.map((line) => line.text).join('\n');
  assert.match(output, /\/no\/such\/program could not be started: .*ENOENT/);
  assert.match(output, /It ended while starting \(exit code 7\)\. The end of its log:\n {4}port in use/);
});

test('docker-compose.yml publishes on this machine only', () => {
  const compose = readFileSync(new URL('../../../docker-compose.yml', import.meta.url), 'utf8');
  const ports = compose.match(/^ {6}- '.*:\d+'$/gm) ?? [];
  assert.equal(ports.length, 3);
  for (const port of ports) assert.match(port, /'127\.0\.0\.1:\$\{CARDAUTH_COMPOSE_\w+:-(\d+)\}:\1'/);
});
