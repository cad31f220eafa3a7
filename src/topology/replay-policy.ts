import { nextFraction, type RandomSource } from './random.ts';
import type { TreeFailure } from './spout.ts';

/** How one class of errors is replayed. */
export interface BackoffRule {
  /** Ceiling of the first delay. */
  readonly baseMs: number;
  /** By which the ceiling grows with every further replay; 2 unless given. */
  readonly factor?: number;
  /** The ceiling never grows beyond this. */
  readonly capMs: number;
  /** Replays granted before the tuple is exhausted; Infinity for no end. */
  readonly maxReplays: number;
  /** False for failures that say nothing about the tuple itself: they do not use its replays up. Default true. */
  readonly isCounted?: boolean;
}

export interface ReplayRules {
  readonly otherwise: BackoffRule;
  /** Rules by `TreeFailure.errorClass`; asked for at the failure where it depends on what else goes wrong then. */
  readonly byErrorClass?: Readonly<Record<string, BackoffRule | (() => BackoffRule)>>;
  /** A bolt's own wish (`retryAfterMs`) is honoured up to this. */
  readonly longestRetryAfterMs?: number;
}

export type ReplayDecision =
  /** `replays` is how many the tuple has used once this one is made. */
  | { readonly kind: 'replay'; readonly delayMs: number; readonly replays: number }
  | { readonly kind: 'exhausted' };

const SHORTEST_DELAY_MS = 1;
const ONE_HOUR_MS = 3_600_000;

/**
 * Exponential backoff with full jitter (Brooker, "Exponential Backoff And Jitter", AWS 2015): the delay is uniform
 * in (0, ceiling], and the ceiling grows from `baseMs` to `capMs`. `replaysSoFar` is 0 at the first failure. A
 * bolt's `retryAfterMs` is a lower bound of the delay.
 */
export function decideReplay(
  rules: ReplayRules,
  failure: Pick<TreeFailure, 'errorClass' | 'retryAfterMs'>,
  replaysSoFar: number,
  random: RandomSource,
): ReplayDecision {
  const rule = ruleFor(rules, failure.errorClass);
  if (replaysSoFar >= rule.maxReplays) return { kind: 'exhausted' };
  const jitteredMs = Math.ceil((1 - nextFraction(random)) * backoffCeilingMs(rule, replaysSoFar));
  const wishedMs = wishOf(failure, rules.longestRetryAfterMs ?? ONE_HOUR_MS);
  const replays =
    rule.isCounted === false ? replaysSoFar : Math.min(replaysSoFar + 1, Number.MAX_SAFE_INTEGER);
  return { kind: 'replay', delayMs: Math.max(SHORTEST_DELAY_MS, jitteredMs, wishedMs), replays };
}

/** base * factor^replaysSoFar, saturating at the cap: an exponent of 10^6 gives the cap, never 0, NaN or Infinity. */
export function backoffCeilingMs(rule: BackoffRule, replaysSoFar: number): number {
  // Finite, because a base of 0 times Infinity would be NaN.
  const growth = Math.min(Number.MAX_VALUE, (rule.factor ?? 2) ** Math.max(replaysSoFar, 0));
  return Math.max(SHORTEST_DELAY_MS, Math.min(rule.capMs, rule.baseMs * growth));
}

/** Bolts take it from remote replies, so it may be anything. */
function wishOf({ retryAfterMs }: Pick<TreeFailure, 'retryAfterMs'>, longestMs: number): number {
  return retryAfterMs !== undefined && retryAfterMs > 0 ? Math.min(retryAfterMs, longestMs) : 0;
}

function ruleFor(rules: ReplayRules, errorClass: string): BackoffRule {
  const byErrorClass = rules.byErrorClass;
  if (byErrorClass === undefined || !Object.hasOwn(byErrorClass, errorClass)) return rules.otherwise;
  const rule = byErrorClass[errorClass] ?? rules.otherwise;
  return typeof rule === 'function' ? rule() : rule;
}
