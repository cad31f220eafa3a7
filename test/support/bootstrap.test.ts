import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startProcess, type WorkerProcess } from './worker-process.ts';

const scripts = fileURLToPath(new URL('../../../scripts', import.meta.url));

interface Project {
  readonly folder: string;
  /** Starts one of the scripts, with services that are said to run already. */
  readonly start: (script: string, ...args: string[]) => WorkerProcess;
  /** Exit code and output. */
  readonly runTests: (...args: string[]) => Promise<[number | null, string]>;
}

/** A project of one package and one test, in a folder of its own; nothing is installed in it. */
function makeProject(t: TestContext): Project {
  const folder = mkdtempSync(join(tmpdir(), 'cardauth-test-'));
  t.after(() => {
    rmSync(folder, { recursive: true });
  });
  cpSync(scripts, join(folder, 'scripts'), { recursive: true });
  const packages = {
    '': { name: 'p' },
    'node_modules/left': { version: '1.0.0', resolved: 'http://127.0.0.1:1/' },
  };
  const lock = JSON.stringify({ name: 'p', lockfileVersion: 3, packages });
  writeFileSync(join(folder, 'package-lock.json'), lock);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'p', dependencies: { left: '1.0.0' } }));
  mkdirSync(join(folder, 'test'));
  writeFileSync(join(folder, 'test', 'one.test.ts'), '');

  const start: Project['start'] = (script, ...args) =>
    startProcess({
      owner: t,
      args: [join(folder, 'scripts', script), ...args],
      env: {
        AMQP_URL: 'amqp://127.0.0.1:1',
        DATABASE_URL: 'postgres://127.0.0.1:1/none',
        // It would make the test runner in there report to the one out here.
        NODE_TEST_CONTEXT: undefined,
      },
    });
  const runTests: Project['runTests'] = async (...args) => {
    const command = start('test.mjs', ...args);
    const { code } = await command.exited;
    return [code, command.lines.map((line) => line.text).join('\n')];
  };
  return { folder, start, runTests };
}

/** Makes it look installed and built; returns the path of its compiled test. */
function install(folder: string): string {
  mkdirSync(join(folder, 'node_modules'));
  cpSync(join(folder, 'package-lock.json'), join(folder, 'node_modules', '.package-lock.json'));
  writeFileSync(join(folder, 'tsconfig.json'), '{}');
  mkdirSync(join(folder, 'dist', 'test'), { recursive: true });
  const compiledTest = join(folder, 'dist', 'test', 'one.test.js');
  writeFileSync(compiledTest, '');
  return compiledTest;
}

test('a filter that no test file matches is an error, not an empty success', async (t) => {
  const [code, output] = await makeProject(t).runTests('no-such-file');
  assert.equal(code, 1);
  assert.match(output, /none of the 1 test files has no-such-file in its path/);
});

test('nothing is installed through a linked node_modules', async (t) => {
  const { folder, runTests } = makeProject(t);
  const someoneElses = join(folder, 'elsewhere');
  mkdirSync(join(someoneElses, 'precious'), { recursive: true });
  symlinkSync(someoneElses, join(folder, 'node_modules'));
  const [code, output] = await runTests();
  assert.equal(code, 1);
  assert.match(output, /node_modules is a link, and what it leads to does not match package-lock\.json/);
  assert.ok(existsSync(join(someoneElses, 'precious')));
});

test('what is installed and built is used as it is, and a failing test is a failure', async (t) => {
  const { folder, runTests } = makeProject(t);
  const built = install(folder);
  writeFileSync(join(folder, 'dist', 'test', 'gone.test.js'), 'throw new Error("its source is gone")');

  writeFileSync(built, 'console.log(process.env.CARDAUTH_TEST_AMQP_URL, process.env.AMQP_URL)');
  const [passed, output] = await runTests();
  assert.match(output, /amqp:\/\/127\.0\.0\.1:1 undefined/);
  assert.match(output, /pass 1/);
  assert.equal(passed, 0);

  writeFileSync(built, 'process.exit(1)');
  const [failed] = await runTests();
  assert.equal(failed, 1);
});

test('the demo gets its options, the services and our signals, and its exit code is ours', async (t) => {
  const { folder, start } = makeProject(t);
  install(folder);
  mkdirSync(join(folder, 'bin'));
  writeFileSync(
    join(folder, 'bin', 'cardauth.mjs'),
    `process.on('SIGTERM', () => { console.log('drained'); process.exit(3); });
     setInterval(() => undefined, 1000);
     console.log([...process.argv.slice(2), process.env.AMQP_URL, process.env.DATABASE_URL].join(' '));`,
  );
  const demo = start('demo.mjs', '--orders', '5', '--keep');
  await demo.waitForLine('demo --orders 5 --keep amqp://127.0.0.1:1 postgres://127.0.0.1:1/none');
  demo.kill('SIGTERM');
  await demo.waitForLine('drained');
  assert.deepEqual(await demo.exited, { code: 3, signal: null });
});
