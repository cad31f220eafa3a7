import type { Availability } from '../ports/availability.ts';

/** Whether orders are being taken in, and if not, everything that stands in the way. */
export interface Readiness {
  readonly ready: boolean;
  /** `starting`, `running`, `draining`, `stopped`, ... */
  readonly state: string;
  /** One line each, e.g. `database: connection refused`. */
  readonly reasons: readonly string[];
}

/**
 * Ready: the process is `running`, everything it depends on is available, and nobody holds the intake.
 * `holds` are the names of what paused the intake, e.g. `operator`.
 */
export function readinessOf(parts: {
  readonly state: string;
  readonly dependencies: readonly Availability[];
  readonly holds?: readonly string[];
}): Readiness {
  const { state, dependencies, holds = [] } = parts;
  const unavailable = dependencies.flatMap((dependency) => {
    const why = dependency.unavailableBecause();
    return why === undefined ? [] : [`${dependency.name}: ${why}`];
  });
  const reasons = [
    ...(state === 'running' ? [] : [`the worker is ${state}`]),
    ...unavailable,
    ...holds.map((hold) => `the intake is held by: ${hold}`),
  ];
  return { ready: reasons.length === 0, state, reasons };
}
