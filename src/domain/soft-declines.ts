/**
 * Whether, and when, an order is tried again after a soft decline. A decline is a proven non-charge, so the next try
 * is a new authorization under a new key; what limits it are the card networks, which fine merchants that ask too
 * often, and the merchant's own waits.
 */
import type { Declined } from './outcome.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How often a network lets the same card be declined before each further try costs a fee. */
export interface NetworkCap {
  readonly network: 'visa' | 'mastercard';
  readonly tries: number;
  readonly withinMs: number;
  readonly source: string;
}

/**
 * The networks' rules are not public as such; these are acquirers' accounts of them, read in 2026-11. Where they differ
 * the stricter number stands here.
 */
export const NETWORK_CAPS: readonly NetworkCap[] = [
  {
    network: 'visa',
    tries: 15,
    withinMs: 30 * DAY_MS,
    source:
      'Worldpay, scheme codes: categories 2-4, 15 times over 30 days. Visa has allowed 20 since 2025-05 ' +
      '(Cielo, changelog; TabaPay, Visa Response Code Updates), but not all acquirers do.',
  },
  {
    network: 'mastercard',
    tries: 7,
    withinMs: DAY_MS,
    source:
      'Cielo and Payzu, card brands retry program: Transaction Processing Excellence, excessive attempts, ' +
      'from the 8th on since 2023-02. TabaPay and Dintero allow 10.',
  },
  {
    network: 'mastercard',
    tries: 35,
    withinMs: 30 * DAY_MS,
    source: 'TabaPay, Excessive Retry Rules: 35 declines of the same amount in 30 days.',
  },
];

/**
 * Tries of one order, whatever its network and however they are spread: a token hides the network, and the caps
 * count a card's tries for other orders, too, of which an order knows nothing.
 */
export const MOST_TRIES = Math.min(...NETWORK_CAPS.map(({ tries }) => tries));

/** No try later than this after the first soft decline. */
export const RETRIED_FOR_MS = Math.max(...NETWORK_CAPS.map(({ withinMs }) => withinMs));

/** The merchant's policy; without one, a soft decline denies the order like any other. */
export interface SoftDeclineRetry {
  /** Waits after the first, second, ... decline, in milliseconds; when they are used up, the order is denied. */
  readonly waitsMs: readonly number[];
}

export interface NextTry {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** When this order's tries end; stays the same from the first soft decline on. */
  readonly untilMs: number;
}

/**
 * When an order is tried again that was declined `declines` times, this one included; undefined: not any more.
 * `untilMs` is what its first soft decline came to, undefined at that one.
 */
export function nextTry(
  declined: Declined,
  soFar: { readonly declines: number; readonly untilMs: number | undefined },
  policy: SoftDeclineRetry,
  nowMs: number,
): NextTry | undefined {
  // A customer who must authenticate or correct the card is not there: asking again changes nothing.
  if (declined.class !== 'soft' || declined.reason !== 'card_declined') return undefined;
  const waitMs = policy.waitsMs[soFar.declines - 1];
  if (waitMs === undefined || soFar.declines >= MOST_TRIES) return undefined;
  const atMs = nowMs + Math.max(waitMs, declined.retryAfterMs ?? 0);
  const untilMs = soFar.untilMs ?? nowMs + RETRIED_FOR_MS;
  return atMs <= untilMs ? { atMs, untilMs } : undefined;
}
