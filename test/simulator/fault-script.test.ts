import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { faultScriptFromJson, parseFaultScript, type FaultScript } from '../../src/simulator/fault-script.ts';
import { Faults, type FaultTarget } from '../../src/simulator/faults.ts';
import { ask, fault, ledgerOf, openSimulator, parsed, postCharge } from './support.ts';

describe('a fault script', () => {
  const broken: [string, unknown, RegExp][] = [
    ['is no list', { fault: { kind: 'hold' } }, /the script: .*array/],
    ['has a rule without a fault', [{ fault: { kind: 'hold' } }, {}], /rule 2, fault/],
    ['names a fault that does not exist', [{ fault: { kind: 'explode' } }], /rule 1, fault\.kind/],
    ['lacks what a fault needs', [{ fault: { kind: 'delay' } }], /rule 1, fault\.ms/],
    ['misspells a member', [{ match: { order: '1' }, fault: { kind: 'hold' } }], /rule 1, match: .*"order"/],
    ['has a share above 1', [{ match: { share: 2 }, fault: { kind: 'hold' } }], /rule 1, match\.share/],
    [
      'would bend the verdict on a lookup',
      [{ match: { path: '/v1/x' }, fault: { kind: 'partial' } }],
      /verdict/,
    ],
    [
      'would bend the verdict on a GET',
      [{ match: { method: 'GET' }, fault: { kind: 'partial' } }],
      /verdict/,
    ],
  ];
  for (const [what, script, message] of broken) {
    it(`that ${what} is refused by name`, () => {
      assert.throws(() => parseFaultScript(script), { name: 'FaultScriptError', message });
    });
  }

  it('that is no JSON is refused', () => {
    assert.throws(() => faultScriptFromJson('{'), { name: 'FaultScriptError', message: /is not JSON/ });
  });

  it('is replaced at run time, and a bad one changes nothing', async (t) => {
    const simulator = await openSimulator(t, fault({ fault: { kind: '429' } }));
    const bad = await ask(simulator, 'PUT', '/__faults', { body: '[{"fault":{"kind":"explode"}}]' });
    assert.equal(bad.status, 400);
    assert.match(String(parsed(bad)['error']), /rule 1/);
    assert.equal((await postCharge(simulator)).status, 429);
    assert.equal((await ask(simulator, 'PUT', '/__faults', { body: '[]' })).status, 200);
    assert.equal((await postCharge(simulator)).status, 200);
    assert.equal(ledgerOf(simulator).length, 1);
  });

  it('shows which rules never fired', async (t) => {
    const rules: FaultScript = [
      { match: { orderId: 'never' }, fault: { kind: 'hold' } },
      { match: { last4: '4242' }, fault: { kind: '429' }, times: 1 },
    ];
    const simulator = await openSimulator(t, { faults: rules });
    await postCharge(simulator);
    await postCharge(simulator);
    assert.deepEqual(parsed(await ask(simulator, 'GET', '/__faults')), {
      rules: [
        { ...rules[0], hits: 0 },
        { ...rules[1], hits: 1 },
      ],
    });
  });
});

describe('a fault rule', () => {
  const charge: FaultTarget = {
    method: 'POST',
    path: '/v1/payment_intents',
    orderId: '1',
    last4: '4242',
    idempotencyKey: 'order-1-1',
    nth: 1,
  };
  const lookup: FaultTarget = { ...charge, method: 'GET', path: '/v1/payment_intents/search' };
  const meets = (match: NonNullable<FaultScript[number]['match']>, target: FaultTarget): boolean =>
    new Faults([{ match, fault: { kind: '429' } }]).meet(target) !== undefined;

  it('meets only what all its conditions meet', () => {
    assert.ok(meets({}, charge));
    assert.ok(meets({ orderId: '1', last4: '4242', nth: 1, method: 'POST' }, charge));
    assert.ok(!meets({ orderId: '2' }, charge));
    assert.ok(!meets({ last4: '0002' }, charge));
    assert.ok(!meets({ nth: 2 }, charge));
    assert.ok(!meets({ method: 'GET' }, charge));
  });

  it('meets only charges unless it names a path', () => {
    assert.ok(!meets({}, lookup));
    assert.ok(meets({ path: '/v1/payment_intents/search' }, lookup));
    assert.ok(meets({ path: '/v1/*' }, lookup));
    assert.ok(!meets({ path: '/v1/*', method: 'POST' }, lookup));
    assert.ok(!meets({ path: '/v1' }, lookup));
  });

  it('stops after so many times, and leaves the rest to later rules', () => {
    const faults = new Faults([{ fault: { kind: '429' }, times: 2 }, { fault: { kind: '401' } }]);
    const met = [1, 2, 3].map(() => faults.meet(charge)?.kind);
    assert.deepEqual(met, ['429', '429', '401']);
  });

  it('meets its share of the keys, the same ones each time, and others for another seed', () => {
    const keys = Array.from({ length: 4000 }, (_, index) => `order-${index}-1`);
    const chosen = (seed?: string): string[] => {
      const match = seed === undefined ? { share: 0.25 } : { share: 0.25, seed };
      return keys.filter((idempotencyKey) => meets(match, { ...charge, idempotencyKey }));
    };
    const first = chosen();
    assert.ok(first.length > 900 && first.length < 1100, `${first.length} of 4000 is no quarter`);
    assert.deepEqual(chosen(), first);
    const other = new Set(chosen('other'));
    // Independent choices have a sixteenth in common.
    assert.ok(first.filter((key) => other.has(key)).length < 350);
    assert.equal(
      keys.filter((idempotencyKey) => meets({ share: 0 }, { ...charge, idempotencyKey })).length,
      0,
    );
    assert.equal(
      keys.filter((idempotencyKey) => meets({ share: 1 }, { ...charge, idempotencyKey })).length,
      4000,
    );
  });
});
