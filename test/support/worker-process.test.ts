import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { waitFor } from './wait-for.ts';
import { startProcess } from './worker-process.ts';

const talker = `
  process.on('SIGTERM', () => { console.log('bye'); process.exit(3); });
  console.log('hello');
  console.error('a warning');
  setInterval(() => undefined, 1000);
`;

test('collects lines and reports the exit', async (t) => {
  const process = startProcess({ owner: t, args: ['-e', talker] });
  assert.deepEqual(await process.waitForLine('hello'), { from: 'stdout', text: 'hello' });
  await process.waitForLine((line) => line.from === 'stderr' && line.text === 'a warning');
  process.kill();
  assert.deepEqual(await process.exited, { code: 3, signal: null });
  await process.waitForLine('bye');
});

test('a line that cannot come any more is an error that shows the last lines', async (t) => {
  const process = startProcess({ owner: t, args: ['-e', talker] });
  await process.waitForLine('hello');
  await assert.rejects(
    process.waitForLine('ready', { timeoutMs: 20 }),
    /not write within 20 ms "ready".*hello/s,
  );
  process.kill('SIGKILL');
  await assert.rejects(process.waitForLine('ready'), /ended \(SIGKILL\) without "ready"/);
});

test('the process is gone after its owner', async (t) => {
  let pid = 0;
  await t.test('owner', async (owner) => {
    const process = startProcess({ owner, args: ['-e', talker] });
    await process.waitForLine('hello');
    pid = process.pid;
  });
  assert.ok(!isAlive(pid));
});

test('the process is gone when its parent is killed, even while it is stopped', async (t) => {
  const module = fileURLToPath(new URL('worker-process.js', import.meta.url));
  const parent = startProcess({
    owner: t,
    args: [
      '--input-type=module',
      '-e',
      `import { startProcess } from ${JSON.stringify(module)};
       const child = startProcess({ owner: { after() {} }, args: ['-e', ${JSON.stringify(talker)}] });
       await child.waitForLine('hello');
       child.kill('SIGSTOP');
       console.log('child ' + child.pid);`,
    ],
  });
  const { text } = await parent.waitForLine('child');
  const pid = Number(text.split(' ')[1]);
  assert.ok(isAlive(pid));
  parent.kill('SIGKILL');
  await waitFor('the end of the stopped child', () => !isAlive(pid));
});

test('the environment is added to ours, and undefined takes a variable away', async (t) => {
  process.env['CARDAUTH_TEST_SECRET'] = 'seen';
  t.after(() => delete process.env['CARDAUTH_TEST_SECRET']);
  const child = startProcess({
    owner: t,
    args: ['-p', '[process.env.CARDAUTH_TEST_SECRET, process.env.COLOUR, typeof process.env.PATH].join()'],
    env: { CARDAUTH_TEST_SECRET: undefined, COLOUR: 'red' },
  });
  await child.waitForLine(',red,string');
});

/** A process whose new parent is slow to collect it is dead all the same. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' && !existsSync('/proc/self');
  }
}
