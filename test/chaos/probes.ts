/** What must be refused, tried when the storm is over: changes of the audit log, and a configuration that cannot hold. */
import { join } from 'node:path';
import pg from 'pg';
import { waitFor } from '../support/wait-for.ts';
import { record } from './files.ts';
import type { Stage } from './stage.ts';

/** A line of probes.ndjson. */
export interface Probe {
  readonly about: 'audit log' | 'configuration';
  readonly what: string;
  /** The SQLSTATE or exit code of the refusal; `allowed` where there was none. */
  readonly answer: string;
}

const FORBIDDEN = [
  `update cardauth.audit_log set reason = 'another'`,
  'delete from cardauth.audit_log',
  'truncate cardauth.audit_log',
];
const EXIT_TIMEOUT_MS = 30_000;

export async function probe(stage: Stage): Promise<void> {
  const owner = stage.database.url;
  for (const [role, url] of Object.entries({ ...stage.databaseUrls, owner })) {
    for (const sql of FORBIDDEN) record(stage.folder, 'probes', await tried(`as ${role}: ${sql}`, url, sql));
  }
  record(stage.folder, 'probes', await startedWith(stage, { CARDAUTH_LEASE_MS: '60000' }));
}

async function tried(what: string, url: string, sql: string): Promise<Probe> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(sql);
    return { about: 'audit log', what, answer: 'allowed' };
  } catch (error) {
    return { about: 'audit log', what, answer: String((error as { code?: unknown }).code) };
  } finally {
    await client.end();
  }
}

/** A lease longer than the message timeout breaks what the promise stands on. */
async function startedWith(stage: Stage, broken: Readonly<Record<string, string>>): Promise<Probe> {
  const { cluster, databaseUrls, environment, folder, keeper, program } = stage;
  const worker = await keeper.spawn({
    command: process.execPath,
    args: [program, 'worker'],
    env: {
      ...process.env,
      ...environment,
      AMQP_URL: cluster.urls,
      DATABASE_URL: databaseUrls.worker,
      ...broken,
    },
    cwd: folder,
    logFile: join(folder, 'misconfigured.log'),
    stopSignals: ['SIGKILL'],
  });
  let answer = 'allowed';
  void worker.exited.then(({ code }) => (answer = String(code)));
  await waitFor('the misconfigured worker to end', () => answer !== 'allowed', {
    timeoutMs: EXIT_TIMEOUT_MS,
  }).catch(() => {
    process.kill(worker.pid, 'SIGKILL');
  });
  return { about: 'configuration', what: JSON.stringify(broken), answer };
}
