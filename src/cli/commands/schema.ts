import type * as z from 'zod';
import type { AddCommand } from '../context.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { allJsonOutputs } from '../json-outputs.ts';

/** JSON Schemas of what the commands print, from the same source as the values themselves. */
export const addSchemaCommand: AddCommand = (program, context) => {
  program
    .command('schema [command...]')
    .summary("print the JSON Schema of a command's --json")
    .description(
      'Prints the JSON Schema (draft 2020-12) of what a command prints under --json; of a stream that is the schema ' +
        "of each line. `order` is the schema of an order's message. Without a command, the names there are.",
    )
    .option('--all', 'all of them, as the definitions of one schema')
    .addHelpText(
      'after',
      '\nExamples:\n  cardauth schema order\n  cardauth schema orders show\n  cardauth schema --all > cli.json\n',
    )
    .action(async (words: readonly string[], { all = false }: { readonly all?: boolean }) => {
      const name = words.join(' ');
      if (all && name !== '') throw new CommandError(exitCodes.usage, 'give a command, or --all, not both');
      if (all) context.terminal.out(pretty(await allSchemas()));
      else if (name === '')
        context.terminal.out(
          allJsonOutputs()
            .map(([one]) => `${one}\n`)
            .join(''),
        );
      else if (name === ORDER) context.terminal.out(pretty(await messageSchema()));
      else context.terminal.out(pretty(await schemaOf(name)));
    });
};

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** Not what a command prints, but what upstream sends. */
const ORDER = 'order';

async function messageSchema(): Promise<object> {
  return (await import('../../ops/order-schema.ts')).orderSchema;
}

async function schemaOf(name: string): Promise<object> {
  const output = allJsonOutputs().find(([one]) => one === name)?.[1];
  if (output === undefined)
    throw new CommandError(exitCodes.usage, `no schema of that name: \`cardauth schema\` lists them`);
  return { $schema: DIALECT, ...(await titled(name, output.form, await output.schema())) };
}

async function allSchemas(): Promise<object> {
  const schemas = await Promise.all(
    allJsonOutputs().map(async ([name, { form, schema }]) => {
      return [name, await titled(name, form, await schema())] as const;
    }),
  );
  return {
    $schema: DIALECT,
    title: 'What the commands of cardauth print under --json',
    description: 'Each definition is named after its command. Fields are only ever added.',
    $defs: Object.fromEntries(schemas),
  };
}

async function titled(name: string, form: string, schema: z.ZodType): Promise<Record<string, unknown>> {
  const { toJSONSchema } = await import('zod');
  const title = `cardauth ${name}${form === 'lines' ? ': each line (NDJSON, one document a line)' : ''}`;
  // Read as input, a schema allows more fields than it names: some may be added.
  const definition = Object.entries(toJSONSchema(schema, { io: 'input' }));
  return { title, ...Object.fromEntries(definition.filter(([key]) => key !== '$schema')) };
}

function pretty(schema: object): string {
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}
