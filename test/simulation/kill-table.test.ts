/** The table of writes and kills is the one checked in, and nothing in it breaks a promise. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';

import { WORKER_PLANTS } from './plants.ts';
import { killTable, spoiledBadly, tableInWords } from './kill-table.ts';
import { WAYS } from './kill-ways.ts';

const TABLE = new URL('../../../test/simulation/kill-table.txt', import.meta.url);
const ACTUAL_TABLE = new URL('../../kill-table.txt', import.meta.url);

describe('a kill before and after every write', () => {
  it('is survived, on every way of an order, and no write is missing from the table', async () => {
    const rows = await killTable();
    assert.deepEqual(spoiledBadly(rows), []);
    const table = tableInWords(rows);
    if (table !== readFileSync(TABLE, 'utf8')) writeFileSync(ACTUAL_TABLE, table);
    const message = 'other writes than before; when they are meant: cp dist/kill-table.txt test/simulation/';
    assert.equal(table, readFileSync(TABLE, 'utf8'), message);
  });

  it('meets every kind of write', () => {
    const table = readFileSync(TABLE, 'utf8');
    const kinds = ['broker.ack', 'broker.announce', 'broker.copy', 'broker.park', 'database.operator', 'database.write', 'gateway.authorize', 'gateway.void']; // prettier-ignore
    const met = kinds.filter((kind) => table.includes(`\n  ${kind} `));
    assert.deepEqual(met, kinds);
  });

  it('finds a worker that acks too early', async () => {
    const early = WORKER_PLANTS.find(({ name }) => name === 'ack before the mark');
    const undo = early?.patch?.();
    try {
      assert.notDeepEqual(spoiledBadly(await killTable({ ways: WAYS.slice(0, 1) })), []);
    } finally {
      undo?.();
    }
  });
});
