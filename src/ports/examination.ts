/**
 * A look at something the worker depends on, before it is trusted or when something is wrong with it. It changes
 * nothing that belongs to anybody, publishes nothing that anybody receives, and never charges.
 */
export interface Examination {
  /** For people, e.g. `broker`. */
  readonly area: string;
  /**
   * Ends by itself: every question has a deadline. What cannot be examined is a finding; it rejects only on a bug.
   */
  examine(): Promise<readonly Finding[]>;
}

export interface Finding {
  /** Stable, for machines: `broker.alarms`. One check may have several findings. */
  readonly check: string;
  /** `skipped`: it could not be looked at, and `what` says why. */
  readonly status: FindingStatus;
  /** What was found, in one line, without secrets. */
  readonly what: string;
  /** What to do about it. */
  readonly remedy?: string;
  /** The service itself could not be reached, so that nothing else is known of it. */
  readonly isUnreachable?: true;
}

export type FindingStatus = 'ok' | 'skipped' | 'warning' | 'error';

/** Findings of one check, by status. */
export function findingsOf(check: string) {
  const finding =
    (status: FindingStatus) =>
    (what: string, remedy?: string): Finding => ({
      check,
      status,
      what,
      ...(remedy === undefined ? {} : { remedy }),
    });
  return {
    ok: finding('ok'),
    skipped: finding('skipped'),
    warning: finding('warning'),
    error: finding('error'),
    unreachable: (what: string, remedy?: string): Finding => ({
      ...finding('error')(what, remedy),
      isUnreachable: true,
    }),
  };
}
