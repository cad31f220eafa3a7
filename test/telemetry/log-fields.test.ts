import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { isLoggableField } from '../../src/telemetry/log-fields.ts';

const sourceFolder = fileURLToPath(new URL('../../../src/', import.meta.url));

/** Names of the fields in every call like `log.warn({ names }, 'text')`. */
function loggedNames(fileName: string, text: string): readonly string[] {
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && isLogCall(node.expression)) {
      const [fields] = node.arguments;
      if (fields !== undefined && ts.isObjectLiteralExpression(fields)) {
        for (const { name } of fields.properties) if (name !== undefined) names.push(name.getText());
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(fileName, text, ts.ScriptTarget.ES2023, true));
  return names;
}

function isLogCall(callee: ts.Expression): boolean {
  return /\blog(ger)?\??\.(trace|debug|info|warn|error)$/i.test(callee.getText());
}

describe('the list of loggable fields', () => {
  it('has every field that the sources log', () => {
    const files = readdirSync(sourceFolder, { recursive: true, encoding: 'utf8' });
    // The simulator is not the worker and has a logger of its own.
    const ours = files.filter((file) => file.endsWith('.ts') && !file.startsWith('simulator'));
    const missing = ours.flatMap((file) =>
      loggedNames(file, readFileSync(sourceFolder + file, 'utf8'))
        .filter((name) => !isLoggableField(name))
        .map((name) => `${file}: ${name}`),
    );
    assert.deepEqual(
      missing,
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

  it('is checked by a scan that sees such calls', () => {
    const text = `this.#log.warn({ queue, cvv: 1, ...rest }, 'x'); options.log?.info({ 'pan': 2 }, 'y'); math.log({ a });`;
    assert.deepEqual(loggedNames('x.ts', text), ['queue', 'cvv', "'pan'"]);
  });
});
