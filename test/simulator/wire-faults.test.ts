import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertChargedAlready, hangUpDuring } from './fault-support.ts';
import {
  ask,
  AUTHORIZED,
  fault,
  ledgerOf,
  openSimulator,
  parsed,
  postCharge,
  rawCharge,
  release,
  until,
} from './support.ts';

describe('a fault on the wire: charged, and the same key brings the true answer', () => {
  it('charge-then-drop ends the connection', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'charge-then-drop' }, times: 1 }));
    assert.deepEqual(await rawCharge(simulator, {}), { received: '', end: 'closed' });
    await assertChargedAlready(simulator);
  });

  it('charge-then-drop resets the connection', async (t) => {
    const simulator = await openSimulator(
      t,
      fault({ fault: { kind: 'charge-then-drop', reset: true }, times: 1 }),
    );
    assert.deepEqual(await rawCharge(simulator, {}), { received: '', end: 'reset' });
    await assertChargedAlready(simulator);
  });

  it('hold answers when released', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'hold' }, times: 1 }));
    const held = postCharge(simulator);
    await until(simulator, 'the charge', () => ledgerOf(simulator).length === 1);
    const again = await postCharge(simulator);
    assert.equal(await release(simulator), 1);
    assert.equal((await held).text, again.text);
    await assertChargedAlready(simulator);
  });

  it('hold lets a client hang up', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'hold' }, times: 1 }));
    await hangUpDuring(simulator);
    assert.equal(await release(simulator), 0);
    await assertChargedAlready(simulator);
  });

  it('stalled-headers stops in the middle of a header', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'stalled-headers' }, times: 1 }));
    const stalled = rawCharge(simulator, {});
    await until(simulator, 'the charge', () => ledgerOf(simulator).length === 1);
    await release(simulator);
    assert.match((await stalled).received, /^HTTP\/1\.1 200 OK\r\nContent-Type: applicat$/);
    await assertChargedAlready(simulator);
  });

  it('stalled-body stops in the middle of the body, and finishes when released', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'stalled-body' }, times: 1 }));
    let soFar = '';
    const stalled = rawCharge(simulator, {}, (received) => {
      soFar = received;
      return received.endsWith('}');
    });
    const length = (): number => Number(/Content-Length: (\d+)/.exec(soFar)?.[1]);
    const half = (): number => Math.floor(length() / 2);
    await until(simulator, 'half an answer', () => bodyOf(soFar).length >= half());
    assert.equal(bodyOf(soFar).length, half());
    await release(simulator);
    const { received, end } = await stalled;
    assert.equal(end, 'enough');
    assert.equal(bodyOf(received).length, length());
    await assertChargedAlready(simulator);
  });

  it('cut-body ends the connection in the middle of the body', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'cut-body' }, times: 1 }));
    const { received, end } = await rawCharge(simulator, {});
    assert.equal(end, 'closed');
    assert.match(received, /^HTTP\/1\.1 200 OK\r\n/);
    assert.equal(
      bodyOf(received).length,
      Math.floor(Number(/Content-Length: (\d+)/.exec(received)?.[1]) / 2),
    );
    await assertChargedAlready(simulator);
  });

  it('garbage is no HTTP', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'garbage' }, times: 1 }));
    await assert.rejects(postCharge(simulator), { code: /^HPE_/ });
    await assertChargedAlready(simulator);
  });

  it('garbage in the body is no JSON', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'garbage', where: 'body' }, times: 1 }));
    const answer = await postCharge(simulator);
    assert.equal(answer.status, 200);
    assert.throws(() => parsed(answer), SyntaxError);
    await assertChargedAlready(simulator);
  });

  it('empty-body, wrong-content-type, huge-body and a late html-502 look as they are called', async (t) => {
    const kinds = ['empty-body', 'wrong-content-type', 'huge-body'] as const;
    const simulator = await openSimulator(t, {
      faults: [
        ...kinds.map((kind) => ({ match: { orderId: kind }, fault: { kind }, times: 1 })),
        { match: { orderId: 'html-502' }, fault: { kind: 'html-502', charged: true }, times: 1 },
      ],
    });
    const empty = await postCharge(simulator, { orderId: 'empty-body' });
    assert.deepEqual(
      [empty.status, empty.text, empty.headers['content-type']],
      [200, '', 'application/json'],
    );
    const named = await postCharge(simulator, { orderId: 'wrong-content-type' });
    assert.deepEqual(
      [named.headers['content-type'], parsed(named)['status']],
      ['text/plain', 'requires_capture'],
    );
    const huge = await postCharge(simulator, { orderId: 'huge-body' });
    assert.equal(huge.text.length, 2 * 1024 * 1024);
    assert.equal(parsed(huge)['status'], 'requires_capture');
    const page = await postCharge(simulator, { orderId: 'html-502' });
    assert.deepEqual([page.status, page.headers['content-type']], [502, 'text/html']);
    for (const orderId of [...kinds, 'html-502']) await assertChargedAlready(simulator, orderId);
  });
});

describe('a fault on another request', () => {
  it('meets lookups and voids by their path', async (t) => {
    const simulator = await openSimulator(t, {
      faults: [
        { match: { path: '/v1/payment_intents/*', method: 'GET' }, fault: { kind: 'html-502' }, times: 1 },
        {
          match: { path: '/v1/payment_intents/*', orderId: '1234' },
          fault: { kind: 'charge-then-drop' },
          times: 1,
        },
      ],
    });
    const { id } = parsed(await postCharge(simulator));
    const path = `/v1/payment_intents/${String(id)}`;
    assert.equal((await ask(simulator, 'GET', path, { headers: AUTHORIZED })).status, 502);
    await assert.rejects(ask(simulator, 'POST', `${path}/cancel`, { headers: AUTHORIZED }), {
      code: 'ECONNRESET',
    });
    assert.deepEqual(
      ledgerOf(simulator).map(({ kind }) => kind),
      ['approval', 'void'],
    );
  });
});

function bodyOf(received: string): string {
  return received.slice(received.indexOf('\r\n\r\n') + 4);
}
