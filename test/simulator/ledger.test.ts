import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import {
  approvalsOf,
  ask,
  AUTHORIZED,
  cardCharge,
  encodeForm,
  errorOf,
  fault,
  ledgerOf,
  openSimulator,
  parsed,
  postCharge,
  rawCharge,
  requestsOf,
  temporaryDirectory,
  UNIONPAY_19,
  VISA,
  type HttpAnswer,
} from './support.ts';

const CANONICAL = { number: '1111222233334444', expMonth: 1, expYear: 2014, cvc: '123', amountMinor: 4223 };

describe('the ledger', () => {
  it('has the approval, with the card as digests, when the answer arrives', async (t) => {
    const simulator = await openSimulator(t);
    const answer = await postCharge(simulator, CANONICAL);

    const [entry, ...more] = approvalsOf(simulator);
    assert.ok(entry !== undefined && more.length === 0);
    assert.equal(entry.authorizationId, parsed(answer)['id']);
    assert.equal(entry.orderId, '1234');
    assert.equal(entry.idempotencyKey, 'order-1234-1');
    assert.deepEqual([entry.amountMinor, entry.currency, entry.status], [4223, 'usd', 'requires_capture']);
    assert.deepEqual([entry.requestedAmountMinor, entry.requestedCurrency], [4223, 'usd']);
    assert.deepEqual(
      [entry.cardDigest, entry.cardLength, entry.last4],
      [sha256(CANONICAL.number), 16, '4444'],
    );
    assert.deepEqual([entry.cvcDigest, entry.cvcLength], [sha256('123'), 3]);
    assert.deepEqual([entry.expMonth, entry.expYear], [1, 2014]);
    assert.deepEqual([entry.paymentMethod, entry.fault], [null, null]);
    assert.ok(Math.abs(Date.parse(entry.at) - Date.now()) < 60_000);
  });

  it('tells a 19-digit card from its neighbours', async (t) => {
    const simulator = await openSimulator(t);
    await postCharge(simulator, { number: UNIONPAY_19 });
    const [entry] = approvalsOf(simulator);
    assert.equal(entry?.cardDigest, sha256('6205500000000000004'));
    assert.notEqual(entry.cardDigest, sha256('6205500000000000000'));
    assert.equal(entry.cardLength, 19);
  });

  it('keeps the leading zeros of a CVC', async (t) => {
    const simulator = await openSimulator(t);
    await postCharge(simulator, { cvc: '007' });
    assert.equal(approvalsOf(simulator)[0]?.cvcDigest, sha256('007'));
  });

  it('has the approval whose answer never came', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'charge-then-drop' }, times: 1 }));
    await assert.rejects(postCharge(simulator, { orderId: '7' }), { code: 'ECONNRESET' });
    const [entry, ...more] = approvalsOf(simulator);
    assert.ok(entry?.orderId === '7' && entry.fault === 'charge-then-drop' && more.length === 0);

    const again = await postCharge(simulator, { orderId: '7' });
    assert.equal(parsed(again)['id'], entry.authorizationId);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    assert.equal(ledgerOf(simulator).length, 1);
  });

  it('has one line per approval of many at once, each before its answer', async (t) => {
    const simulator = await openSimulator(t, { ledgerFsync: true });
    await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        await postCharge(simulator, { orderId: `o${index}` });
        assert.equal(approvalsOf(simulator).filter(({ orderId }) => orderId === `o${index}`).length, 1);
      }),
    );
    assert.equal(ledgerOf(simulator).length, 100);
  });

  it('shows two approvals when an order is charged under two keys', async (t) => {
    const simulator = await openSimulator(t);
    await postCharge(simulator, {}, { key: 'a' });
    await postCharge(simulator, {}, { key: 'b' });
    await postCharge(simulator, {}, { key: null });
    assert.deepEqual(
      approvalsOf(simulator).map(({ orderId, idempotencyKey }) => [orderId, idempotencyKey]),
      [
        ['1234', 'a'],
        ['1234', 'b'],
        ['1234', null],
      ],
    );
  });

  it('is served as it is written', async (t) => {
    const simulator = await openSimulator(t);
    assert.deepEqual(parsed(await ask(simulator, 'GET', '/__ledger')), { entries: [] });
    await postCharge(simulator, { orderId: '1' });
    await postCharge(simulator, { orderId: '2' });
    assert.deepEqual(parsed(await ask(simulator, 'GET', '/__ledger')), { entries: ledgerOf(simulator) });
  });
});

