/** What operators see of all workers and all orders, and their switch of the intake, on a connection of its own. */
import type { IntakeControl } from '../../ports/intake-control.ts';
import type { Log } from '../../ports/log.ts';
import type { Overview } from '../../ports/overview.ts';
import type { WorkerReports } from '../../ports/worker-reports.ts';
import { Database } from './connection.ts';
import { createIntakeControl } from './intake-control.ts';
import { createOverview } from './overview.ts';
import { createWorkerReports } from './worker-reports.ts';

const WALL_MS = 30_000;
const CONNECT_WALL_MS = 5_000;

export interface PostgresFleet {
  readonly intake: IntakeControl;
  readonly workers: WorkerReports;
  readonly overview: Overview;
  close(): Promise<void>;
}

/** Connects when first asked. */
export function openFleet(options: { readonly databaseUrl: string; readonly log: Log }): PostgresFleet {
  const database = new Database({
    ...options,
    applicationName: 'cardauth status',
    wallMs: WALL_MS,
    connectWallMs: CONNECT_WALL_MS,
    connections: 1,
    settings: 'set jit = off',
  });
  return {
    intake: createIntakeControl(database),
    workers: createWorkerReports(database),
    overview: createOverview(database),
    close: () => database.close(),
  };
}
