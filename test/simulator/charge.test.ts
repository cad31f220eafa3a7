import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { charge } from '../../src/simulator/charge.ts';
import { readChargeOrder } from '../../src/simulator/charge-order.ts';
import { parseForm } from '../../src/simulator/form.ts';
import { IntentStore } from '../../src/simulator/intent-store.ts';
import type { LedgerEntry } from '../../src/simulator/ledger.ts';
import { Timers } from '../../src/simulator/timers.ts';
import { cardCharge, encodeForm } from './support.ts';

describe('a charge', () => {
  it('has no answer and no intent before the ledger has its line', async () => {
    const { context, appended, write } = pausedLedger();
    let answered = false;
    const answer = charge(request(), context).finally(() => (answered = true));
    await turnOfTheEventLoop();
    assert.equal(appended.length, 1);
    assert.ok(!answered);
    assert.equal(context.intents.get('pi_1'), undefined);

    write.resolve();
    assert.equal((await answer).kind, 'intent');
    assert.equal(context.intents.get('pi_1')?.status, 'requires_capture');
  });

  it('has no answer and no intent when the ledger cannot be written', async () => {
    const { context, write } = pausedLedger();
    const answer = charge(request(), context);
    write.reject(new Error('disk full'));
    await assert.rejects(answer, { message: 'disk full' });
    assert.equal(context.intents.get('pi_1'), undefined);
  });
});

function request() {
  const order = readChargeOrder(parseForm(encodeForm(cardCharge())));
  assert.ok(order.kind === 'charge-order');
  return { order, idempotencyKey: 'order-1234-1', paramsDigest: '', fault: undefined };
}

/** A ledger that writes when the test says so. */
function pausedLedger() {
  const appended: LedgerEntry[] = [];
  let resolve = (): void => undefined;
  let reject: (reason: Error) => void = () => undefined;
  const written = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  const append = (entry: LedgerEntry): Promise<void> => {
    appended.push(entry);
    return written;
  };
  const context = {
    intents: new IntentStore(),
    ledger: { append },
    timers: new Timers(() => undefined),
    now: Date.now,
    newIntentId: () => 'pi_1',
  };
  return { context, appended, write: { resolve, reject } };
}

function turnOfTheEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
