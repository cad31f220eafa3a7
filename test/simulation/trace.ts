/** What happened, in its order: lines for people, or their hash only. */
export interface Trace {
  /** `what` is only called when lines are kept. */
  note(atMs: number, who: string, what: () => string): void;
  readonly lines: readonly string[];
}

export const NO_TRACE: Trace = { note: () => undefined, lines: [] };

/** Keeps every line. */
export function fullTrace(): Trace {
  const lines: string[] = [];
  return {
    lines,
    note(atMs, who, what) {
      lines.push(`${atMs.toFixed(3).padStart(12)}  ${who.padEnd(10)} ${what()}`);
    },
  };
}
