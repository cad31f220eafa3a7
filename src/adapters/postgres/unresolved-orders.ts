/**
 * What the resolver is to look after, taken from the attempts that say when they are due. Taking is one statement; rows
 * that another worker is just taking or writing are skipped, never waited for. What was due for a generation before the
 * order's own is over with it, and is taken off the schedule. It only keeps two resolvers from doing
 * the same work: what they find out goes through the order book, whose rules do not depend on it.
 */
import type { OrderId } from '../../domain/order.ts';
import type { Log } from '../../ports/log.ts';
import type { UnresolvedOrders } from '../../ports/unresolved-orders.ts';
import { pgDriver, POINT_ACCESS_SETTINGS, type Driver } from './connection.ts';

const WALL_MS = 5_000;

export interface PostgresUnresolvedOrders extends UnresolvedOrders {
  close(): Promise<void>;
}

/** Connects when first asked. A taken order is nobody else's for `holdMs`. */
export function openUnresolvedOrders(options: {
  readonly databaseUrl: string;
  readonly holdMs: number;
  readonly log: Log;
  /** `pg` unless given. */
  readonly driver?: Driver | undefined;
}): PostgresUnresolvedOrders {
  const { databaseUrl, driver = pgDriver, holdMs, log } = options;
  const database = driver.openPool({
    databaseUrl,
    applicationName: 'cardauth resolver',
    wallMs: WALL_MS,
    connections: 1,
    settings: POINT_ACCESS_SETTINGS,
    log,
  });
  return {
    async take(most) {
      const rows = await database.query<{ order_id: OrderId }>(TAKE, [most, holdMs]);
      return rows.map((row) => row.order_id);
    },
    close: () => database.close(),
  };
}

const TAKE = {
  name: 'take unresolved orders',
  text: `
    with due as materialized (
      select a.order_id, a.generation,
        a.generation < o.generation and a.void_state is distinct from 'due' as is_superseded
      from cardauth.attempts a join cardauth.orders o on o.order_id = a.order_id
      where a.resolve_due_at <= now()
        and (a.lease_until is null or a.lease_until <= now())
        and (a.resolver_until is null or a.resolver_until <= now())
      order by a.resolve_due_at
      limit $1::int
      for update of a skip locked
    )
    update cardauth.attempts a set
      resolver_until = now() + $2::float8 * interval '1 millisecond',
      resolve_due_at = case when due.is_superseded then null else a.resolve_due_at end
    from due
    where a.order_id = due.order_id and a.generation = due.generation
    returning a.order_id`,
};
