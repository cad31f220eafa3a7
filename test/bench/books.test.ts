import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Contestant } from '../../bench/contestants/contestants.ts';
import { ORDER_TABLE } from '../../bench/contestants/order-table.ts';
import { judge, WrongResult, type JudgedBy } from '../../bench/stage/books.ts';
import { query } from '../../bench/stage/databases.ts';
import { createDatabase, type TestDatabase } from '../support/services.ts';

const ORDERS = 3;
const contestant: Contestant = {
  name: 'straightforward',
  share: 1,
  table: 'orders',
  template: 'orderTable',
  command: () => ({ args: [] }),
};

describe('what a contestant leaves behind', () => {
  let database: TestDatabase;
  before(async () => {
    database = await createDatabase();
    await query(database.url, ORDER_TABLE);
  });
  after(() => database.drop());
  beforeEach(async () => {
    await query(database.url, 'truncate orders');
    await query(
      database.url,
      `insert into orders (order_id, customer_id, amount_minor, status, notified_at)
       select n, 1, 100, 'ready-to-ship', now() from generate_series(1, ${ORDERS}) n`,
    );
  });

  const judgeAfter = (what: Partial<Left> = {}): Promise<void> =>
    judge(seenBy({ ...allDone, ...what }), { contestant, databaseUrl: database.url, orders: ORDERS });
  const isWrong = (because: RegExp) => (error: unknown) =>
    error instanceof WrongResult && because.test(error.message);

  it('is right when each order was charged once, recorded and announced', () => judgeAfter());

  it('is wrong when an order was not charged', () =>
    assert.rejects(judgeAfter({ charged: 2 }), isWrong(/2 of 3 orders were charged/)));

  it('is wrong when an order was charged under another key, too', () =>
    assert.rejects(judgeAfter({ chargedAgain: 1 }), isWrong(/1 charges too many/)));

  it('is wrong when an order was not announced, whatever else was announced twice', () =>
    assert.rejects(judgeAfter({ announced: ['1', '2', '2'] }), isWrong(/2 of 3 orders were announced/)));

  it('is wrong when an order was not taken off the queue', () =>
    assert.rejects(judgeAfter({ neverTaken: 1 }), isWrong(/1 orders were never taken/)));

  it('is wrong when an approval was not recorded', async () => {
    await query(database.url, `update orders set status = 'authorizing' where order_id = '2'`);
    await assert.rejects(judgeAfter(), isWrong(/2 of 3 orders are recorded/));
  });

  it('is wrong when an announcement was not marked', async () => {
    await query(database.url, `update orders set notified_at = null where order_id = '2'`);
    await assert.rejects(judgeAfter(), isWrong(/2 of 3 orders are recorded/));
  });
});

interface Left {
  readonly charged: number;
  readonly chargedAgain: number;
  readonly announced: readonly string[];
  readonly neverTaken: number;
}

const allDone: Left = { charged: ORDERS, chargedAgain: 0, announced: ['1', '2', '3', '3'], neverTaken: 0 };

function seenBy({ charged, chargedAgain, announced, neverTaken }: Left): JudgedBy {
  return {
    gateway: { counts: () => Promise.resolve({ orders: charged, chargedAgain, requests: charged }) },
    broker: {
      takeReceipts: () => Promise.resolve(announced.map((orderId) => ({ orderId, atMs: 0 }))),
      neverTaken: () => Promise.resolve(neverTaken),
    },
  };
}
