import { operatorCommand } from '../../domain/audit.ts';
import type { Log } from '../../ports/log.ts';
import type { ParkedDiscards } from '../../ports/parked-discards.ts';
import { Database } from './connection.ts';

const WALL_MS = 60_000;
const CONNECT_WALL_MS = 5_000;

/** Connects when first asked. */
export function openParkedDiscards(options: {
  readonly databaseUrl: string;
  readonly log: Log;
}): ParkedDiscards & { close(): Promise<void> } {
  const database = new Database({
    ...options,
    applicationName: 'cardauth parked',
    wallMs: WALL_MS,
    connectWallMs: CONNECT_WALL_MS,
    connections: 1,
    settings: 'set jit = off',
  });
  return {
    async discard(parkIds, command) {
      const { action, actor, commandId, reason } = operatorCommand(command);
      const values = [parkIds, commandId, actor, action, reason];
      const rows = await database.query<{ park_id: string }>(DISCARD, values);
      return rows.map((row) => row.park_id);
    },
    close: () => database.close(),
  };
}

const DISCARD = {
  name: 'discard parked orders',
  text: `
    with discarded as (
      update cardauth.parked_orders set state = 'discarded', closed_at = now()
      where park_id = any ($1::uuid[]) and state = 'parked'
      returning park_id, order_id
    ), audited as (
      insert into cardauth.audit_log (command_id, actor, action, reason, subject, before, after)
      select $2, $3, $4, $5, 'parked:' || park_id,
        jsonb_build_object('state', 'parked', 'orderId', order_id),
        jsonb_build_object('state', 'discarded', 'orderId', order_id)
      from discarded
    )
    select park_id from discarded`,
};
