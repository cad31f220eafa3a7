import type pg from 'pg';
import { balance, type Books } from '../../src/demo/books.ts';
import { demoOrders } from '../../src/demo/orders.ts';
import type { ApprovalEntry, LedgerEntry } from '../../src/simulator/ledger.ts';
import { entriesOf } from './files.ts';
import type { JournalEntry } from './publisher-process.ts';
import type { Receipt } from './receiver-process.ts';
import { WORK_QUEUES, type Stage } from './stage.ts';

interface Flow {
  readonly journal: readonly JournalEntry[];
  readonly receipts: readonly Receipt[];
}

/** The books of the demo over a soak: ledger, database and receipts against each other. */
export async function soakBooks(stage: Stage, pool: pg.Pool, flow: Flow, count: number): Promise<Books> {
  const { journal, receipts } = flow;
  const amounts = new Map(demoOrders(count).map(({ amountMinor, messageId }) => [messageId, amountMinor]));
  const confirmed = new Map(
    journal
      .filter(({ outcome }) => outcome === 'confirmed')
      .map(({ messageId, orderId }) => [messageId, orderId]),
  );
  const queues = await stage.cluster.queues();
  const left = queues.filter(({ name }) => WORK_QUEUES.includes(name));
  return balance({
    published: [...confirmed].map(([messageId, orderId]) => ({
      messageId,
      orderId,
      amountMinor: amounts.get(messageId),
    })),
    approvals: entriesOf<LedgerEntry>(stage.folder, 'ledger').filter(
      (entry): entry is ApprovalEntry => entry.kind === 'approval',
    ),
    orders: await storedOrders(pool),
    receipts: receipts.map(({ body, eventId }) => ({
      orderId: body.orderId,
      eventId: eventId ?? '',
      status: body.status,
    })),
    parked: await parkedOrders(pool),
    leftOnQueues: left.reduce((sum, { messages }) => sum + messages, 0),
  });
}

interface StoredOrder {
  readonly order_id: string;
  readonly status: string;
  readonly amount_minor: string;
  readonly currency: string;
  readonly gateway_reference: string | null;
  readonly notified: boolean;
}

async function storedOrders(pool: pg.Pool) {
  const { rows } = await pool.query<StoredOrder>(`
    select order_id, status, amount_minor::text, currency, gateway_reference, notified_at is not null as notified
    from cardauth.orders`);
  return rows.map((row) => ({
    orderId: row.order_id,
    status: row.status,
    amountMinor: BigInt(row.amount_minor),
    currency: row.currency,
    gatewayReference: row.gateway_reference ?? undefined,
    notified: row.notified,
  }));
}

async function parkedOrders(pool: pg.Pool) {
  const { rows } = await pool.query<{ order_id: string | null; message_id: string | null }>(
    'select order_id, message_id from cardauth.parked_orders',
  );
  return rows.map((row) => ({
    orderId: row.order_id ?? undefined,
    messageId: row.message_id ?? undefined,
  }));
}
