import assert from 'node:assert/strict';
import * as z from 'zod';
import { allJsonOutputs } from '../../src/cli/json-outputs.ts';

/**
 * What a command printed under `--json` is what its published schema says: read back from the JSON Schema itself, so
 * that what is published is tested, and with no field that the schema does not name. Other output passes.
 */
export async function assertDocumentedJson(args: readonly string[], stdout: string): Promise<void> {
  if (!args.includes('--json') || stdout === '' || args.includes('--help')) return;
  const output = outputOf(args);
  if (output === undefined) return;
  const { name, form, schema } = output;
  const declared = await schema();
  // A published schema allows more fields than it names; this one does not.
  const strict = z.fromJSONSchema(z.toJSONSchema(declared, { io: 'output' }));
  for (const text of form === 'lines' ? stdout.trimEnd().split('\n') : [stdout]) {
    const value: unknown = JSON.parse(text);
    for (const [what, against] of [
      ['its zod schema', declared],
      ['its JSON Schema', strict],
    ] as const) {
      const { success, error } = against.safeParse(value);
      assert.ok(
        success,
        `${name} --json is not what ${what} says:\n${error && z.prettifyError(error)}\n${text}`,
      );
    }
  }
}

/** The longest name that the command line begins with. */
function outputOf(args: readonly string[]) {
  const line = `${args.join(' ')} `;
  const [longest] = allJsonOutputs()
    .filter(([name]) => line.startsWith(`${name} `))
    .toSorted(([one], [other]) => other.length - one.length);
  return longest && { name: longest[0], ...longest[1] };
}
