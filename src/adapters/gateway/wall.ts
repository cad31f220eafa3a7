/**
 * When one call to the gateway ends, answered or not, in milliseconds of the process's monotonic clock. The requests
 * of a call share it. A number and no AbortSignal: a signal per request costs more than the rest of a request's
 * bookkeeping.
 */
export type Wall = number & { readonly unit: 'wall' };

export function wallIn(ms: number): Wall {
  return (performance.now() + ms) as Wall;
}

/** Zero or less once the wall is hit. */
export function leftBefore(wall: Wall): number {
  return wall - performance.now();
}
