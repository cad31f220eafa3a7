import * as z from 'zod';
import type { BookFigures } from '../ports/overview.ts';

/**
 * The books of the orders that were admitted since a time:
 *
 *     received = ready + denied + parked + unknown + in flight
 *     approved = notified + to be notified
 *
 * `received`, `denied`, ... are counted in the orders, `ready` and `approved` in their authorizations: money that no
 * order knows of, and orders that ship without money, tear a hole.
 */
export const booksView = z.object({
  since: z.iso.datetime(),
  received: z.int(),
  ready: z.int().describe('by their approved authorization'),
  denied: z.int(),
  parked: z.int().describe('orders in review; messages that were never admitted are not among the received'),
  unknown: z.int(),
  inFlight: z.int(),
  approved: z.int(),
  notified: z.int(),
  toBeNotified: z.int(),
  balanced: z.boolean(),
  because: z.string().nullable().describe('what does not fit; null: everything does'),
});
export type BooksView = Readonly<z.infer<typeof booksView>>;

export function viewOfBooks(figures: BookFigures, sinceMs: number): BooksView {
  const { approved, approvedNotified, approvedToBeNotified, byStatus, received } = figures;
  const sides = {
    received,
    ready: approved,
    denied: byStatus.denied,
    parked: byStatus.review,
    unknown: byStatus['authorization-unknown'],
    inFlight: byStatus.received + byStatus.authorizing,
    approved,
    notified: approvedNotified,
    toBeNotified: approvedToBeNotified,
  };
  const because = discrepancy(sides, figures.contradictory);
  return { since: new Date(sinceMs).toISOString(), ...sides, balanced: because === null, because };
}

type Sides = Omit<BooksView, 'since' | 'balanced' | 'because'>;

function discrepancy(sides: Sides, contradictory: number): string | null {
  const { approved, denied, inFlight, notified, parked, ready, received, toBeNotified, unknown } = sides;
  const accountedFor = ready + denied + parked + unknown + inFlight;
  if (received !== accountedFor) return `${received} received, ${accountedFor} accounted for`;
  if (approved !== notified + toBeNotified)
    return `${approved} approved, ${notified} notified and ${toBeNotified} to be notified`;
  if (contradictory > 0) return `${contradictory} order(s) contradict their own authorizations`;
  return null;
}

export const rateView = z
  .object({
    firstAttempt: z.number().nullable().describe('approved by the first request'),
    eventual: z.number().nullable(),
  })
  .describe(
    'shares of 1, of the orders that the gateway was asked about and that are decided; null: there are none',
  );
export type RateView = Readonly<z.infer<typeof rateView>>;

/** An order that needed more than one claim was not approved on its first: it counts as asked, and not as approved. */
export function viewOfRate(figures: BookFigures): RateView {
  return {
    firstAttempt: share(figures.askedOnceApproved, figures.asked),
    eventual: share(figures.askedApproved, figures.asked),
  };
}

function share(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.round((part / whole) * 10_000) / 10_000;
}
