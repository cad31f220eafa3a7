/** A gateway that wishes for more is asked again after this long all the same: one bad header must not stop orders. */
export const MAX_RETRY_AFTER_MS = 5 * 60_000;

/**
 * A `Retry-After` header in milliseconds: seconds or an HTTP date (RFC 9110, section 10.2.3), capped. undefined when
 * there is none or it is neither.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const wishMs = /^\d{1,10}$/.test(header) ? Number(header) * 1000 : dateMs(header) - nowMs;
  return Number.isNaN(wishMs) ? undefined : Math.min(Math.max(wishMs, 0), MAX_RETRY_AFTER_MS);
}

/** Only the fixed format of today's HTTP dates: `Date.parse` alone takes almost anything for one. */
function dateMs(text: string): number {
  return /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
}
