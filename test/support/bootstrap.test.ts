import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startProcess } from './worker-process.ts';

const scripts = fileURLToPath(new URL('../../../scripts', import.meta.url));

/** A project of one package and one test, in a folder of its own; nothing is installed in it. */
function makeProject(t: TestContext): {
  folder: string;
  runTests: (...args: string[]) => Promise<[number | null, string]>;
} {
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

  const runTests = async (...args: string[]): Promise<[number | null, string]> => {
    const elsewhere = { AMQP_URL: 'amqp://127.0.0.1:1', DATABASE_URL: 'postgres://127.0.0.1:1/none' };
    const command = startProcess({
      owner: t,
      args: [join(folder, 'scripts', 'test.mjs'), ...args],
      env: { ...elsewhere, NODE_TEST_CONTEXT: undefined },
    });
    const { code } = await command.exited;
    return [code, command.lines.map((line) => line.text).join('\n')];
  };
  return { folder, runTests };
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
  mkdirSync(join(folder, 'node_modules'));
  cpSync(join(folder, 'package-lock.json'), join(folder, 'node_modules', '.package-lock.json'));
  mkdirSync(join(folder, 'dist', 'test'), { recursive: true });
  writeFileSync(join(folder, 'tsconfig.json'), '{}');
  const built = join(folder, 'dist', 'test', 'one.test.js');
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
