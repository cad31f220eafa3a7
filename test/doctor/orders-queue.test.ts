import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { brokerTraits } from '../../src/adapters/rabbitmq/broker-version.ts';
import { bindingFindings } from '../../src/adapters/rabbitmq/examination/bindings.ts';
import {
  ordersQueueFindings,
  type DeadLetterRoute,
  type JudgedBy,
} from '../../src/adapters/rabbitmq/examination/orders-queue.ts';
import { queueFactsOf } from '../../src/adapters/rabbitmq/examination/queue-facts.ts';

const complete: DeadLetterRoute = { kind: 'complete', to: 'queue parked' };

/** `check: status` of everything that is found of a queue as the management API tells of it. */
function judged(
  queue: { type?: string; args?: object; policy?: object; durable?: boolean; auto_delete?: boolean },
  by: Partial<Omit<JudgedBy, 'broker'>> & { readonly version?: string } = {},
): readonly string[] {
  const { type = 'quorum', args = {}, policy = {}, durable = true, auto_delete = false } = queue;
  const facts = queueFactsOf({
    type,
    durable,
    auto_delete,
    arguments: args,
    effective_policy_definition: policy,
    members: ['a'],
    online: ['a'],
  });
  assert.ok(facts);
  const { version = '3.10.8', ...rest } = by;
  return ordersQueueFindings(facts, {
    queue: 'orders',
    broker: brokerTraits({ product: 'RabbitMQ', version }),
    prefetch: 625,
    longestHoldMs: 630_000,
    deadLetters: complete,
    ...rest,
  }).map(({ check, status }) => `${check.replace('orders-queue.', '')}: ${status}`);
}

const strict = { 'x-dead-letter-strategy': 'at-least-once', 'x-overflow': 'reject-publish' };

