import { nextFraction, type RandomSource } from '../../src/topology/random.ts';
import { oneOf } from './faults.ts';
import type { WorkerSettings } from './worker.ts';

/** Two versions in half of the runs: each with settings of its own. */
export function settingsOf(count: number, random: RandomSource): WorkerSettings[] {
  const first = oneOf(VERSIONS, random);
  const isMixed = nextFraction(random) < 0.5;
  return Array.from({ length: count }, (_, at) => (at > 0 && isMixed ? oneOf(VERSIONS, random) : first));
}

export const VERSIONS = [
  {
    messageTimeoutMs: 30_000,
    leaseMs: 25_000,
    gatewayTimeoutMs: 8_000,
    maxSpoutPending: 8,
    maxAttempts: 5,
    softDeclineWaitsMs: undefined,
  },
  {
    messageTimeoutMs: 30_000,
    leaseMs: 25_000,
    gatewayTimeoutMs: 8_000,
    maxSpoutPending: 8,
    maxAttempts: 1,
    softDeclineWaitsMs: [5_000, 20_000],
  },
  {
    messageTimeoutMs: 20_000,
    leaseMs: 10_000,
    gatewayTimeoutMs: 4_000,
    maxSpoutPending: 2,
    maxAttempts: 2,
    softDeclineWaitsMs: undefined,
  },
] as const satisfies readonly WorkerSettings[];
