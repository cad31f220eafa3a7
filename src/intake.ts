import type { Availability } from './ports/availability.ts';
import type { Log } from './ports/log.ts';

/** What can be told how many orders may be at work at once, by as many as have a say in it: the lowest limit counts. */
export interface Intake {
  /** 0 stops it: nothing new is taken in. Infinity takes the limit away. */
  limit(reason: string, most: number): void;
}

/**
 * Holds the intake while anything the worker depends on cannot be used: an outage must not run thousands of orders
 * through their replays. What comes back step by step limits it for so long. Returns the function that stops watching.
 */
export function holdIntakeWhileUnavailable(
  intake: Intake,
  dependencies: readonly Availability[],
  log: Log,
): () => void {
  const stops = dependencies.map((dependency) => watch(intake, dependency, log));
  return () => {
    for (const stop of stops) stop();
  };
}

function watch(intake: Intake, dependency: Availability, log: Log): () => void {
  const { name } = dependency;
  let held = false;
  const look = (): void => {
    const why = dependency.unavailableBecause();
    intake.limit(name, mostInWork(dependency, why !== undefined));
    if (why !== undefined && !held) log.warn({ name, why }, 'intake held');
    if (why === undefined && held) log.info({ name }, 'intake resumed');
    held = why !== undefined;
  };
  look();
  return dependency.onChange(look);
}

function mostInWork(dependency: Availability, isUnavailable: boolean): number {
  return dependency.mostInWork?.() ?? (isUnavailable ? 0 : Infinity);
}
