import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { isLoggableField } from '../../src/telemetry/log-fields.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Every field name that calls like `log.warn(fields, 'text')` may pass, as `file: name`, by the type of `fields`. */
function loggedFields(program: ts.Program, files: readonly string[]): readonly string[] {
  const checker = program.getTypeChecker();
  const found: string[] = [];
  for (const file of files) {
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node) && isLogCall(node.expression)) {
        const [fields] = node.arguments;
        const names = fields === undefined ? [] : namesOf(checker.getTypeAtLocation(fields));
        found.push(...names.map((name) => `${file}: ${name}`));
      }
      ts.forEachChild(node, visit);
    };
    const source = program.getSourceFile(file);
    assert.ok(source, `${file} is not part of the program`);
    visit(source);
  }
  return found;
}

function namesOf(type: ts.Type): readonly string[] {
  const types = type.isUnion() ? type.types : [type];
  return types.flatMap((one) => one.getProperties().map((property) => property.name));
}

function isLogCall(callee: ts.Expression): boolean {
  return /\blog(ger)?\??\.(trace|debug|info|warn|error)$/i.test(callee.getText());
}

const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
  types: ['node'],
};

describe('the list of loggable fields', () => {
  it('has every field that the sources log', () => {
    // The simulator is not the worker and has a logger of its own.
    const files = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.startsWith('simulator'))
      .map((file) => `${root}src/${file}`);
    const program = ts.createProgram(files, options);
    const logged = loggedFields(program, files);
    assert.ok(logged.length > 20, `only ${logged.length} logged fields were found`);
    assert.deepEqual(
      logged
        .filter((line) => !isLoggableField(line.split(': ')[1] ?? ''))
        .map((line) => line.slice(root.length)),
      [],
      'these fields would be left out of the log: use a name of src/telemetry/log-fields.ts, or add one there if it can never hold card data',
    );
  });

  it('has no name that card data goes by', () => {
    for (const name of [
      'creditCardNumber',
      'creditCardCode',
      'cvv',
      'cvc',
      'pan',
      'card',
      'number',
      'body',
      'message',
    ]) {
      assert.ok(!isLoggableField(name), name);
    }
  });

  it('is checked by a scan that sees through spreads, unions and members', () => {
    const text = `
      declare const log: any, rest: { cvv: number }, either: { a: 1 } | { b: 2 };
      const host = { log };
      host.log?.warn({ queue: 'q', ...rest }, 'x');
      log.info(either, 'y');
      Math.log.info({ c: 3 });
      console.error({ d: 4 });`;
    const host = ts.createCompilerHost(options);
    const readSource = host.getSourceFile.bind(host);
    host.getSourceFile = (name, ...rest) =>
      name === 'x.ts'
        ? ts.createSourceFile(name, text, ts.ScriptTarget.ES2023, true)
        : readSource(name, ...rest);
    const program = ts.createProgram(['x.ts'], { ...options, types: [] }, host);
    assert.deepEqual(
      loggedFields(program, ['x.ts'])
        .map((line) => line.split(': ')[1])
        .sort(),
      ['a', 'b', 'c', 'cvv', 'queue'],
    );
  });
});
