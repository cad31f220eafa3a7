import type { Log } from '../../src/ports/log.ts';

/** A log that keeps nothing. */
export const silent: Log = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing };

function nothing(): void {
  // On purpose.
}
