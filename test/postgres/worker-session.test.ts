import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';

import type { PostgresOrderBook } from '../../src/adapters/postgres/order-book.ts';
import type { OrderTerms } from '../../src/domain/order.ts';
import { chargeStep, newTerms } from '../conformance/order-book.ts';
import type { TestDatabase } from '../support/services.ts';
import { startProxy } from '../support/tcp-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { startProcess, type WorkerProcess } from '../support/worker-process.ts';
import { migratedDatabase, openBook } from './test-book.ts';

describe('the session of a worker', () => {
  let database: TestDatabase;
  let observer: pg.Client;
  let survivor: PostgresOrderBook;

  before(async () => {
    database = await migratedDatabase();
    observer = new pg.Client(database.url);
    await observer.connect();
    survivor = await openBook(database.url);
  });
  after(async () => {
    await survivor.close({ deadlineMs: 1_000 });
    await observer.end();
    await database.drop();
  });

  it('ends with its process, and what that had claimed is taken over within a second, not after the lease', async (t) => {
    const terms = newTerms();
    const worker = await startClaimant(t, terms);
    assert.equal((await claimBySurvivor(terms)).step, 'wait');

    worker.kill('SIGKILL');
    const startMs = performance.now();
    const next = await waitFor('the takeover', async () => {
      const step = await claimBySurvivor(terms);
      return step.step === 'charge' && step;
    });
    const tookMs = performance.now() - startMs;
    assert.deepEqual(next, chargeStep(terms.orderId, 2));
    assert.ok(tookMs < 1_000, `taken over after ${tookMs} ms`);
    t.diagnostic(`taken over ${tookMs.toFixed(0)} ms after SIGKILL`);
  });

  it('goes on while its process is frozen: the lease is respected', async (t) => {
    const terms = newTerms();
    const worker = await startClaimant(t, terms);
    worker.kill('SIGSTOP');
    try {
      assert.equal((await claimBySurvivor(terms)).step, 'wait');
    } finally {
      worker.kill('SIGCONT');
    }
  });

  it('is given back when the worker closes its book', async () => {
    const book = await openBook(database.url);
    const terms = newTerms();
    await book.apply(terms.orderId, { kind: 'claim', terms });
    assert.equal((await claimBySurvivor(terms)).step, 'wait');
    await book.close({ deadlineMs: 1_000 });
    await waitFor('the takeover', async () => (await claimBySurvivor(terms)).step === 'charge');
  });

  it('has a number that no other session had', async () => {
    const numbers: (number | undefined)[] = [];
    for (let opened = 0; opened < 3; opened += 1) {
      const book = await openBook(database.url);
      numbers.push(book.worker);
      await book.close({ deadlineMs: 1_000 });
    }
    assert.equal(new Set([...numbers, survivor.worker]).size, 4);
  });

  it('is noticed as lost when its connection falls silent', async (t) => {
    const proxy = await startProxy({ target: database.url });
    t.after(() => proxy.close());
    const book = await openBook(proxy.url, { deadlineMs: 300 });
    t.after(() => book.close({ deadlineMs: 100 }));
    const { worker } = book;
    proxy.freeze();
    await waitFor('the loss to be noticed', () => book.availability.unavailableBecause());
    proxy.thaw();
    await waitFor('another session', () => book.worker !== undefined && book.worker !== worker);
  });

  async function startClaimant(
    t: Parameters<typeof startProcess>[0]['owner'],
    terms: OrderTerms,
  ): Promise<WorkerProcess> {
    const script = join(import.meta.dirname, 'claiming-process.js');
    const worker = startProcess({
      owner: t,
      args: [script, database.url, JSON.stringify(terms, bigintsAsText)],
    });
    await worker.waitForLine('claimed');
    return worker;
  }

  async function claimBySurvivor(terms: OrderTerms) {
    return (await survivor.apply(terms.orderId, { kind: 'claim', terms })).next;
  }
});

function bigintsAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
