import * as z from 'zod';
import type { Examination, Finding, FindingStatus } from '../ports/examination.ts';
import type { DeepReadonly } from './deep-readonly.ts';

const count = z.int().nonnegative();

const findingView = z.object({
  area: z.string(),
  check: z.string().describe('stable, such as broker.alarms; checks are added'),
  status: z.enum(['ok', 'skipped', 'warning', 'error']).describe('skipped: it could not be looked at'),
  what: z.string().describe('what was found, in one line'),
  remedy: z.string().nullable().describe('what to do; null: nothing'),
});
export type FindingView = Readonly<z.infer<typeof findingView>>;

/** What `cardauth doctor --json` prints. */
export const doctorReport = z
  .object({
    status: z.enum(['ok', 'warning', 'error']).describe('the worst of the findings; skipped counts as ok'),
    unreachable: z.array(z.string()).describe('the areas that could not be reached at all'),
    counts: z.object({ ok: count, warning: count, error: count, skipped: count }),
    findings: z.array(findingView).describe('in the order of their areas'),
  })
  .describe('whether everything a worker depends on is as it has to be');
export type DoctorReport = DeepReadonly<z.infer<typeof doctorReport>>;

/** Runs all examinations at once. One that breaks is an error in the report and does not spoil the others. */
export async function examineAll(examinations: readonly Examination[]): Promise<DoctorReport> {
  const results = await Promise.all(
    examinations.map(async (examination) => ({
      area: examination.area,
      findings: await findingsOf(examination),
    })),
  );
  const views = results.flatMap(({ area, findings }) => findings.map((finding) => viewOf(area, finding)));
  return {
    ...summaryOf(views),
    unreachable: results
      .filter(({ findings }) => findings.some(({ isUnreachable }) => isUnreachable))
      .map(({ area }) => area),
    findings: views,
  };
}

/** For findings that need no examination. */
export function reportOf(area: string, findings: readonly Finding[]): DoctorReport {
  const views = findings.map((finding) => viewOf(area, finding));
  return { ...summaryOf(views), unreachable: [], findings: views };
}

async function findingsOf(examination: Examination): Promise<readonly Finding[]> {
  const { area } = examination;
  try {
    return await examination.examine();
  } catch (error) {
    // Its text may quote anything; the name of a bug is enough to report it by.
    const name = error instanceof Error ? error.name : typeof error;
    const what = `the ${area} could not be examined: ${name}`;
    return [{ check: `${area}.examination`, status: 'error', what, remedy: 'report this as a bug' }];
  }
}

function viewOf(area: string, { check, status, what, remedy }: Finding): FindingView {
  return { area, check, status, what, remedy: remedy ?? null };
}

function summaryOf(views: readonly FindingView[]): Pick<DoctorReport, 'status' | 'counts'> {
  const count = (status: FindingStatus) => views.filter((view) => view.status === status).length;
  const counts = {
    ok: count('ok'),
    warning: count('warning'),
    error: count('error'),
    skipped: count('skipped'),
  };
  const status = counts.error > 0 ? 'error' : counts.warning > 0 ? 'warning' : 'ok';
  return { status, counts };
}
