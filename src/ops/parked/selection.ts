/** Which parked orders an operator means, and what is known of each. */
import { verdictOf, type MoneyVerdict } from '../../domain/money-moved.ts';
import { replayPlanOf, type ReplayPlan, type ReplayRules } from '../../domain/replay-plan.ts';
import type { FoundParked, ParkedFilter, ParkedPage, ParkedSearch } from '../../ports/parked-search.ts';

/** What a replay would be done by, beside the system of record's clock. */
export type ReplayTerms = Omit<ReplayRules, 'nowMs'>;

/** A parked order, whether its money has moved, and what its replay would come to. */
export interface JudgedParked {
  readonly found: FoundParked;
  readonly verdict: MoneyVerdict;
  readonly plan: ReplayPlan;
}

const PAGE_LENGTH = 1_000;
/** Bodies may have 64 KiB each. */
const PAGE_LENGTH_WITH_CONTENT = 100;

/** All that fit, page by page, the longest parked first. Not one snapshot: what changes meanwhile may be seen or not. */
export async function* eachParked(
  search: ParkedSearch,
  filter: Omit<ParkedFilter, 'limit' | 'after'>,
  terms: ReplayTerms,
): AsyncGenerator<JudgedParked, void> {
  const limit = filter.withContent === true ? PAGE_LENGTH_WITH_CONTENT : PAGE_LENGTH;
  for (let after: ParkedPage['end']; ;) {
    const page = await search.find({ ...filter, limit, after });
    for (const found of page.rows) yield judged(found, page, terms);
    if (page.end === undefined) return;
    after = page.end;
  }
}

export function judged(
  found: FoundParked,
  { livingWorkers, readAtMs: nowMs }: Pick<ParkedPage, 'livingWorkers' | 'readAtMs'>,
  terms: ReplayTerms,
): JudgedParked {
  const { order, earlierAttempts } = found;
  const isAlive = (worker: number): boolean => livingWorkers.has(worker);
  const verdict = verdictOf(order, earlierAttempts, { nowMs, isAlive });
  return { found, verdict, plan: replayPlanOf(found, order, verdict, { ...terms, nowMs }) };
}
