import type { Values } from './tuple.ts';

/**
 * A 32-bit hash of some fields' values that is the same in every process and version: FNV-1a over a canonical,
 * type-tagged form, finished with MurmurHash3's mixer so that small moduli spread well. Equal means equal by
 * value: keys of objects are sorted. Throws on values that have no stable form (functions, symbols, class
 * instances other than Date).
 */
export function hashValues(values: Values, fields: readonly string[], seed: number): number {
  let hash = (0x811c9dc5 ^ seed) | 0;
  for (const field of fields) hash = hashValue(hash, values[field], 0);
  return mix(hash);
}

const DEEPEST = 32;

function hashValue(hash: number, value: unknown, depth: number): number {
  if (depth > DEEPEST) throw new RangeError(`stable hash: a value is nested deeper than ${DEEPEST} levels`);
  switch (typeof value) {
    case 'string':
      return hashText(hash, `s${value.length}:${value}`);
    case 'number':
      return hashText(hash, `n${value}`);
    case 'bigint':
      return hashText(hash, `i${value}`);
    case 'boolean':
      return hashText(hash, value ? 't' : 'f');
    case 'undefined':
      return hashText(hash, 'u');
    case 'object':
      return hashObject(hash, value, depth);
    case 'function':
    case 'symbol':
      throw new TypeError(`stable hash: a ${typeof value} has no stable hash; group by another field`);
  }
}

function hashObject(hash: number, value: object | null, depth: number): number {
  if (value === null) return hashText(hash, '0');
  if (value instanceof Date) return hashText(hash, `d${value.getTime()}`);
  if (Array.isArray(value)) {
    let result = hashText(hash, `a${value.length}:`);
    for (const item of value) result = hashValue(result, item, depth + 1);
    return result;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError('stable hash: an instance of a class has no stable hash; group by one of its fields');
  }
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  let result = hashText(hash, `o${entries.length}:`);
  for (const [key, item] of entries) result = hashValue(hashValue(result, key, depth + 1), item, depth + 1);
  return result;
}

function hashText(hash: number, text: string): number {
  let result = hash;
  for (let at = 0; at < text.length; at++) result = Math.imul(result ^ text.charCodeAt(at), 0x01000193);
  return result;
}

function mix(hash: number): number {
  let result = hash ^ (hash >>> 16);
  result = Math.imul(result, 0x85ebca6b);
  result ^= result >>> 13;
  result = Math.imul(result, 0xc2b2ae35);
  return (result ^ (result >>> 16)) >>> 0;
}
