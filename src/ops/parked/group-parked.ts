import * as z from 'zod';
import type { ParkedFilter, ParkedSearch } from '../../ports/parked-search.ts';
import { eachParked, type JudgedParked, type ReplayTerms } from './selection.ts';

const count = z.int().nonnegative();

const parkedGroup = z.object({
  cause: z.string().describe('for --group'),
  reason: z.string(),
  class: z.string(),
  count,
  firstParkedAt: z.iso.datetime(),
  lastParkedAt: z.iso.datetime(),
  example: z.string().describe('park id of the longest parked one'),
  replayable: count.describe('whose message is still there'),
  verdicts: z.record(z.string(), count).describe('how many of each verdict: has money moved?'),
  replay: z.record(z.string(), count).describe('how many of each action that a replay would be'),
});
export type ParkedGroup = z.infer<typeof parkedGroup>;

export const parkedGroups = z
  .object({ groups: z.array(parkedGroup) })
  .describe('parked orders by cause, the largest group first');

/** Causes are words and masks; with more of them than this they would no longer group. */
const MOST_GROUPS = 10_000;

/** Rejects when the database cannot be used, and with a RangeError where there are too many causes. */
export async function groupParked(
  search: ParkedSearch,
  filter: Omit<ParkedFilter, 'limit' | 'after'>,
  terms: ReplayTerms,
): Promise<{ readonly groups: readonly ParkedGroup[] }> {
  const groups = new Map<string, ParkedGroup>();
  for await (const one of eachParked(search, filter, terms)) {
    const { cause } = one.found;
    groups.set(cause, grown(groups.get(cause), one));
    if (groups.size > MOST_GROUPS)
      throw new RangeError(`over ${MOST_GROUPS} causes: select fewer parked orders`);
  }
  return { groups: [...groups.values()].toSorted((one, other) => other.count - one.count) };
}

/** The longest parked one comes first. */
function grown(group: ParkedGroup | undefined, { found, verdict, plan }: JudgedParked): ParkedGroup {
  const parkedAt = new Date(found.parkedAtMs).toISOString();
  const before = group ?? {
    cause: found.cause,
    reason: found.reason,
    class: found.class,
    count: 0,
    firstParkedAt: parkedAt,
    lastParkedAt: parkedAt,
    example: found.parkId,
    replayable: 0,
    verdicts: {},
    replay: {},
  };
  return {
    ...before,
    count: before.count + 1,
    lastParkedAt: parkedAt,
    replayable: before.replayable + (found.replayFrom === undefined ? 0 : 1),
    verdicts: countedIn(before.verdicts, verdict.kind),
    replay: countedIn(before.replay, plan.action),
  };
}

function countedIn(counts: Readonly<Record<string, number>>, name: string): Record<string, number> {
  return { ...counts, [name]: (counts[name] ?? 0) + 1 };
}
