import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Fault } from '../../src/simulator/fault-script.ts';
import { assertCharges, hangUpDuring } from './fault-support.ts';
import {
  ask,
  fault,
  ledgerOf,
  openSimulator,
  parsed,
  postCharge,
  rawCharge,
  release,
  requestsOf,
  until,
  VISA,
} from './support.ts';

describe('a fault at the edge: nothing charged, the key stays free', () => {
  const answers: [Fault, number, RegExp][] = [
    [{ kind: '429' }, 429, /rate_limit/],
    [{ kind: '401' }, 401, /Invalid API Key/],
    [{ kind: '403' }, 403, /does not have access/],
    [{ kind: '404' }, 404, /Unrecognized request URL/],
    [{ kind: 'redirect' }, 307, /^$/],
    [{ kind: 'redirect', status: 302 }, 302, /^$/],
    [{ kind: 'html-502' }, 502, /^<html>/],
    [{ kind: 'echo-pan' }, 400, new RegExp(VISA)],
    [{ kind: 'echo-pan', status: 500 }, 500, new RegExp(VISA)],
  ];
  for (const [given, status, text] of answers) {
    it(`${JSON.stringify(given)} answers ${status}`, async (t) => {
      const simulator = await openSimulator(t, fault({ fault: given, times: 1 }));
      const answer = await postCharge(simulator);
      assert.equal(answer.status, status);
      assert.match(answer.text, text);
      assert.deepEqual(ledgerOf(simulator), []);
      await assertCharges(simulator);
    });
  }

  it('429 says when to come back, as told', async (t) => {
    const date = 'Wed, 21 Oct 2026 07:28:00 GMT';
    const simulator = await openSimulator(t, {
      faults: [
        { match: { nth: 1 }, fault: { kind: '429', retryAfter: 2 } },
        { match: { nth: 2 }, fault: { kind: '429', retryAfter: date } },
      ],
    });
    assert.equal((await postCharge(simulator)).headers['retry-after'], '2');
    assert.equal((await postCharge(simulator)).headers['retry-after'], date);
  });

  it('redirect leads to where a client that follows is seen', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'redirect' } }));
    const { location } = (await postCharge(simulator)).headers;
    await ask(simulator, 'GET', location ?? assert.fail('no Location'));
    const { recent } = await requestsOf(simulator);
    assert.deepEqual(
      recent.map(({ path }) => path),
      ['/v1/payment_intents', '/__redirected'],
    );
  });

  for (const reset of [false, true]) {
    it(`drop-before-charge ends the connection${reset ? ' with a reset' : ''}`, async (t) => {
      const simulator = await openSimulator(
        t,
        fault({ fault: { kind: 'drop-before-charge', reset }, times: 1 }),
      );
      const { received, end } = await rawCharge(simulator, {});
      assert.deepEqual([received, end], ['', reset ? 'reset' : 'closed']);
      assert.deepEqual(ledgerOf(simulator), []);
      await assertCharges(simulator);
    });
  }

  it('hold-before-charge goes on when released', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'hold-before-charge' }, times: 1 }));
    const held = postCharge(simulator);
    await until(simulator, 'the request is held', ({ counts }) => counts.open === 1);
    assert.deepEqual(ledgerOf(simulator), []);
    assert.equal(await release(simulator), 1);
    assert.equal(parsed(await held)['status'], 'requires_capture');
  });

  it('hold-before-charge forgets a client that hangs up', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: 'hold-before-charge' }, times: 1 }));
    await hangUpDuring(simulator);
    assert.equal(await release(simulator), 0);
    assert.deepEqual(ledgerOf(simulator), []);
    await assertCharges(simulator);
  });
});