describe('a restarted simulator', () => {
  it('still knows approvals, voids and keys, and answers with the same bytes', async (t) => {
    const first = await openSimulator(t);
    const approval = await postCharge(first, { orderId: '1' });
    const { id } = parsed(await postCharge(first, { orderId: '2' })) as { id: string };
    const voided = await cancel(first, id);
    await first.close();

    const second = await openSimulator(t, { ledgerFile: first.ledgerFile });
    const replay = await postCharge(second, { orderId: '1' });
    assert.equal(replay.text, approval.text);
    assert.equal(replay.headers['idempotent-replayed'], 'true');
    assert.equal((await cancel(second, id)).text, voided.text);
    const found = await ask(second, 'GET', `/v1/payment_intents/${id}`, { headers: AUTHORIZED });
    assert.equal(found.text, voided.text);
    const query = encodeURIComponent("metadata['order_id']:'1'");
    const search = await ask(second, 'GET', `/v1/payment_intents/search?query=${query}`, {
      headers: AUTHORIZED,
    });
    assert.deepEqual(parsed(search)['data'], [parsed(approval)]);
    const mismatch = await postCharge(second, { orderId: '1', amountMinor: 1 });
    assert.equal(errorOf(mismatch)['type'], 'idempotency_error');
    assert.equal(ledgerOf(second).length, 3);
  });

  for (const kind of ['charge-then-500', 'wrong-amount', 'wrong-currency', 'partial'] as const) {
    it(`replays what was answered under ${kind}`, async (t) => {
      const first = await openSimulator(t, fault({ fault: { kind } }));
      const answer = await postCharge(first);
      await first.close();
      const second = await openSimulator(t, { ledgerFile: first.ledgerFile });
      const replay = await postCharge(second);
      assert.deepEqual([replay.status, replay.text], [answer.status, answer.text]);
      assert.equal(ledgerOf(second).length, 1);
    });
  }

  it('never gives an id twice', async (t) => {
    const first = await openSimulator(t);
    const { id } = parsed(await postCharge(first, { orderId: '1' }));
    await first.close();
    const second = await openSimulator(t, { ledgerFile: first.ledgerFile });
    assert.notEqual(parsed(await postCharge(second, { orderId: '2' }))['id'], id);
  });

  it('cuts off a last line that was never finished', async (t) => {
    const first = await openSimulator(t);
    await postCharge(first, { orderId: '1' });
    await first.close();
    appendFileSync(first.ledgerFile, '{"kind":"approval","at":"20');
    const second = await openSimulator(t, { ledgerFile: first.ledgerFile });
    await postCharge(second, { orderId: '2' });
    assert.deepEqual(
      ledgerOf(second).map(({ orderId }) => orderId),
      ['1', '2'],
    );
  });

  it('refuses a file that is no ledger, and names the line but does not quote it', async (t) => {
    const ledgerFile = join(temporaryDirectory(t), 'ledger.jsonl');
    writeFileSync(ledgerFile, `card ${VISA}\n`);
    await assert.rejects(startSimulator({ port: 0, ledgerFile }), (error: Error) => {
      assert.match(error.message, /line 1 is not a ledger entry/);
      return !error.message.includes(VISA);
    });
  });
});

describe('no card number', () => {
  it('is in anything the simulator stores, shows or reports', async (t) => {
    const reports: unknown[] = [];
    const logger = { error: (details: object, message: string) => reports.push(details, message) };
    const simulator = await openSimulator(t, {
      logger,
      faults: [
        { match: { orderId: 'echo' }, fault: { kind: 'echo-pan' } },
        { match: { orderId: 'cut' }, fault: { kind: 'cut-body' } },
      ],
    });
    const answers = [
      await postCharge(simulator, { number: UNIONPAY_19, cvc: '987' }),
      await postCharge(simulator, { orderId: 'declined', number: '4000000000000002' }),
      await postCharge(simulator, { orderId: 'luhn', number: '4242424242424241' }),
      await postCharge(simulator, { orderId: `leak-${VISA}` }),
      await postCharge(simulator, { orderId: 'leak' }, { key: `leak-${VISA}` }),
      await ask(simulator, 'POST', `/v2/${VISA}`, { headers: AUTHORIZED, body: encodeForm(cardCharge()) }),
    ];
    await postCharge(simulator, { orderId: 'echo' });
    await rawCharge(simulator, { orderId: 'cut' });
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 402, 402, 400, 400, 404],
    );
    const shown = [
      readFileSync(simulator.ledgerFile, 'utf8'),
      (await ask(simulator, 'GET', '/__ledger')).text,
      JSON.stringify(await requestsOf(simulator)),
      (await ask(simulator, 'GET', '/__faults')).text,
      JSON.stringify(reports),
      ...answers.slice(0, 3).map(({ text }) => text),
    ].join('\n');
    for (const number of [UNIONPAY_19, VISA, '4000000000000002', '4242424242424241']) {
      assert.ok(!shown.includes(number), `the card ending in ${number.slice(-4)} is shown`);
    }
    assert.ok(!shown.includes('"987"'));
  });
});

function cancel(simulator: Simulator, id: string): Promise<HttpAnswer> {
  const headers = { ...AUTHORIZED, 'Idempotency-Key': 'void-2' };
  return ask(simulator, 'POST', `/v1/payment_intents/${id}/cancel`, { headers });
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
