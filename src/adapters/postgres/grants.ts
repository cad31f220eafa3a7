/**
 * Least rights, for roles that the database's administrator has created: roles belong to the whole cluster, so no
 * migration creates any. Neither role can change the schema, delete or change what happened (order_events, audit_log),
 * or delete an order.
 */
import pg from 'pg';

import { connectClient, endClient, run } from './connection.ts';

export interface RoleNames {
  readonly worker?: string | undefined;
  readonly operator?: string | undefined;
}

/** Rights on each table of schema cardauth, '' for none; a table that is not named here is nobody's but the owner's. */
export const TABLE_RIGHTS: Readonly<Record<string, { readonly worker: string; readonly operator: string }>> =
  {
    schema_migrations: { worker: 'select', operator: 'select' },
    orders: { worker: 'select, insert, update', operator: 'select, insert, update' },
    // Written by triggers, as their owner.
    unfinished_orders: { worker: 'select', operator: 'select' },
    attempts: { worker: 'select, insert, update', operator: 'select, insert, update' },
    order_events: { worker: 'insert', operator: 'select, insert' },
    parked_orders: { worker: 'select, insert, update', operator: 'select, insert, update' },
    // The statement that records facts names this table, also when no operator has a part in them.
    audit_log: { worker: 'insert', operator: 'select, insert' },
    intake_control: { worker: 'select', operator: 'select, update' },
    replay_batches: { worker: '', operator: 'select, insert, update' },
    replay_members: { worker: '', operator: 'select, insert, update' },
    workers: { worker: 'select, insert, update, delete', operator: 'select' },
    retry_ledger: { worker: 'select, insert, update, delete', operator: 'select' },
    reconciliation_runs: { worker: '', operator: 'select, insert' },
    reconciliation_differences: { worker: '', operator: 'select, insert' },
  };

/** Sequences of identity columns need no right of their own. */
const SEQUENCES = ['worker_numbers'];

/** The statements, for people to read or to run. Throws a RangeError on a name that is no role's. */
export function grantStatements({ operator, worker }: RoleNames): string[] {
  if (worker !== undefined && worker === operator) {
    throw new RangeError(
      'worker and operator are two roles: the worker must not have the rights of an operator',
    );
  }
  return [
    ...(worker === undefined ? [] : statementsFor('worker', worker)),
    ...(operator === undefined ? [] : statementsFor('operator', operator)),
  ];
}

/** Takes away first, so that a role ends up with these rights and no others. */
function statementsFor(kind: 'worker' | 'operator', name: string): string[] {
  const role = roleIdentifier(name);
  return [
    `revoke all on all tables in schema cardauth from ${role}`,
    `revoke all on all sequences in schema cardauth from ${role}`,
    `revoke all on schema cardauth from ${role}`,
    `grant usage on schema cardauth to ${role}`,
    ...SEQUENCES.map((sequence) => `grant usage on sequence cardauth.${sequence} to ${role}`),
    ...Object.entries(TABLE_RIGHTS)
      .filter(([, rights]) => rights[kind] !== '')
      .map(([table, rights]) => `grant ${rights[kind]} on cardauth.${table} to ${role}`),
  ];
}

/** As the owner of the schema, in one transaction. Throws when a role does not exist. */
export async function applyGrants(options: {
  readonly url: string;
  readonly roles: RoleNames;
}): Promise<void> {
  const { roles, url } = options;
  const statements = grantStatements(roles);
  const client = await connectClient({
    databaseUrl: url,
    applicationName: 'cardauth migrate',
    wallMs: WALL_MS,
  });
  try {
    await requireRoles(client, roles);
    await run(client, ['begin', ...statements, 'commit'].join(';\n'));
  } finally {
    await endClient(client);
  }
}

const WALL_MS = 30_000;

async function requireRoles(client: pg.Client, { operator, worker }: RoleNames): Promise<void> {
  const names = [worker, operator].filter((name) => name !== undefined);
  const found = await run<{ rolname: string }>(
    client,
    'select rolname from pg_roles where rolname = any ($1)',
    [names],
  );
  const missing = names.filter((name) => !found.some(({ rolname }) => rolname === name));
  if (missing.length === 0) return;
  const create = missing.map((name) => `create role ${roleIdentifier(name)} login`).join('; ');
  throw new Error(
    `no role ${missing.join(' and no role ')} exists: have the administrator create it (${create})`,
  );
}

/** PostgreSQL cuts names at 63 bytes, and takes "public" for everybody even when it is quoted. */
function roleIdentifier(name: string): string {
  const isName = /^[^\p{Cc}\p{Cs}]+$/u.test(name) && Buffer.byteLength(name) <= 63;
  if (!isName || /^(public|none|pg_.*)$/.test(name)) {
    throw new RangeError('a role name is 1-63 printable bytes, not public, none or pg_...');
  }
  return pg.escapeIdentifier(name);
}
