import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { cli, everyPart, wholeProgram } from './fake-context.ts';

/** Every command, as someone meets it who has never seen it. */
const leaves = leavesBelow(wholeProgram());

/** What runs, what is looked at first, the orders, what changes things, and what stands beside. */
const NOUNS = [
  'worker', 'console', 'migrate', 'doctor', 'status', 'orders', 'parked', 'unknown', 'notifications', 'reconcile',
  'pause', 'resume', 'breaker', 'config', 'audit', 'schema', 'simulator', 'demo', 'completion',
]; // prettier-ignore

describe('every command', () => {
  for (const [path, command] of leaves) {
    const words = path.split(' ');

    it(`${path} --help says what it does, with an example`, async () => {
      const { exitCode, stdout, stderr } = await cli([...words, '--help'], { parts: everyPart });
      assert.deepEqual([exitCode, stderr], [0, '']);
      assert.match(stdout, new RegExp(`^Usage: cardauth ${path}`));
      assert.match(stdout, /Examples?:\n {2}\S/);
      assert.notEqual(command.description(), '');
    });

    it(`${path} exits 2 on a flag that there is not, says where help is, and runs nothing`, async () => {
      const { exitCode, stdout, stderr } = await cli([...words, '--no-such-flag'], { parts: everyPart });
      assert.deepEqual([exitCode, stdout], [2, '']);
      assert.match(stderr, /--help/);
    });
  }

  it('is listed by --help in the order of the work, and has its place there', () => {
    const nouns = wholeProgram().commands.map((command) => command.name());
    assert.deepEqual(
      nouns,
      NOUNS.filter((noun) => nouns.includes(noun)),
    );
  });

  it('is in the table of the README', () => {
    const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
    const [, table = ''] = /\n### Commands\n([^]*?)\n\n[^|]/.exec(readme) ?? [];
    const named = [...table.matchAll(/^\|([^|]*)\|/gm)]
      .flatMap(([, cell = '']) => [...cell.matchAll(/`([a-z ]+)`/g)])
      .map(([, name]) => name);
    assert.deepEqual(
      named,
      leaves.map(([path]) => path).toSorted((one, other) => named.indexOf(one) - named.indexOf(other)),
    );
  });

  it('that has --json says in its help what is printed', () => {
    for (const [path, command] of leaves) {
      const json = command.options.find(({ long }) => long === '--json');
      if (json !== undefined) assert.match(json.description, /print/, path);
    }
  });
});

describe('in a real terminal', () => {
  const program = fileURLToPath(new URL('../../../bin/cardauth.mjs', import.meta.url));
  const isThere = spawnSync('script', ['--version']).status === 0;
  /** A port that nobody listens on: the kernel never gives port 1 away. */
  const env = { ...process.env, DATABASE_URL: 'postgres://u:hunter2-hunter2@127.0.0.1:1/x', TERM: 'xterm' };

  function inTerminal(args: readonly string[]) {
    const line = [process.execPath, program, ...args].map((word) => `'${word}'`).join(' ');
    const run = spawnSync('script', ['-qec', line, '/dev/null'], { encoding: 'utf8', env, input: '' });
    return { code: run.status, text: run.stdout.replaceAll('\r\n', '\n') };
  }

  const table: readonly (readonly [args: readonly string[], code: number, text: RegExp])[] = [
    [['--help'], 0, /^Usage: cardauth/],
    [['orders', 'list'], 69, /a service cannot be reached/],
    [['orders', 'show', '1234'], 69, /a service cannot be reached/],
    [['orders', 'explain', '1234', '--json'], 69, /a service cannot be reached/],
    [['orders', 'explain', 'x y'], 2, /1-128 visible ASCII characters/],
    [['orders', 'lst'], 2, /Did you mean list\?/],
    [['orders', 'show'], 2, /missing required argument 'id'/],
    [['schema', 'orders', 'list'], 0, /"title": "cardauth orders list"/],
  ];
  for (const [args, code, text] of isThere ? table : []) {
    it(`cardauth ${args.join(' ')} exits ${code}`, () => {
      const run = inTerminal(args);
      assert.equal(run.code, code, run.text);
      assert.match(run.text, text);
      assert.doesNotMatch(run.text, /hunter2/);
      assert.ok(!run.text.includes('\x1b'), 'no escape sequences');
    });
  }
});

function leavesBelow(command: Command, path: readonly string[] = []): (readonly [string, Command])[] {
  return command.commands.flatMap((child): (readonly [string, Command])[] => {
    const here = [...path, child.name()];
    return child.commands.length === 0 ? [[here.join(' '), child]] : leavesBelow(child, here);
  });
}
