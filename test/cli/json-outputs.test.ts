import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Command } from 'commander';
import { allJsonOutputs } from '../../src/cli/json-outputs.ts';
import { assertDocumentedJson } from './documented-json.ts';
import { cli, wholeProgram } from './fake-context.ts';

const root = new URL('../../../', import.meta.url);

describe('what is printed under --json', () => {
  it('has a schema for every command that has --json, and for no other', () => {
    const withJson = commandsBelow(wholeProgram()).filter(([, command]) =>
      command.options.some(({ long }) => long === '--json'),
    );
    assert.deepEqual(
      withJson.map(([name]) => name).sort(),
      allJsonOutputs()
        .map(([name]) => name)
        .sort(),
    );
  });

  it('is published in schemas/cli.json as it is', async () => {
    const { stdout } = await cli(['schema', '--all']);
    const kept = readFileSync(new URL('schemas/cli.json', root), 'utf8');
    assert.equal(
      kept,
      stdout,
      'out of date: run `npm run build && npx cardauth schema --all > schemas/cli.json`',
    );
  });

  it('names every field, and says what each output is', async () => {
    for (const [name, { schema }] of allJsonOutputs()) {
      assert.ok((await schema()).description, `${name} has no description`);
    }
  });

  it('is held against its schema by these tests', async () => {
    const printed = { applied: [], pending: [], problem: null };
    const args = ['migrate', 'status', '--json'];
    await assertDocumentedJson(args, JSON.stringify(printed));
    await assert.rejects(assertDocumentedJson(args, JSON.stringify({ ...printed, extra: 1 })), /extra/);
    await assert.rejects(assertDocumentedJson(args, JSON.stringify({ applied: [] })), /pending/);
    await assertDocumentedJson(['migrate', 'status'], 'no JSON');
  });
});

describe('cardauth schema', () => {
  it('lists the names, prints one, and refuses what there is not', async () => {
    const { stdout } = await cli(['schema']);
    assert.deepEqual(
      stdout.trimEnd().split('\n'),
      allJsonOutputs().map(([name]) => name),
    );
    const one = JSON.parse((await cli(['schema', 'migrate', 'up'])).stdout) as Record<string, unknown>;
    assert.equal(one['title'], 'cardauth migrate up');
    assert.deepEqual(one['required'], ['applied']);
    assert.equal((await cli(['schema', 'nonsense'])).exitCode, 2);
    assert.equal((await cli(['schema', 'migrate', 'up', '--all'])).exitCode, 2);
  });
});

function commandsBelow(command: Command, path: readonly string[] = []): (readonly [string, Command])[] {
  return command.commands.flatMap((child) => {
    const name = [...path, child.name()];
    return [[name.join(' '), child] as const, ...commandsBelow(child, name)];
  });
}
