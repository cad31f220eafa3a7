import type { Counter } from './rolling-windows.ts';

/** Something that broke its contract without a tuple to fail for it; the runtime goes on. */
export interface Problem {
  readonly component: string;
  /** What was being done, e.g. `spout.ack`, `tick`, `cleanup`. */
  readonly during: string;
  readonly error: unknown;
}

export type ReportProblem = (problem: Problem) => void;

/** Counts every problem and hands it on; a listener that throws is not listened to. */
export function problemReporter(counter: Counter, onProblem: ReportProblem | undefined): ReportProblem {
  return (problem) => {
    counter.value++;
    try {
      onProblem?.(problem);
    } catch {
      // There is nobody left to tell; the counter has it.
    }
  };
}
