import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import type { AuthorizationOutcome } from '../../src/domain/outcome.ts';
import type { Gateway } from '../../src/ports/gateway.ts';
import { guardWithBreaker } from '../../src/adapters/gateway/breaker.ts';
import type { GuardedGateway } from '../../src/adapters/gateway/breaker.ts';
import { anOrder } from './orders.ts';

const REQUEST = { order: anOrder(), idempotencyKey: 'order-1234-1' };
const APPROVED: AuthorizationOutcome = { kind: 'approved', reference: 'pi_1' };
const FAULT: AuthorizationOutcome = { kind: 'unknown', cause: 'bad_gateway', detail: 'HTTP 502' };
const OPTIONS = { volumeThreshold: 4, rollingWindowMs: 10_000, resetTimeoutMs: 5_000 };

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

describe('the breaker', () => {
  let gateway: ScriptedGateway;
  let guarded: GuardedGateway;
  let changes: (string | undefined)[];

  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
    gateway = new ScriptedGateway();
    guarded = guardWithBreaker(gateway, OPTIONS);
    changes = [];
    guarded.availability.onChange(() => {
      changes.push(guarded.availability.unavailableBecause());
    });
  });

  afterEach(() => {
    guarded.close();
    mock.timers.reset();
  });

  async function authorize(outcome: ScriptedGateway['next'], times = 1): Promise<AuthorizationOutcome[]> {
    gateway.next = outcome;
    const outcomes: AuthorizationOutcome[] = [];
    for (let n = 0; n < times; n += 1) outcomes.push(await guarded.authorize(REQUEST));
    return outcomes;
  }

  async function open(): Promise<void> {
    await authorize(FAULT, OPTIONS.volumeThreshold);
    assert.notEqual(guarded.availability.unavailableBecause(), undefined);
    gateway.calls = 0;
  }

  it('passes outcomes on as they are, faults included', async () => {
    assert.deepEqual(await authorize(APPROVED), [APPROVED]);
    assert.deepEqual(await authorize(FAULT), [FAULT]);
    assert.equal(guarded.availability.unavailableBecause(), undefined);
  });

  it('opens after enough faults: no call is made, and the gateway is unavailable', async () => {
    await open();
    const [outcome] = await authorize(APPROVED);
    assert.ok(outcome?.kind === 'unavailable' && outcome.cause === 'breaker_open');
    assert.equal(outcome.retryAfterMs, OPTIONS.resetTimeoutMs);
    assert.equal(gateway.calls, 0);
    assert.deepEqual(changes, ['the gateway keeps failing: the breaker is open']);
  });

  it('opens for each kind of fault', async () => {
    const faults: AuthorizationOutcome[] = [
      ...(['no_answer', 'connection_lost', 'server_error', 'bad_gateway'] as const).map((cause) => ({
        kind: 'unknown' as const,
        cause,
        detail: '',
      })),
      { kind: 'unavailable', cause: 'not_sent', detail: '' },
    ];
    for (const fault of faults) {
      const other = guardWithBreaker(gateway, OPTIONS);
      gateway.next = fault;
      for (let n = 0; n < OPTIONS.volumeThreshold; n += 1) await other.authorize(REQUEST);
      assert.notEqual(other.availability.unavailableBecause(), undefined, JSON.stringify(fault));
      other.close();
    }
  });

  it('stays closed for verdicts, rate limits and whatever else concerns one order or our configuration', async () => {
    const others: AuthorizationOutcome[] = [
      { kind: 'declined', reason: 'card_declined', class: 'hard', code: 'lost_card' },
      { kind: 'contradicted', reason: 'amount_mismatch' },
      { kind: 'rejected', code: 'parameter_missing' },
      ...(['unreadable_answer', 'pending', 'key_in_use'] as const).map((cause) => ({
        kind: 'unknown' as const,
        cause,
        detail: '',
      })),
      ...(['rate_limited', 'configuration', 'proxy_page'] as const).map((cause) => ({
        kind: 'unavailable' as const,
        cause,
        detail: '',
      })),
    ];
    for (const outcome of others) {
      const other = guardWithBreaker(gateway, OPTIONS);
      gateway.next = outcome;
      for (let n = 0; n < 2 * OPTIONS.volumeThreshold; n += 1) await other.authorize(REQUEST);
      assert.equal(other.availability.unavailableBecause(), undefined, JSON.stringify(outcome));
      other.close();
    }
  });

  it('waits for a slow call as long as it takes: its outcome is not lost', async () => {
    const slow = deferred();
    gateway.next = slow.promise;
    const underWay = guarded.authorize(REQUEST);
    mock.timers.tick(60_000);
    slow.resolve(APPROVED);
    assert.deepEqual(await underWay, APPROVED);
  });

  it('forgets faults that leave the rolling window', async () => {
    await authorize(FAULT, OPTIONS.volumeThreshold - 1);
    mock.timers.tick(OPTIONS.rollingWindowMs + 1_000);
    await authorize(FAULT);
    assert.equal(guarded.availability.unavailableBecause(), undefined);
  });

  it('is available when half-open, lets one request through, and is unavailable while that is out', async () => {
    await open();
    mock.timers.tick(OPTIONS.resetTimeoutMs);
    assert.equal(guarded.availability.unavailableBecause(), undefined);

    const probe = deferred();
    gateway.next = probe.promise;
    const probed = guarded.authorize(REQUEST);
    assert.match(guarded.availability.unavailableBecause() ?? '', /probe/);
    const other = await guarded.authorize(REQUEST);
    assert.ok(other.kind === 'unavailable' && other.cause === 'breaker_open');
    assert.ok((other.retryAfterMs ?? 0) < OPTIONS.resetTimeoutMs);
    assert.equal(gateway.calls, 1);

    probe.resolve(APPROVED);
    assert.deepEqual(await probed, APPROVED);
    assert.equal(guarded.availability.unavailableBecause(), undefined);
    await settled();
    assert.equal(changes.length, 4);
    assert.deepEqual(await authorize(APPROVED), [APPROVED]);
  });

  it('opens again when the probe meets a fault, and probes again', async () => {
    await open();
    for (let round = 0; round < 3; round += 1) {
      mock.timers.tick(OPTIONS.resetTimeoutMs);
      assert.deepEqual(await authorize(FAULT), [FAULT]);
      assert.match(guarded.availability.unavailableBecause() ?? '', /open/);
    }
    assert.equal(gateway.calls, 3);
  });

  it('closes when the probe is declined: the gateway is there', async () => {
    await open();
    mock.timers.tick(OPTIONS.resetTimeoutMs);
    await authorize({ kind: 'declined', reason: 'card_declined', class: 'hard', code: 'lost_card' });
    assert.equal(guarded.availability.unavailableBecause(), undefined);
  });

  it('passes a rejection on and counts it as a fault', async () => {
    gateway.next = new Error('a bug');
    for (let n = 0; n < OPTIONS.volumeThreshold; n += 1) {
      await assert.rejects(guarded.authorize(REQUEST), /a bug/);
    }
    assert.notEqual(guarded.availability.unavailableBecause(), undefined);
  });

  it("calls no listener from within opossum, which would take a listener's error for the request's", async () => {
    let stack: string | undefined;
    guarded.availability.onChange(() => {
      stack = new Error('where am I').stack;
    });
    await open();
    await settled();
    assert.match(stack ?? '', /breaker/);
    assert.doesNotMatch(stack ?? '', /opossum/);
  });

  it('lets a listener go', async () => {
    let called = 0;
    guarded.availability.onChange(() => (called += 1))();
    await open();
    await settled();
    assert.equal(called, 0);
  });

  it('after close makes no call and leaves no timer', async () => {
    mock.timers.reset();
    const timers = watchTimers();
    const other = guardWithBreaker(gateway, OPTIONS);
    const late = deferred();
    gateway.next = late.promise;
    const underWay = other.authorize(REQUEST);
    gateway.next = FAULT;
    for (let n = 0; n < OPTIONS.volumeThreshold; n += 1) await other.authorize(REQUEST);
    assert.ok(timers.alive() >= 2, 'the rolling window and the reset');

    other.close();
    late.resolve(FAULT);
    await underWay;
    gateway.calls = 0;
    const outcome = await other.authorize(REQUEST);
    assert.ok(outcome.kind === 'unavailable' && outcome.cause === 'breaker_open');
    assert.equal(gateway.calls, 0);
    await settled();
    await settled();
    assert.equal(timers.alive(), 0);
    timers.stop();
  });

  it('lets a request under way at close end as it would have', async () => {
    const late = deferred();
    gateway.next = late.promise;
    const underWay = guarded.authorize(REQUEST);
    guarded.close();
    late.resolve(APPROVED);
    assert.deepEqual(await underWay, APPROVED);
    assert.match(guarded.availability.unavailableBecause() ?? '', /closed down/);
  });
});

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

/** Counts the timers made from here on that still run; Node lists none that are unref'd, so its hooks are asked. */
function watchTimers(): { alive(): number; stop(): void } {
  const alive = new Set<number>();
  const hook = createHook({
    init: (id, type) => {
      if (type === 'Timeout') alive.add(id);
    },
    destroy: (id) => alive.delete(id),
  }).enable();
  return { alive: () => alive.size, stop: () => hook.disable() };
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
