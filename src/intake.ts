import type { Availability } from './ports/availability.ts';
import type { Log } from './ports/log.ts';

/** What can be told to take in nothing new, for as long as any named reason is held. */
export interface Intake {
  pause(reason: string): void;
  resume(reason: string): void;
}

/**
 * Holds the intake while anything the worker depends on cannot be used: an outage must not run thousands of orders
 * through their replays. Returns the function that stops watching.
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
    if (why !== undefined && !held) {
      held = true;
      intake.pause(name);
      log.warn({ name, why }, 'intake held');
    } else if (why === undefined && held) {
      held = false;
      intake.resume(name);
      log.info({ name }, 'intake resumed');
    }
  };
  look();
  return dependency.onChange(look);
}
