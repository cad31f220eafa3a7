import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { completableCommands } from '../../src/cli/completion/command-tree.ts';
import { bashCompletion } from '../../src/cli/completion/bash.ts';
import { fishCompletion } from '../../src/cli/completion/fish.ts';
import { zshCompletion } from '../../src/cli/completion/zsh.ts';
import { cli, wholeProgram } from './fake-context.ts';

const commands = completableCommands(wholeProgram());
const isInstalled = (shell: string): boolean => spawnSync(shell, ['-c', 'exit 0']).status === 0;

/** What a real bash offers for the last of these words. */
function offered(...words: string[]): readonly string[] {
  const script = `
    ${bashCompletion(commands)}
    COMP_WORDS=(cardauth "$@") COMP_CWORD=$#
    _cardauth
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync('bash', ['--norc', '-euo', 'pipefail', '-c', script, 'bash', ...words], {
    encoding: 'utf8',
    cwd: new URL('../../../', import.meta.url),
  });
  return output.split('\n').filter((line) => line !== '');
}

describe('completion in a real bash', () => {
  it('offers commands, below each its subcommands, and what begins with the letters there are', () => {
    const { commands: nouns } = wholeProgram();
    const verbs = nouns.find((noun) => noun.name() === 'orders')?.commands ?? [];
    assert.deepEqual(offered('').toSorted(), nouns.map((noun) => noun.name()).toSorted());
    assert.deepEqual(offered('ord'), ['orders']);
    assert.deepEqual(
      offered('orders', ''),
      verbs.map((verb) => verb.name()),
    );
    assert.deepEqual(offered('orders', 'p'), ['publish']);
  });

  it('offers the options of the command, wherever they stand', () => {
    assert.ok(offered('orders', 'list', '--').includes('--older-than'));
    assert.deepEqual(offered('orders', 'list', '--limit', '5', '--newe'), ['--newer-than', '--newest']);
    assert.ok(!offered('orders', 'show', '1234', '--').includes('--older-than'));
    assert.deepEqual(offered('--ver'), ['--version']);
    for (const { path } of commands)
      assert.ok(offered(...path.split(' ').filter((word) => word !== ''), '--h').includes('--help'), path);
  });

  it('offers the values of an option, files where a file is wanted, and nothing where anything may stand', () => {
    assert.deepEqual(offered('config', 'example', '--format', ''), ['env', 'markdown']);
    assert.deepEqual(offered('worker', '--env-file', 'pack').toSorted(), [
      'package-lock.json',
      'package.json',
    ]);
    assert.deepEqual(offered('orders', 'publish', 'READ'), ['README.md']);
    assert.deepEqual(offered('orders', 'list', '--limit', ''), []);
    assert.deepEqual(offered('orders', 'list', '--reason', 'orders', '--limi'), ['--limit']);
  });

  it('loads without a word, in an interactive shell, too', () => {
    const run = spawnSync(
      'bash',
      ['--norc', '-i', '-c', `${bashCompletion(commands)}\ncomplete -p cardauth`],
      {
        encoding: 'utf8',
      },
    );
    assert.match(run.stdout, /complete -o filenames -F _cardauth cardauth/);
  });
});

describe('completion for the other shells', () => {
  it('names every command and every option', () => {
    for (const script of [zshCompletion(commands), fishCompletion(commands)]) {
      for (const { subcommands, options } of commands) {
        for (const { name } of subcommands) assert.ok(script.includes(name), name);
        for (const name of options.flatMap(({ names }) => names.slice(-1)))
          assert.ok(script.includes(name.replace(/^--/, '')), name);
      }
    }
  });

  it('closes every quote', () => {
    for (const line of zshCompletion(commands)
      .split('\n')
      .filter((one) => one.endsWith(';;'))) {
      const check = spawnSync('bash', ['-n', '-c', `case x in ${line.trim()} esac`]);
      assert.equal(check.status, 0, line);
    }
    for (const line of fishCompletion(commands)
      .split('\n')
      .filter((one) => one.startsWith('complete '))) {
      assert.equal(
        line
          .replaceAll(String.raw`\\`, '')
          .replaceAll(String.raw`\'`, '')
          .split("'").length % 2,
        1,
        line,
      );
    }
  });

  for (const [shell, script] of [
    ['zsh', zshCompletion(commands)],
    ['fish', fishCompletion(commands)],
  ] as const) {
    if (!isInstalled(shell)) continue;
    it(`is good ${shell}`, () => {
      const { status, stderr } = spawnSync(shell, ['-n'], { input: script, encoding: 'utf8' });
      assert.equal(status, 0, stderr);
    });
  }
});

describe('cardauth completion', () => {
  it('prints a script for each shell, and refuses another', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { exitCode, stdout } = await cli(['completion', shell]);
      assert.equal(exitCode, 0);
      assert.match(stdout, new RegExp(`${shell} completion for cardauth`));
    }
    assert.equal((await cli(['completion', 'csh'])).exitCode, 2);
    assert.equal((await cli(['completion'])).exitCode, 2);
  });
});
