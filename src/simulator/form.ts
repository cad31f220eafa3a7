/**
 * `application/x-www-form-urlencoded` with bracket nesting, as Stripe's API reads request bodies and query
 * strings: `payment_method_data[card][number]=...`. Names stay flat, brackets included; of a name given
 * twice, the last one counts.
 */
export type FormParams = ReadonlyMap<string, string>;

export function parseForm(encoded: string): FormParams {
  return new Map(new URLSearchParams(encoded));
}

/** The members of a one-level object: `membersOf(params, 'metadata')` turns `metadata[a]=1` into `{ a: '1' }`. */
export function membersOf(params: FormParams, name: string): Readonly<Record<string, string>> {
  const members: [string, string][] = [];
  for (const [key, value] of params) {
    if (key.startsWith(`${name}[`) && key.endsWith(']'))
      members.push([key.slice(name.length + 1, -1), value]);
  }
  return Object.fromEntries(members);
}

/** `metadata[order_id]` belongs to `metadata`. */
export function topLevelName(name: string): string {
  const bracket = name.indexOf('[');
  return bracket === -1 ? name : name.slice(0, bracket);
}

/** One text for all orders in which the same parameters can be written; what is compared on a reused key. */
export function canonicalForm(params: FormParams): string {
  return JSON.stringify([...params].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}
