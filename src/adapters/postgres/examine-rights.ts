import type pg from 'pg';

import { findingsOf, type Finding } from '../../ports/examination.ts';
import { run } from './connection.ts';

interface TableRow {
  readonly name: string;
  readonly may_select: boolean;
  readonly may_insert: boolean;
  readonly may_update: boolean;
  /** update, delete or truncate. */
  readonly may_rewrite: boolean;
  readonly is_owned: boolean;
}

interface RoleRow {
  readonly role: string;
  readonly is_superuser: boolean;
  readonly may_create: boolean;
  readonly may_number: boolean;
}

const TABLES = `
  select c.relname as name,
    has_table_privilege(c.oid, 'select') as may_select,
    has_table_privilege(c.oid, 'insert') as may_insert,
    has_table_privilege(c.oid, 'update') as may_update,
    has_table_privilege(c.oid, 'update') or has_table_privilege(c.oid, 'delete')
      or has_table_privilege(c.oid, 'truncate') as may_rewrite,
    pg_has_role(c.relowner, 'usage') as is_owned
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = 'cardauth' and c.relkind in ('r', 'p')
  order by c.relname`;

const ROLE = `
  select current_user::text as role,
    (select rolsuper from pg_roles where rolname = current_user) as is_superuser,
    has_schema_privilege('cardauth', 'create') as may_create,
    has_sequence_privilege('cardauth.worker_numbers', 'usage') as may_number`;

/** Tables that only ever grow; their triggers refuse the rest, and so should the grants. */
const APPEND_ONLY = ['audit_log', 'order_events'];
/** Written by migrations or triggers alone. */
const READ_ONLY = ['schema_migrations', 'unfinished_orders'];
/** What a worker cannot do without, whatever else there is. */
const WRITTEN_BY_WORKERS = ['attempts', 'order_events', 'orders'];

/** Whether the role may do what a worker does, and no more than that. */
export async function examineRights(client: pg.Client): Promise<readonly Finding[]> {
  const tables = await run<TableRow & pg.QueryResultRow>(client, TABLES);
  const [role] = await run<RoleRow & pg.QueryResultRow>(client, ROLE);
  if (role === undefined) return [findingsOf('database.rights').error('it does not say who we are')];
  return [...missingRights(role, tables), ...excessRights(role, tables)];
}

function missingRights({ role, may_number }: RoleRow, tables: readonly TableRow[]): readonly Finding[] {
  const { ok, error, warning } = findingsOf('database.rights');
  const grants = tables.flatMap(missingGrants);
  const findings = grants.map(({ table, privileges }) => {
    const text = `role ${role} may not ${privileges.join(' or ')} on cardauth.${table}`;
    const remedy = `grant ${privileges.join(', ')} on cardauth.${table} to ${role}`;
    return WRITTEN_BY_WORKERS.includes(table) ? error(text, remedy) : warning(text, remedy);
  });
  if (!may_number) {
    const text = `role ${role} may not use the sequence cardauth.worker_numbers`;
    findings.push(error(text, `grant usage on sequence cardauth.worker_numbers to ${role}`));
  }
  return findings.length > 0 ? findings : [ok(`role ${role} may read and write what a worker does`)];
}

function missingGrants(table: TableRow): { table: string; privileges: readonly string[] }[] {
  const { name, may_select, may_insert, may_update } = table;
  const privileges = [
    ...(may_select ? [] : ['select']),
    ...(may_insert || READ_ONLY.includes(name) ? [] : ['insert']),
    ...(may_update || READ_ONLY.includes(name) || APPEND_ONLY.includes(name) ? [] : ['update']),
  ];
  return privileges.length === 0 ? [] : [{ table: name, privileges }];
}

function excessRights(role: RoleRow, tables: readonly TableRow[]): readonly Finding[] {
  const { ok, warning } = findingsOf('database.excess-rights');
  const { role: name } = role;
  const remedy = 'run migrations as another role, which owns the schema, and workers as one with grants only';
  if (role.is_superuser) return [warning(`role ${name} is a superuser`, remedy)];
  const findings: Finding[] = [];
  if (role.may_create || tables.some(({ is_owned }) => is_owned)) {
    findings.push(warning(`role ${name} may change the schema`, remedy));
  }
  for (const table of tables) {
    if (!APPEND_ONLY.includes(table.name) || !table.may_rewrite) continue;
    const text = `role ${name} may update, delete or truncate cardauth.${table.name}, which only ever grows`;
    findings.push(warning(text, `revoke update, delete, truncate on cardauth.${table.name} from ${name}`));
  }
  return findings.length > 0 ? findings : [ok(`role ${name} has no more rights than it needs`)];
}