describe('an orders queue is judged', () => {
  for (const [what, queue, by, expected] of [
    ['durable quorum', {}, {}, 'type: ok'],
    ['classic', { type: 'classic' }, {}, 'type: warning'],
    ['stream', { type: 'stream' }, {}, 'type: error'],
    ['not durable', { type: 'classic', durable: false }, {}, 'type: error'],
    ['auto-delete', { type: 'classic', auto_delete: true }, {}, 'type: error'],
    ['another type', { type: 'rabbit_mqtt' }, {}, 'type: warning'],
    ['no dead letters', {}, { deadLetters: { kind: 'none' } }, 'dead-letters: warning'],
    [
      'dead letters into nothing',
      {},
      { deadLetters: { kind: 'broken', because: 'gone' } },
      'dead-letters: error',
    ],
    [
      'dead letters unknown',
      {},
      { deadLetters: { kind: 'unknown', because: '401' } },
      'dead-letters: skipped',
    ],
    ['dead letters at most once', {}, {}, 'dead-letters: warning'],
    ['dead letters at least once', { args: strict }, {}, 'dead-letters: ok'],
    ['no limit on 3.x', {}, {}, 'delivery-limit: ok'],
    ['the default limit of 4.x', {}, { version: '4.1.0' }, 'delivery-limit: warning'],
    [
      'the default limit of 4.x without dead letters',
      {},
      { version: '4.1.0', deadLetters: { kind: 'none' } },
      'delivery-limit: error',
    ],
    ['a limit of 3', { args: { 'x-delivery-limit': 3 } }, {}, 'delivery-limit: error'],
    ['a limit of 10', { args: { 'x-delivery-limit': 10 } }, {}, 'delivery-limit: warning'],
    ['a limit of 50', { args: { 'x-delivery-limit': 50 } }, {}, 'delivery-limit: ok'],
    [
      'a lower limit by policy',
      { args: { 'x-delivery-limit': 50 }, policy: { 'delivery-limit': 3 } },
      {},
      'delivery-limit: error',
    ],
    [
      'a higher limit by policy',
      { args: { 'x-delivery-limit': 50 }, policy: { 'delivery-limit': 90 } },
      {},
      'delivery-limit: ok',
    ],
    ['-1 on 3.x, where it drops', { args: { 'x-delivery-limit': -1 } }, {}, 'delivery-limit: error'],
    [
      '-1 on 4.x, where it is none',
      { args: { 'x-delivery-limit': -1 } },
      { version: '4.0.2' },
      'delivery-limit: ok',
    ],
    ['a TTL', { args: { 'x-message-ttl': 1000 } }, {}, 'limits: warning'],
    [
      'a TTL without dead letters',
      { args: { 'x-message-ttl': 1000 } },
      { deadLetters: { kind: 'none' } },
      'limits: error',
    ],
    ['a length that drops', { policy: { 'max-length': 5 } }, {}, 'limits: warning'],
    ['an expiry', { args: { 'x-expires': 5 } }, {}, 'limits: error'],
    [
      'a single active consumer',
      { args: { 'x-single-active-consumer': true } },
      {},
      'single-active-consumer: warning',
    ],
    [
      'a consumer timeout where none can be set',
      { policy: { 'consumer-timeout': 1000 } },
      {},
      'consumer-timeout: skipped',
    ],
    [
      'a consumer timeout below what is held',
      { policy: { 'consumer-timeout': 1000 } },
      { version: '3.12.0' },
      'consumer-timeout: error',
    ],
    [
      'a consumer timeout above it',
      { args: { 'x-consumer-timeout': 900_000 } },
      { version: '3.12.0' },
      'consumer-timeout: ok',
    ],
    ['classic on 4.3', { type: 'classic' }, { version: '4.3.1' }, 'consumer-timeout: ok'],
  ] as const) {
    it(`${what}: ${expected}`, () => {
      const found = judged(queue, by);
      assert.ok(found.includes(expected), found.join(', '));
    });
  }

  it('without complaint about a length that publishers hear of, and about limits that are not there', () => {
    const bounded = judged({ args: { ...strict, 'x-max-length': 5 } });
    assert.ok(!bounded.some((text) => text.startsWith('limits')), bounded.join(', '));
    assert.ok(!judged({ type: 'classic' }).some((text) => text.startsWith('delivery-limit')));
  });

  it('only when everything about it is known', () => {
    assert.equal(queueFactsOf({ type: 'quorum', arguments: {} }), undefined);
    assert.equal(queueFactsOf('not json of ours'), undefined);
  });
});

describe('bindings for announcements', () => {
  const routingKeys = ['order.ready-to-ship', 'order.denied'];
  for (const [type, patterns, expected] of [
    ['topic', ['order.*'], 'ok'],
    ['topic', ['#'], 'ok'],
    ['topic', ['order.#'], 'ok'],
    ['topic', ['#.denied', '*.ready-to-ship'], 'ok'],
    ['topic', ['order.#.#'], 'ok'],
    ['topic', ['order.denied'], 'error'],
    ['topic', ['*'], 'error'],
    ['topic', ['order.*.*'], 'error'],
    ['topic', [], 'error'],
    ['direct', ['order.*'], 'error'],
    ['direct', ['order.denied', 'order.ready-to-ship'], 'ok'],
    ['fanout', [''], 'ok'],
    ['fanout', [], 'error'],
    ['x-consistent-hash', ['1'], 'skipped'],
  ] as const) {
    it(`${type} by ${patterns.join(' and ') || 'nothing'}: ${expected}`, () => {
      const bindings = patterns.map((pattern) => ({ destination: 'q', destinationType: 'queue', pattern }));
      const options = { exchange: 'e', type, hasAlternate: false, bindings, routingKeys };
      assert.equal(bindingFindings(options)[0]?.status, expected);
      if (expected !== 'error') return;
      assert.equal(bindingFindings({ ...options, hasAlternate: true })[0]?.status, 'warning');
    });
  }
});
