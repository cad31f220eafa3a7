/** What the checker found about one invariant: how many cases it looked at, and those that break it, in words. */
export interface Finding {
  /** As in the reliability design; `conduct`, ... where it has no number there. */
  readonly id: string;
  readonly title: string;
  readonly cases: number;
  readonly violations: readonly string[];
}

/** Looks at every case; `complain` says what is wrong with one. */
export function examine<Case>(
  id: string,
  title: string,
  cases: Iterable<Case>,
  complain: (one: Case) => string | undefined,
): Finding {
  const all = [...cases];
  return { id, title, cases: all.length, violations: all.flatMap((one) => complain(one) ?? []) };
}

export function grouped<T>(
  items: readonly T[],
  keyOf: (item: T) => string | null | undefined,
): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item) ?? '';
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

export function isTerminal(status: string | null | undefined): status is 'ready-to-ship' | 'denied' {
  return status === 'ready-to-ship' || status === 'denied';
}
