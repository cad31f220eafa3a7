/** Messages that are made to hurt: each is parked or read for what it is, and the orders behind it are not held up. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { orderText } from '../domain/order-text.ts';
import { waitFor } from '../support/wait-for.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import type { ParkedRow } from './parked-orders.ts';
import { newOrderId, openStage, orderJson, suiteOwner, type Stage } from './stage.ts';

const SIXTEEN_MB = 16 * 1024 * 1024;

const HOSTILE: readonly (readonly [what: string, reason: string, body: Buffer | string])[] = [
  ['16 MB of an order', 'too_large', orderText({ note: `"${'x'.repeat(SIXTEEN_MB)}"` })],
  ['a million keys', 'too_large', `{${Array.from({ length: 1e6 }, (_, n) => `"${n}":0`).join(',')}}`],
  ['20,000 levels', 'unparseable', `${'['.repeat(20_000)}${']'.repeat(20_000)}`],
  ['20,000 levels below an order', 'too_large', orderText({ note: '[['.repeat(20_000) }).padEnd(70_000)],
  ['a lone surrogate in the id', 'id_format', orderText({ id: '"12\\ud800"' })],
  ['NUL in the id', 'id_format', orderText({ id: '"12\\u000034"' })],
  ['a line break in the id', 'id_format', orderText({ id: '"12\\r\\nSet-Cookie: a=b"' })],
  ['a raw line break in the id', 'unparseable', orderText({ id: '"12\r\n34"' })],
  ['a byte order mark', 'unparseable', `\uFEFF${orderText()}`],
  ['an amount of 1e400', 'amount_range', orderText({ chargeAmount: '1e400' })],
  ['the id twice', 'unparseable', orderText().replace('{', '{"id":1,')],
  [
    'half a character',
    'unparseable',
    Buffer.concat([Buffer.from('{"id":"'), Buffer.of(0xc3), Buffer.from('"}')]),
  ],
  ['NUL bytes', 'unparseable', Buffer.alloc(1_000)],
  ['nothing', 'unparseable', ''],
];

describe('hostile inputs', { concurrency: false }, () => {
  const owner = suiteOwner();
  const harmless = newOrderId();
  const behind = newOrderId();
  const lot = new Map<string, ParkedRow>();
  let stage: Stage;
  let worker: WorkerProcess;

  before(async () => {
    stage = await openStage(owner);
    worker = await stage.startWorker();
    for (const [index, [, , body]] of HOSTILE.entries()) {
      await stage.client.publish({
        routingKey: stage.broker.ordersQueue,
        body: Buffer.from(body),
        properties: { messageId: `hostile-${index}` },
      });
    }
    const prototype = '{"chargeAmount":1,"currency":"JPY","isAdmin":true}';
    await stage.publish(
      orderJson(harmless).replace(
        '{',
        `{"__proto__":${prototype},"constructor":${prototype},"note":"\\ud800\\u0000",`,
      ),
      orderJson(behind),
    );
    await waitFor(
      'all of them to be parked',
      async () => {
        for (const row of await stage.parked.rest()) lot.set(String(row.message_id), row);
        return lot.size === HOSTILE.length;
      },
      { timeoutMs: 60_000, intervalMs: 100 },
    );
  });

  for (const [index, [what, reason]] of HOSTILE.entries()) {
    it(`parks ${what} as ${reason}`, () => {
      const row = lot.get(`hostile-${index}`);
      assert.equal(row?.reason, reason);
      assert.ok(row.body.length <= 70_000, `a row of ${row.body.length} bytes`);
    });
  }

  it('reads what is harmless for what it is: __proto__, and half characters in a note', async () => {
    const order = await stage.announced(harmless);
    assert.deepEqual([order.status, order.amount_minor, order.currency], ['ready-to-ship', '4223', 'USD']);
  });

  it('holds up no order behind them, and ends with an empty queue', async () => {
    assert.equal((await stage.announced(behind)).status, 'ready-to-ship');
    assert.equal((await stage.gateway.approvals()).length, 2);
    await stage.endAndExpectEmptyQueue(worker);
  });
});
