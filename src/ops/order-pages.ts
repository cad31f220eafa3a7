import type { ListedOrder } from '../ports/attention-lists.ts';

/** A page of an operator's list; `after` is `next` of the page before. */
export interface ListRequest {
  readonly limit: number;
  readonly after: string | undefined;
}

/** `<milliseconds>:<order id>`. Throws a RangeError on anything else. */
export function orderCursor(text: string | undefined): ListedOrder | undefined {
  if (text === undefined) return undefined;
  const [, sinceMs, orderId] = /^(\d{1,15}(?:\.\d{1,6})?):([!-~]{1,128})$/.exec(text) ?? [];
  if (sinceMs === undefined || orderId === undefined)
    throw new RangeError('--after is what a page before named as the next one');
  return { sinceMs: Number(sinceMs), orderId };
}

export function nextCursor(found: readonly ListedOrder[], limit: number): string | null {
  const last = found[limit - 1];
  return last === undefined ? null : `${last.sinceMs}:${last.orderId}`;
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
