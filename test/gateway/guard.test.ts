import assert from 'node:assert/strict';
import { beforeEach, afterEach, describe, it } from 'node:test';
import { guardGateway, type GuardedGateway } from '../../src/adapters/gateway/guard.ts';
import type { AuthorizationOutcome, Unavailable, Unknown } from '../../src/domain/outcome.ts';
import type { Gateway } from '../../src/ports/gateway.ts';
import { VirtualClock } from '../../src/topology/testing/virtual-clock.ts';
import { collectingLog } from './collecting-log.ts';
import { anOrder } from './orders.ts';

const APPROVED: AuthorizationOutcome = { kind: 'approved', reference: 'pi_1' };
const DECLINED: AuthorizationOutcome = {
  kind: 'declined',
  reason: 'card_declined',
  class: 'hard',
  code: 'lost_card',
};
const REJECTED: AuthorizationOutcome = { kind: 'rejected', code: 'parameter_missing' };

/** A gateway that answers what it is told to, or waits to be told. */
class ScriptedGateway implements Gateway {
  next: AuthorizationOutcome | Promise<AuthorizationOutcome> | Error = APPROVED;
  calls = 0;

  async authorize(): Promise<AuthorizationOutcome> {
    this.calls += 1;
    if (this.next instanceof Error) throw this.next;
    return this.next;
  }
}

