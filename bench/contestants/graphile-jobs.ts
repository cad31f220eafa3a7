import { runMigrations } from 'graphile-worker';
import pg from 'pg';
import { orderNumber } from './order-message.ts';

export const JOB_NAME = 'authorize';
const JOBS_A_STATEMENT = 1_000;

/** Makes graphile-worker's schema in this database, and puts `count` orders into its table of jobs. */
export async function addJobs(databaseUrl: string, count: number): Promise<void> {
  await runMigrations({ connectionString: databaseUrl });
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    for (let first = 1; first <= count; first += JOBS_A_STATEMENT) {
      const length = Math.min(JOBS_A_STATEMENT, count - first + 1);
      const orders = Array.from({ length }, (_, n) => orderNumber(first + n));
      await client.query(ADD_JOBS, [JOB_NAME, JSON.stringify(orders)]);
    }
  } finally {
    await client.end();
  }
}

const ADD_JOBS = `
  select count(*) from graphile_worker.add_jobs(array(
    select json_populate_record(
      null::graphile_worker.job_spec,
      json_build_object('identifier', $1::text, 'payload', payload)
    )
    from json_array_elements($2::json) payload
  ))`;
