import { isChargePath, type Fault, type FaultRule, type FaultScript } from './fault-script.ts';

/** What a rule can ask of a request. */
export interface FaultTarget {
  readonly method: string;
  readonly path: string;
  readonly orderId: string | undefined;
  readonly last4: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** Which request with its key this is, from 1. */
  readonly nth: number;
}

interface CountedRule {
  readonly rule: FaultRule;
  hits: number;
}

/** The rules in force, and how often each was met. */
export class Faults {
  #rules: readonly CountedRule[] = [];

  constructor(script: FaultScript) {
    this.replace(script);
  }

  /** From here on only the new script counts; all counters start at 0. */
  replace(script: FaultScript): void {
    this.#rules = script.map((rule) => ({ rule, hits: 0 }));
  }

  /** The fault of the first rule that meets this request, counted as a hit. */
  meet(target: FaultTarget): Fault | undefined {
    for (const [index, counted] of this.#rules.entries()) {
      const { rule, hits } = counted;
      if (hits >= (rule.times ?? Infinity) || !matches(rule, index, target)) continue;
      counted.hits += 1;
      return rule.fault;
    }
    return undefined;
  }

  /** A rule with 0 `hits` never fired: the test that wrote it proved nothing. */
  list(): (FaultRule & { hits: number })[] {
    return this.#rules.map(({ rule, hits }) => ({ ...rule, hits }));
  }
}

function matches({ match = {} }: FaultRule, index: number, target: FaultTarget): boolean {
  if (match.path === undefined && !(target.method === 'POST' && isChargePath(target.path))) return false;
  if (match.path !== undefined && !meetsPath(match.path, target.path)) return false;
  if (match.method !== undefined && match.method !== target.method) return false;
  if (match.orderId !== undefined && match.orderId !== target.orderId) return false;
  if (match.last4 !== undefined && match.last4 !== target.last4) return false;
  if (match.nth !== undefined && match.nth !== target.nth) return false;
  if (match.share === undefined) return true;
  const subject = target.idempotencyKey ?? target.orderId ?? target.path;
  return unitInterval(`${match.seed ?? index}:${subject}`) < match.share;
}

function meetsPath(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}

/** The text's place in [0, 1): FNV-1a, with MurmurHash3's finalizer so that similar texts lie far apart. */
function unitInterval(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