describe('the guarded gateway', () => {
  let clock: VirtualClock;
  let gateway: ScriptedGateway;
  let guarded: GuardedGateway;
  let orders = 0;

  beforeEach(() => {
    clock = new VirtualClock();
    gateway = new ScriptedGateway();
    guarded = guardGateway(gateway, { clock, log: collectingLog(), mostInWork: 4 });
  });

  afterEach(() => {
    guarded.close();
  });

  function ask(orderId?: string): Promise<AuthorizationOutcome> {
    orders += 1;
    const id = orderId ?? `o-${orders}`;
    return guarded.authorize({ order: anOrder({ orderId: id }), idempotencyKey: `order-${id}-1` });
  }

  async function hear(outcome: ScriptedGateway['next'], times = 1): Promise<AuthorizationOutcome[]> {
    gateway.next = outcome;
    const heard: AuthorizationOutcome[] = [];
    for (let n = 0; n < times; n += 1) heard.push(await ask());
    return heard;
  }

  function why(): string | undefined {
    return guarded.availability.unavailableBecause();
  }

  function pass(ms: number): void {
    clock.move(ms);
    while (clock.runOne());
  }

  const cases: {
    readonly name: string;
    readonly outcome: AuthorizationOutcome;
    readonly stopsAfter: number | 'never';
    readonly refusal?: Unavailable['cause'];
    readonly why?: RegExp;
  }[] = [
    { name: 'an approval', outcome: APPROVED, stopsAfter: 'never' },
    { name: 'a decline', outcome: DECLINED, stopsAfter: 'never' },
    {
      name: 'a contradiction',
      outcome: { kind: 'contradicted', reason: 'amount_mismatch' },
      stopsAfter: 'never',
    },
    ...(['unreadable_answer', 'pending', 'key_in_use'] as const).map((cause) => ({
      name: `unknown: ${cause}`,
      outcome: unknown(cause),
      stopsAfter: 'never' as const,
    })),
    { name: "a proxy's page", outcome: unavailable('proxy_page'), stopsAfter: 'never' },
    {
      name: 'a broken configuration',
      outcome: unavailable('configuration'),
      stopsAfter: 1,
      refusal: 'configuration',
      why: /configuration is broken \(detail\): correct CARDAUTH_GATEWAY_URL or CARDAUTH_GATEWAY_API_KEY/,
    },
    {
      name: '429',
      outcome: unavailable('rate_limited'),
      stopsAfter: 1,
      refusal: 'rate_limited',
      why: /slower pace/,
    },
    {
      name: 'a request that was not sent',
      outcome: unavailable('not_sent'),
      stopsAfter: 10,
      refusal: 'breaker_open',
      why: /keeps failing \(detail\)/,
    },
    ...(['no_answer', 'connection_lost', 'server_error', 'bad_gateway'] as const).map((cause) => ({
      name: `unknown: ${cause}`,
      outcome: unknown(cause),
      stopsAfter: 10,
      refusal: 'breaker_open' as const,
      why: /keeps failing/,
    })),
    {
      name: 'a rejection',
      outcome: REJECTED,
      stopsAfter: 5,
      refusal: 'configuration',
      why: /rejects one order after the other .*parameter_missing.*parked orders/,
    },
  ];
  for (const one of cases) {
    it(`${one.name}: stops after ${one.stopsAfter} in a row`, async () => {
      const most = one.stopsAfter === 'never' ? 50 : one.stopsAfter;
      for (let n = 1; n <= most; n += 1) {
        assert.equal(why(), undefined, `answer ${n}`);
        assert.deepEqual(await hear(one.outcome), [one.outcome]);
      }
      if (one.stopsAfter === 'never') {
        assert.equal(why(), undefined);
        return;
      }
      assert.match(why() ?? '', one.why ?? /./);
      const [refused] = await hear(APPROVED);
      assert.ok(refused?.kind === 'unavailable' && refused.cause === one.refusal);
      assert.equal(refused.retryAfterMs, undefined);
      assert.equal(gateway.calls, one.stopsAfter);

      pass(1_000);
      const [probed] = await hear(APPROVED);
      assert.deepEqual(probed, APPROVED);
      assert.equal(why(), undefined);
    });
  }

  for (const outcome of [unknown('bad_gateway'), REJECTED]) {
    it(`one order that is ${outcome.kind} again and again stops nothing`, async () => {
      gateway.next = outcome;
      for (let n = 0; n < 15; n += 1) await ask('always the same');
      assert.equal(why(), undefined);
    });
  }

  it('one order that cannot be sent again and again is enough: that is never its own fault', async () => {
    gateway.next = unavailable('not_sent');
    for (let n = 0; n < 10; n += 1) await ask('always the same');
    assert.match(why() ?? '', /keeps failing/);
  });

  it('stops when most answers are faults, though never several in a row', async () => {
    for (let n = 0; n < 30 && why() === undefined; n += 1)
      await hear(n % 3 === 0 ? APPROVED : unknown('no_answer'));
    assert.match(why() ?? '', /keeps failing/);
    assert.ok(gateway.calls >= 20, `${gateway.calls} requests are enough to judge by`);
  });

  it('takes rejections at their word until they are too many, and leaves the orders alone from then on', async () => {
    const underWay = deferred();
    gateway.next = underWay.promise;
    const late = ask();
    assert.deepEqual(
      await hear(REJECTED, 5),
      Array.from({ length: 5 }, () => REJECTED),
    );
    underWay.resolve(REJECTED);
    assert.ok(isUnavailable(await late, 'configuration'));

    pass(1_000);
    const [probed] = await hear(REJECTED);
    assert.ok(isUnavailable(probed, 'configuration'), 'a rejected probe is not to blame');
    pass(2_000);
    await hear(APPROVED);
    assert.deepEqual(await hear(REJECTED), [REJECTED]);
  });

  it('waits as long as a 429 asks, and does not make its order wait by itself as well', async () => {
    const [outcome] = await hear({ ...unavailable('rate_limited'), retryAfterMs: 7_000 });
    assert.ok(isUnavailable(outcome, 'rate_limited') && outcome.retryAfterMs === undefined);
    pass(6_999);
    assert.ok(isUnavailable((await hear(APPROVED))[0], 'rate_limited'));
    pass(1);
    assert.deepEqual(await hear(APPROVED), [APPROVED]);
  });

  it('stays stopped when the probe meets a single fault of any kind', async () => {
    for (const outcome of [
      unavailable('configuration'),
      unknown('bad_gateway'),
      unavailable('rate_limited'),
    ]) {
      if (why() === undefined) await hear(unavailable('configuration'));
      pass(8_000);
      assert.deepEqual(await hear(outcome), [outcome]);
      assert.equal(guarded.availability.mostInWork?.(), 0, JSON.stringify(outcome));
    }
  });

  it('waits for a slow request as long as it takes: its outcome is not lost', async () => {
    const slow = deferred();
    gateway.next = slow.promise;
    const underWay = ask();
    await hear(unavailable('configuration'));
    pass(60_000);
    slow.resolve(APPROVED);
    assert.deepEqual(await underWay, APPROVED);
  });

  it("passes a bug's rejection on, counts it as a fault, and frees the probe's place", async () => {
    gateway.next = new Error('a bug');
    for (let n = 0; why() === undefined; n += 1) {
      assert.ok(n < 30, 'it stops');
      await assert.rejects(ask(), /a bug/);
    }
    pass(1_000);
    await assert.rejects(ask(), /a bug/);
    pass(2_000);
    assert.deepEqual(await hear(APPROVED), [APPROVED]);
  });

  it('makes no request after it was closed, and lets one under way end as it would have', async () => {
    const late = deferred();
    gateway.next = late.promise;
    const underWay = ask();
    guarded.close();
    late.resolve(APPROVED);
    assert.deepEqual(await underWay, APPROVED);
    assert.ok(isUnavailable((await hear(APPROVED))[0], 'breaker_open'));
    assert.equal(gateway.calls, 1);
    assert.equal(clock.timers, 0);
    assert.match(why() ?? '', /the worker ends/);
  });
});

function unknown(cause: Unknown['cause']): Unknown {
  return { kind: 'unknown', cause, detail: 'detail' };
}

function unavailable(cause: Unavailable['cause']): Unavailable {
  return { kind: 'unavailable', cause, detail: 'detail' };
}

function isUnavailable(
  outcome: AuthorizationOutcome | undefined,
  cause: Unavailable['cause'],
): outcome is Unavailable {
  return outcome?.kind === 'unavailable' && outcome.cause === cause;
}

interface Deferred {
  readonly promise: Promise<AuthorizationOutcome>;
  resolve(outcome: AuthorizationOutcome): void;
}

function deferred(): Deferred {
  let resolve: (outcome: AuthorizationOutcome) => void = () => undefined;
  const promise = new Promise<AuthorizationOutcome>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
