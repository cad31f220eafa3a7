import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startProcess } from './worker-process.ts';

const script = (name: string): string =>
  JSON.stringify(fileURLToPath(new URL(`../../../scripts/services/${name}`, import.meta.url)));

/**
 * A `docker` that notes what it was asked to do. Its containers are one process that answers as RabbitMQ and
 * PostgreSQL begin to, on the ports of docker-compose.yml.
 */
const fakeDocker = (folder: string): string => `#!${process.execPath}
const { appendFileSync, readFileSync, writeFileSync } = require('node:fs');
const { spawn } = require('node:child_process');
const args = process.argv.slice(2);
appendFileSync(${JSON.stringify(join(folder, 'asked'))}, args.join(' ') + '\\n');
if (args.includes('up')) {
  const answers = (port, bytes) =>
    \`require('node:net').createServer((socket) => socket.end(Buffer.from([\${bytes}]))).listen(\${port}, '127.0.0.1');\`;
  const program =
    answers(process.env.CARDAUTH_COMPOSE_AMQP_PORT, [1, 0, 0, 0, 0, 0, 4, 0, 10, 0, 10]) +
    answers(process.env.CARDAUTH_COMPOSE_POSTGRES_PORT, [0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);
  const containers = spawn(process.execPath, ['-e', program], { detached: true, stdio: 'ignore' });
  writeFileSync(${JSON.stringify(join(folder, 'pid'))}, String(containers.pid));
  containers.unref();
}
if (args.includes('down')) process.kill(Number(readFileSync(${JSON.stringify(join(folder, 'pid'))}, 'utf8')));
`;

test('containers start as a project of their own on free ports and go down at the end', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cardauth-test-'));
  t.after(() => {
    rmSync(folder, { recursive: true });
  });
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  // A script without an extension is what the nearest package.json says, and above the folder there may be any.
  writeFileSync(join(folder, 'package.json'), '{}');
  writeFileSync(join(bin, 'docker'), fakeDocker(folder));
  chmodSync(join(bin, 'docker'), 0o755);

  const command = startProcess({
    owner: t,
    env: { PATH: `${bin}:${process.env['PATH'] ?? ''}` },
    args: [
      '--input-type=module',
      '-e',
      `import { dockerIsRunning, startContainers } from ${script('docker.mjs')};
       import { startKeeper } from ${script('keeper.mjs')};
       console.log('running ' + await dockerIsRunning());
       const keeper = startKeeper();
       const names = ['rabbitmq', 'postgres'];
       const started = await startContainers({ keeper, names, project: 'cardauth-abc', log: console.log });
       console.log(JSON.stringify(started));
       await keeper.stop();`,
    ],
  });
  await command.waitForLine('running true');
  const { text } = await command.waitForLine('"rabbitmq"');
  const started = JSON.parse(text) as Record<string, { url: string }>;
  assert.match(started['rabbitmq']?.url ?? '', /^amqp:\/\/guest:guest@127\.0\.0\.1:\d+$/);
  assert.match(started['postgres']?.url ?? '', /^postgres:\/\/postgres@127\.0\.0\.1:\d+\/postgres$/);
  assert.equal((await command.exited).code, 0);

  const asked = readFileSync(join(folder, 'asked'), 'utf8').replaceAll(/ -f \S+docker-compose\.yml/g, '');
  assert.deepEqual(asked.trimEnd().split('\n').slice(2), [
    'compose -p cardauth-abc up --detach --wait rabbitmq postgres',
    'compose -p cardauth-abc down --volumes --timeout 1',
  ]);
});
