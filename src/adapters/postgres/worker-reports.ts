import type { WorkerRecord, WorkerReport, WorkerReports } from '../../ports/worker-reports.ts';
import type { Database } from './connection.ts';
import { asMs } from './rows.ts';
import { livingWorkers } from './worker-session.ts';

const LIST = {
  name: 'list workers',
  text: `
    select worker, host, pid, version, ${asMs('started_at')}, ${asMs('seen_at')}, report
    from cardauth.workers order by worker`,
};

interface WorkerRow {
  readonly worker: number;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly started_at_ms: number;
  readonly seen_at_ms: number;
  readonly report: WorkerReport;
}

/** Whether a worker lives is told by its advisory lock, never by the age of its report. */
export function createWorkerReports(database: Database): WorkerReports {
  return {
    async list() {
      const rows = await database.query<WorkerRow>(LIST, []);
      const living = await livingWorkers(database, new Set(rows.map(({ worker }) => worker)));
      return rows.map((row) => workerRecord(row, living.has(row.worker)));
    },
  };
}

function workerRecord(row: WorkerRow, isAlive: boolean): WorkerRecord {
  const { host, pid, report, version, worker } = row;
  return {
    worker,
    host,
    pid,
    version,
    startedAtMs: Math.round(row.started_at_ms),
    seenAtMs: Math.round(row.seen_at_ms),
    isAlive,
    report,
  };
}
