import type { Examination, Finding, FindingStatus } from '../ports/examination.ts';

/**
 * What `cardauth doctor --json` prints; fields are only ever added, and so are checks.
 *
 * - `status`: the worst of the findings; `skipped` counts as `ok`
 * - `unreachable`: the areas that could not be reached at all
 * - `findings`: in the order of their areas; `remedy` is null where there is nothing to do
 */
export interface DoctorReport {
  readonly status: 'ok' | 'warning' | 'error';
  readonly unreachable: readonly string[];
  readonly counts: Readonly<Record<FindingStatus, number>>;
  readonly findings: readonly FindingView[];
}

export interface FindingView {
  readonly area: string;
  readonly check: string;
  readonly status: FindingStatus;
  readonly what: string;
  readonly remedy: string | null;
}

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
