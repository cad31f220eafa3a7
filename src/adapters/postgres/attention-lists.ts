/** Orders that may need an operator: both lists are read from that of the unfinished ones, a page a statement. */
import type { Log } from '../../ports/log.ts';
import type { AttentionLists, ListedOrder, PageOfOrders } from '../../ports/attention-lists.ts';
import { Database } from './connection.ts';
import { ORDER_COLUMNS, storedOrder, UNFINISHED_ORDERS, type OrderRow } from './rows.ts';

const WALL_MS = 30_000;
const CONNECT_WALL_MS = 5_000;

export interface PostgresAttentionLists extends AttentionLists {
  close(): Promise<void>;
}

/** Connects when first asked. */
export function openAttentionLists(options: {
  readonly databaseUrl: string;
  readonly log: Log;
}): PostgresAttentionLists {
  const database = new Database({
    ...options,
    applicationName: 'cardauth lists',
    wallMs: WALL_MS,
    connectWallMs: CONNECT_WALL_MS,
    connections: 1,
    settings: 'set default_transaction_read_only = on',
  });
  return {
    async withoutVerdict(page) {
      const rows = await database.query<VerdictRow>(WITHOUT_VERDICT, pageValues(page));
      return rows.map((row) => ({
        ...listed(row),
        order: storedOrder(row),
        lastOutcome: row.last_outcome ?? undefined,
        detail: row.detail ?? undefined,
      }));
    },
    async unannounced(page) {
      const rows = await database.query<ListedRow>(UNANNOUNCED, pageValues(page));
      return rows.map((row) => ({ ...listed(row), order: storedOrder(row) }));
    },
    close: () => database.close(),
  };
}

type ListedRow = OrderRow & { readonly since_us: string };
type VerdictRow = ListedRow & { readonly last_outcome: string | null; readonly detail: string | null };

/** Microseconds, as the database keeps them: with less, the next page would begin too early or too late. */
const AS_MICROSECONDS = (column: string) =>
  `(extract(epoch from ${column}) * 1000000)::bigint::text as since_us`;

const AFTER = (column: string) => `
      ($1::float8 is null
        or (${column}, o.order_id) > (timestamptz 'epoch' + $1::float8 * interval '1 millisecond', $2::text))
    order by ${column}, o.order_id
    limit $3::int`;

const WITHOUT_VERDICT = {
  name: 'list orders without a verdict',
  text: `
    select o.order_id, ${ORDER_COLUMNS}, ${AS_MICROSECONDS('o.created_at')}, a.last_outcome, a.detail
    from ${UNFINISHED_ORDERS} o
    left join cardauth.attempts a on a.order_id = o.order_id and a.generation = o.generation
    where o.status in ('authorizing', 'authorization-unknown', 'review')
      and (o.status <> 'authorizing' or a.lease_until is null or a.lease_until <= now()) and ${AFTER('o.created_at')}`,
};

const UNANNOUNCED = {
  name: 'list unannounced orders',
  text: `
    select o.order_id, ${ORDER_COLUMNS}, ${AS_MICROSECONDS('o.decided_at')}
    from ${UNFINISHED_ORDERS} o
    left join cardauth.attempts a on a.order_id = o.order_id and a.generation = o.generation
    where o.status in ('ready-to-ship', 'denied') and ${AFTER('o.decided_at')}`,
};

function pageValues({ limit, after }: PageOfOrders): unknown[] {
  return [after?.sinceMs, after?.orderId, limit];
}

function listed(row: ListedRow): ListedOrder {
  return { orderId: row.order_id, sinceMs: Number(row.since_us) / 1000 };
}
