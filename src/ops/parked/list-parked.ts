import * as z from 'zod';
import type { ParkedFilter, ParkedPageEnd, ParkedSearch } from '../../ports/parked-search.ts';
import { detailOfParked, parkedView, viewOfParked, type ParkedDetail } from './parked-view.ts';
import { eachParked, judged, type ReplayTerms } from './selection.ts';

export const parkedList = z
  .object({
    parked: z.array(parkedView),
    next: z.string().nullable().describe('for --after; null: there are no more'),
  })
  .describe('a page of parked orders, the longest parked first');
export type ParkedList = z.infer<typeof parkedList>;

/** Rejects when the database cannot be used. */
export async function listParked(
  search: ParkedSearch,
  filter: ParkedFilter,
  terms: ReplayTerms,
): Promise<ParkedList> {
  const page = await search.find(filter);
  return {
    parked: page.rows.map((found) => viewOfParked(judged(found, page, terms))),
    next: page.end === undefined ? null : `${page.end.parkedAtUs}:${page.end.parkedId}`,
  };
}

/** Throws a RangeError unless it is what a page before ended with. */
export function parkedPageEnd(cursor: string): ParkedPageEnd {
  const [, parkedAtUs, parkedId] = /^(\d{1,17}):(\d{1,18})$/.exec(cursor) ?? [];
  if (parkedAtUs === undefined || parkedId === undefined)
    throw new RangeError('--after is what a page before named as the next one');
  return { parkedAtUs, parkedId };
}

/** undefined: there is none of that id. */
export async function showParked(
  search: ParkedSearch,
  parkId: string,
  terms: ReplayTerms,
): Promise<ParkedDetail | undefined> {
  const page = await search.find({ states: [], parkIds: [parkId], withContent: true, limit: 1 });
  const [found] = page.rows;
  return found && detailOfParked(judged(found, page, terms));
}

/** A selection, one after the other; memory does not grow with it. */
export async function* exportParked(
  search: ParkedSearch,
  filter: Omit<ParkedFilter, 'limit' | 'after'>,
  terms: ReplayTerms,
): AsyncGenerator<ParkedDetail, void> {
  for await (const one of eachParked(search, { ...filter, withContent: true }, terms)) {
    yield detailOfParked(one);
  }
}
