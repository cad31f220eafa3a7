/** What a worker needs of the database, asked on one connection that cannot write. */
import type pg from 'pg';

import { findingsOf, type Examination, type Finding } from '../../ports/examination.ts';
import type { Clock } from '../../topology/clock.ts';
import { connectClient, endClient, run } from './connection.ts';
import { fromDatabase } from './database-error.ts';
import { examineBacklog } from './examine-backlog.ts';
import { examineRights } from './examine-rights.ts';
import { migrationStatus } from './migrate.ts';

export interface DatabaseExaminationOptions {
  readonly databaseUrl: string;
  readonly clock: Pick<Clock, 'wallMs'>;
}

const WALL_MS = 10_000;
const CONNECT_WALL_MS = 5_000;
/** Leases are compared by the database's clock alone; people compare logs by both. */
const LARGEST_SKEW_MS = 2_000;
/** The oldest version that the migrations were tried on. */
const OLDEST_VERSION = 130_000;

export function databaseExamination(options: DatabaseExaminationOptions): Examination {
  return {
    area: 'database',
    async examine() {
      let client: pg.Client;
      try {
        client = await connectClient({
          databaseUrl: options.databaseUrl,
          applicationName: 'cardauth doctor',
          wallMs: WALL_MS,
          connectWallMs: CONNECT_WALL_MS,
        });
      } catch (error) {
        return [connectionFinding(fromDatabase(error).message)];
      }
      try {
        return await examineConnected(client, options);
      } finally {
        await endClient(client);
      }
    },
  };
}

/** SQLSTATEs of a server that answered and said no. */
const REFUSALS = /\((28000|28P01|3D000)\)/;

function connectionFinding(trouble: string): Finding {
  const { error, unreachable } = findingsOf('database.reachable');
  return REFUSALS.test(trouble)
    ? error(trouble, 'correct user, password or database in DATABASE_URL')
    : unreachable(trouble, 'bring it back, or correct DATABASE_URL');
}

async function examineConnected(
  client: pg.Client,
  options: DatabaseExaminationOptions,
): Promise<readonly Finding[]> {
  const state = await asked('database.reachable', () => examineServer(client, options.clock));
  await run(client, 'set default_transaction_read_only = on');
  const schema = await asked('database.schema', () => examineSchema(options.databaseUrl));
  if (schema.some(({ status }) => status === 'error')) return [...state, ...schema];
  return [
    ...state,
    ...schema,
    ...(await asked('database.rights', () => examineRights(client))),
    ...(await examineBacklog(client)),
  ];
}

/** A question that the database refuses to answer is a finding like any other. */
async function asked(check: string, ask: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await ask();
  } catch (error) {
    return [findingsOf(check).error(fromDatabase(error).message)];
  }
}

interface ServerRow {
  readonly version_number: number;
  readonly version: string;
  readonly now_ms: number;
  readonly read_only: boolean;
  readonly fsync: string;
  readonly full_page_writes: string;
  readonly synchronous_commit: string;
}

const SERVER = `
  select
    current_setting('server_version_num')::int as version_number,
    current_setting('server_version') as version,
    extract(epoch from clock_timestamp())::float8 * 1000 as now_ms,
    current_setting('transaction_read_only') = 'on' as read_only,
    current_setting('fsync') as fsync,
    current_setting('full_page_writes') as full_page_writes,
    current_setting('synchronous_commit') as synchronous_commit`;

async function examineServer(client: pg.Client, clock: Pick<Clock, 'wallMs'>): Promise<readonly Finding[]> {
  const askedAtMs = clock.wallMs();
  const [server] = await run<ServerRow & pg.QueryResultRow>(client, SERVER);
  if (server === undefined) return [findingsOf('database.reachable').error('it answered with nothing')];
  const oursMs = (askedAtMs + clock.wallMs()) / 2;
  return [
    versionFinding(server),
    server.read_only
      ? findingsOf('database.writable').error(
          'it is read-only: is this a standby?',
          'point DATABASE_URL at the primary',
        )
      : findingsOf('database.writable').ok('it takes writes'),
    ...durabilityFindings(server),
    clockFinding(server.now_ms - oursMs),
  ];
}

function versionFinding({ version, version_number }: ServerRow): Finding {
  const { ok, warning } = findingsOf('database.reachable');
  return version_number >= OLDEST_VERSION
    ? ok(`PostgreSQL ${version} answers`)
    : warning(`PostgreSQL ${version} is older than 13, on which nothing was tried`, 'upgrade it');
}

/** A commit that is reported and then lost lets an order be charged again. */
function durabilityFindings(server: ServerRow): readonly Finding[] {
  const { ok, warning, error } = findingsOf('database.durability');
  const off = (['fsync', 'full_page_writes'] as const).filter((name) => server[name] === 'off');
  const findings = off.map((name) =>
    error(`${name} is off: a crash of the server loses or garbles what it confirmed`, `set ${name} = on`),
  );
  if (server.synchronous_commit === 'off') {
    const what = 'synchronous_commit is off by default; a worker turns it on for its own sessions';
    findings.push(warning(what, 'set synchronous_commit = on for the role'));
  }
  return findings.length > 0 ? findings : [ok('what it commits survives a crash')];
}

function clockFinding(skewMs: number): Finding {
  const { ok, warning } = findingsOf('database.clock');
  const text = `its clock and this machine's differ by ${Math.round(Math.abs(skewMs))} ms`;
  return Math.abs(skewMs) <= LARGEST_SKEW_MS ? ok(text) : warning(text, 'synchronize both with NTP');
}

async function examineSchema(url: string): Promise<readonly Finding[]> {
  const { ok, error } = findingsOf('database.schema');
  const { applied, pending, problem } = await migrationStatus({ url });
  if (problem !== undefined) return [error(problem)];
  if (pending.length === 0) return [ok(`all ${applied.length} migrations are applied`)];
  const what = `${pending.length} of ${applied.length + pending.length} migrations are not applied`;
  return [error(what, 'cardauth migrate up')];
}
