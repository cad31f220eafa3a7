import pg from 'pg';
import type { OrderMessage } from './order-message.ts';

/** The table of the contestants that are not cardauth: what each of their three statements needs, and no more. */
export const ORDER_TABLE = `
  create table orders (
    order_id text primary key,
    customer_id text not null,
    amount_minor bigint not null,
    status text not null,
    gateway_reference text,
    created_at timestamptz not null default now(),
    decided_at timestamptz,
    notified_at timestamptz
  )`;

/** Three statements an order, each its own transaction, prepared once a connection. */
export interface OrderTable {
  /** Before the charge. */
  claim(order: OrderMessage): Promise<void>;
  /** After it. */
  recordApproval(orderId: number, reference: string): Promise<void>;
  /** After the announcement is confirmed. */
  markNotified(orderId: number): Promise<void>;
  close(): Promise<void>;
}

export function openOrderTable(pool: pg.Pool): OrderTable {
  const run = async (name: string, text: string, values: readonly unknown[]): Promise<void> => {
    const { rowCount } = await pool.query({ name, text, values: [...values] });
    if (rowCount !== 1)
      throw new Error(`${name} of order ${String(values[0])} changed ${rowCount ?? 0} rows`);
  };
  return {
    claim: ({ id, customerId, chargeAmount }) =>
      run(
        'claim',
        `insert into orders (order_id, customer_id, amount_minor, status)
         values ($1, $2, $3, 'authorizing')
         on conflict (order_id) do update set status = orders.status`,
        [id, customerId, Math.round(chargeAmount * 100)],
      ),
    recordApproval: (orderId, reference) =>
      run(
        'approval',
        `update orders set status = 'ready-to-ship', gateway_reference = $2, decided_at = now()
         where order_id = $1 and status in ('authorizing', 'ready-to-ship')`,
        [orderId, reference],
      ),
    markNotified: (orderId) =>
      run('mark', 'update orders set notified_at = clock_timestamp() where order_id = $1', [orderId]),
    close: () => pool.end(),
  };
}

/** A pool as large as helps: more connections share a flush of the disk, but each costs the server. */
export function openPool(databaseUrl: string, max: number): pg.Pool {
  return new pg.Pool({ connectionString: databaseUrl, max });
}
