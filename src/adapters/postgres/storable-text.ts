/**
 * Text of strangers as PostgreSQL can hold it. It knows no NUL character, and no half of a surrogate pair in JSON; both
 * become the replacement character, because a message that cannot be written down would be tried for ever.
 */
const NOT_STORABLE = /\0|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

export function storable(text: string | undefined): string | null {
  return text?.replaceAll(NOT_STORABLE, '\uFFFD') ?? null;
}

/** For a column of type json or jsonb. */
export function storableJson(value: unknown): string {
  return JSON.stringify(storableValue(value));
}

function storableValue(value: unknown): unknown {
  if (typeof value === 'string') return storable(value);
  if (Array.isArray(value)) return value.map(storableValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [storable(name) ?? '', storableValue(each)]),
  );
}
