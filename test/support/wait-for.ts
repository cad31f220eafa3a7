import { inspect } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  readonly timeoutMs?: number;
  readonly intervalMs?: number;
}

/**
 * Asks `condition` until it answers something truthy, and returns that. An error thrown by it counts as
 * "not yet". After `timeoutMs` it rejects, naming `description` and the last answer.
 */
export async function waitFor<T>(
  description: string,
  condition: () => T | Promise<T>,
  { timeoutMs = 10_000, intervalMs = 20 }: WaitOptions = {},
): Promise<NonNullable<T>> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask(condition);
    if ('value' in answer && answer.value) return answer.value;
    if (performance.now() >= deadlineMs) {
      const last = 'value' in answer ? inspect(answer.value) : `the error ${inspect(answer.error)}`;
      throw new Error(`waited ${timeoutMs} ms for ${description}; the last answer was ${last}`);
    }
    await sleep(intervalMs);
  }
}

async function ask<T>(condition: () => T | Promise<T>): Promise<{ value: T } | { error: unknown }> {
  try {
    return { value: await condition() };
  } catch (error) {
    return { error };
  }
}
