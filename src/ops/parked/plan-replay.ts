import * as z from 'zod';
import { isTaken } from '../../domain/replay-plan.ts';
import type { ParkedFilter, ParkedSearch } from '../../ports/parked-search.ts';
import { replayAction, type ReplayAction } from './parked-view.ts';
import { eachParked, type JudgedParked, type ReplayTerms } from './selection.ts';

const planLine = z.object({
  replay: replayAction,
  isTaken: z.boolean().describe('false: it is left parked'),
  count: z.int(),
  verdicts: z.record(z.string(), z.int()).describe('how many of each verdict: has money moved?'),
  example: z.string().describe('park id'),
  advice: z.string().nullable().describe('for the example, where it is left'),
});
type PlanLine = z.infer<typeof planLine>;

export const replayPlan = z.object({
  taken: z.int().describe('published, or closed where there is nothing to do'),
  left: z.int(),
  notParked: z
    .array(z.object({ parkId: z.string(), state: z.string() }))
    .describe('named ones that another replay has, or that are closed'),
  notFound: z.array(z.string()).describe('ids that are no parked order'),
  lines: z.array(planLine),
});
export type ReplayPlanView = z.infer<typeof replayPlan>;

export interface PlannedReplay {
  readonly view: ReplayPlanView;
  /** Park ids, the longest parked first. */
  readonly taken: readonly string[];
}

/** More at once have no need of being one batch. */
export const LARGEST_BATCH = 100_000;

/**
 * What the replay of a selection would come to, by action. Rejects with a RangeError when it is too large for one batch.
 */
export async function planReplay(
  search: ParkedSearch,
  filter: Omit<ParkedFilter, 'limit' | 'after'>,
  terms: ReplayTerms,
): Promise<PlannedReplay> {
  const taken: string[] = [];
  const notParked: ReplayPlanView['notParked'] = [];
  const notFound = new Set(filter.parkIds);
  const lines = new Map<ReplayAction, PlanLine>();
  for await (const one of eachParked(search, filter, terms)) {
    const { found, plan } = one;
    notFound.delete(found.parkId);
    if (found.state !== 'parked') {
      notParked.push({ parkId: found.parkId, state: found.state });
      continue;
    }
    if (isTaken(plan)) taken.push(found.parkId);
    if (taken.length > LARGEST_BATCH)
      throw new RangeError(`over ${LARGEST_BATCH} parked orders fit: select fewer for one batch`);
    lines.set(plan.action, withOneMore(lines.get(plan.action), one));
  }
  const counted = [...lines.values()].toSorted((one, other) => other.count - one.count);
  const left = counted.reduce((sum, line) => (line.isTaken ? sum : sum + line.count), notParked.length);
  return {
    taken,
    view: { taken: taken.length, left, notParked, notFound: [...notFound], lines: counted },
  };
}

function withOneMore(line: PlanLine | undefined, { found, plan, verdict }: JudgedParked): PlanLine {
  const before = line ?? {
    replay: plan.action,
    isTaken: isTaken(plan),
    count: 0,
    verdicts: {},
    example: found.parkId,
    advice: 'advice' in plan ? plan.advice : null,
  };
  const verdicts = { ...before.verdicts, [verdict.kind]: (before.verdicts[verdict.kind] ?? 0) + 1 };
  return { ...before, count: before.count + 1, verdicts };
}
