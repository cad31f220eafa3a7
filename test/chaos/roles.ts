import pg from 'pg';
import { applyGrants } from '../../src/adapters/postgres/grants.ts';

/** Roles of the database, with the least rights. */
const ROLES = { worker: 'chaos_worker', operator: 'chaos_operator' } as const;
export type Role = keyof typeof ROLES;

/** The database at `url`, as each of them. */
export async function createRoles(url: string): Promise<Record<Role, string>> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    for (const role of Object.values(ROLES)) await client.query(`create role ${role} login`);
  } finally {
    await client.end();
  }
  await applyGrants({ url, roles: ROLES });
  const as = (role: string): string => Object.assign(new URL(url), { username: role }).href;
  return { worker: as(ROLES.worker), operator: as(ROLES.operator) };
}
