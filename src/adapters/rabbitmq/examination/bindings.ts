/** Judges where announcements go; pure. */
import { findingsOf, type Finding } from '../../../ports/examination.ts';

export interface Binding {
  readonly destination: string;
  /** `queue` or `exchange`. */
  readonly destinationType: string;
  readonly pattern: string;
}

export function bindingFindings(options: {
  readonly exchange: string;
  readonly type: string;
  readonly hasAlternate: boolean;
  readonly bindings: readonly Binding[];
  readonly routingKeys: readonly string[];
}): readonly Finding[] {
  const { exchange, type, hasAlternate, bindings, routingKeys } = options;
  const { ok, error, warning, skipped } = findingsOf('notifications.bindings');
  if (type !== 'topic' && type !== 'direct' && type !== 'fanout') {
    return [skipped(`exchange ${exchange} is of the type ${type}: where it leads to cannot be told`)];
  }
  const unbound = routingKeys.filter((key) => !bindings.some((binding) => leads(type, binding.pattern, key)));
  if (unbound.length === 0) {
    const all = routingKeys.join(' and ');
    return [
      ok(`exchange ${exchange} (${type}) leads ${all} to ${[...new Set(bindings.map(labelOf))].join(', ')}`),
    ];
  }
  const what = `nothing is bound to exchange ${exchange} for ${unbound.join(' and ')}`;
  if (hasAlternate) return [warning(`${what}; they go to its alternate exchange`)];
  return [
    error(`${what}: announcements come back and their orders wait`, 'bind a durable queue, e.g. by order.#'),
  ];
}

function labelOf({ destination, destinationType }: Binding): string {
  return `${destinationType} ${destination}`;
}

function leads(type: 'topic' | 'direct' | 'fanout', pattern: string, key: string): boolean {
  if (type === 'fanout') return true;
  return type === 'direct' ? pattern === key : matchesTopic(pattern.split('.'), key.split('.'));
}

/** `*` is one word, `#` any number of them. */
function matchesTopic([first, ...rest]: readonly string[], words: readonly string[]): boolean {
  if (first === undefined) return words.length === 0;
  if (first === '#') {
    return Array.from({ length: words.length + 1 }, (_, skipped) => words.slice(skipped)).some((left) =>
      matchesTopic(rest, left),
    );
  }
  const [word, ...others] = words;
  return word !== undefined && (first === '*' || first === word) && matchesTopic(rest, others);
}
