import pg from 'pg';
import { waitFor } from '../support/wait-for.ts';
import type { Stage } from './stage.ts';

/** A lock in the database that a test holds, so that a worker stands still right before a write. */
export interface HeldLock {
  /** Resolves when a worker waits for it. */
  somebodyWaits(): Promise<void>;
  release(): Promise<void>;
  /**
   * Ends the sessions of the killed worker, whose statement would still be carried out once the lock is gone, and then
   * lets the lock go: what the worker had not committed is not committed.
   */
  releaseAfterKill(): Promise<void>;
}

export function lockOrders(stage: Stage): Promise<HeldLock> {
  return holdLock(stage, 'lock table cardauth.orders in access exclusive mode', []);
}

export function lockOrder(stage: Stage, id: string): Promise<HeldLock> {
  return holdLock(stage, 'select from cardauth.orders where order_id = $1 for update', [id]);
}

const WAITING_WORKER =
  "wait_event_type = 'Lock' and application_name like 'cardauth%' and datname = current_database()";

async function holdLock(stage: Stage, sql: string, parameters: string[]): Promise<HeldLock> {
  const session = new pg.Client({ connectionString: stage.databaseUrl });
  // The stage's end drops the database and this session with it.
  session.on('error', () => undefined);
  await session.connect();
  await session.query('begin');
  await session.query(sql, parameters);
  const release = () => session.end();
  return {
    somebodyWaits: async () => {
      await waitFor('a worker to wait for the lock', async () => {
        const { rowCount } = await stage.database.query(
          `select from pg_stat_activity where ${WAITING_WORKER}`,
        );
        return rowCount !== 0;
      });
    },
    release,
    async releaseAfterKill() {
      await stage.database.query(
        `select pg_terminate_backend(pid, 5000) from pg_stat_activity where ${WAITING_WORKER}`,
      );
      await release();
    },
  };
}
