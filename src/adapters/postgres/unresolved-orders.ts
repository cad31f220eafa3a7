/**
 * What the resolver is to look after, taken from the attempts that say when they are due. Taking is one statement; rows
 * that another worker is just taking or writing are skipped, never waited for. It only keeps two resolvers from doing
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
      select order_id, generation from cardauth.attempts
      where resolve_due_at <= now()
        and (lease_until is null or lease_until <= now())
        and (resolver_until is null or resolver_until <= now())
      order by resolve_due_at
      limit $1::int
      for update skip locked
    )
    update cardauth.attempts a
    set resolver_until = now() + $2::float8 * interval '1 millisecond'
    from due
    where a.order_id = due.order_id and a.generation = due.generation
    returning a.order_id`,
};
