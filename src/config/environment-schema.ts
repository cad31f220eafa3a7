import { toJSONSchema } from 'zod';
import { environment, variables } from './variables.ts';

/**
 * JSON Schema of the variables, as the texts that they are given as: forms, defaults and meanings. What one schema
 * cannot say (bounds of numbers written as text, deadlines that nest) is said by `cardauth config check`.
 */
export function environmentSchema(): object {
  const { properties = {} } = toJSONSchema(environment, { io: 'input', unrepresentable: 'any' });
  const described = variables.map((variable) => {
    const { name, description, rule, example, secret } = variable;
    const { [name]: form } = properties as Record<string, { readonly pattern?: string } | undefined>;
    return [
      name,
      {
        ...(typeof form?.pattern === 'string' &&
          !isUnicodePattern(form.pattern) && { pattern: form.pattern }),
        type: 'string',
        description: `${description} (${rule})`,
        ...(variable.default !== undefined && { default: variable.default }),
        ...(example !== undefined && secret !== true && { examples: [example] }),
        ...(secret === true && { writeOnly: true }),
      },
    ] as const;
  });
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Environment of cardauth',
    description: 'Each secret may also be given as NAME_FILE, the path of a file that holds it.',
    type: 'object',
    properties: Object.fromEntries(described),
  };
}

/** Many readers of schemas compile patterns without the flag that these need. */
function isUnicodePattern(pattern: string): boolean {
  return /\\p\{/i.test(pattern);
}
