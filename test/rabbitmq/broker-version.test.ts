import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { brokerTraits, type BrokerTraits } from '../../src/adapters/rabbitmq/broker-version.ts';

/** As RabbitMQ 3.10.8 sent them; of the others only the version differs that matters here. */
const recorded = {
  capabilities: { publisher_confirms: true, 'basic.nack': true, consumer_cancel_notify: true },
  cluster_name: 'rabbit@node',
  copyright: 'Copyright (c) 2007-2022 VMware, Inc. or its affiliates.',
  information: 'Licensed under the MPL 2.0. Website: https://rabbitmq.com',
  platform: 'Erlang/OTP 25.2.3',
  product: 'RabbitMQ',
  version: '3.10.8',
};

type Row = Pick<
  BrokerTraits,
  | 'defaultDeliveryLimit'
  | 'negativeDeliveryLimit'
  | 'countsGivenBack'
  | 'consumerTimeoutEnds'
  | 'hasConsumerTimeoutPerQueue'
  | 'passiveDeclareNeeds'
  | 'hasMirroredClassicQueues'
>;

function rowOf({
  defaultDeliveryLimit,
  negativeDeliveryLimit,
  countsGivenBack,
  consumerTimeoutEnds,
  hasConsumerTimeoutPerQueue,
  passiveDeclareNeeds,
  hasMirroredClassicQueues,
}: BrokerTraits): unknown[] {
  return [
    defaultDeliveryLimit,
    negativeDeliveryLimit,
    countsGivenBack,
    consumerTimeoutEnds,
    hasConsumerTimeoutPerQueue,
    passiveDeclareNeeds,
    hasMirroredClassicQueues,
  ] satisfies Row[keyof Row][];
}

describe('what a broker of a version does', () => {
  for (const [version, ...expected] of [
    ['3.10.8', undefined, 'drops-at-first-return', true, 'channel', false, 'nothing', true],
    ['3.11.14', undefined, 'drops-at-first-return', true, 'channel', false, 'nothing', true],
    ['3.12.0', undefined, 'drops-at-first-return', true, 'channel', true, 'nothing', true],
    ['3.13.7', undefined, 'drops-at-first-return', true, 'channel', true, 'nothing', true],
    ['4.0.0-rc.1', 20, 'no-limit', true, 'channel', true, 'nothing', false],
    ['4.0.0+2', 20, 'no-limit', true, 'channel', true, 'nothing', false],
    ['4.1.4', 20, 'no-limit', true, 'channel', true, 'nothing', false],
    ['4.2.5', 20, 'no-limit', true, 'channel', true, 'nothing', false],
    ['4.2.6', 20, 'no-limit', true, 'channel', true, 'configure', false],
    ['4.2.7', 20, 'no-limit', true, 'channel', true, 'any', false],
    ['4.3.0', 20, 'no-limit', false, 'consumer', true, 'configure', false],
    ['4.3.1', 20, 'no-limit', false, 'consumer', true, 'any', false],
    ['5.0.0', 20, 'no-limit', false, 'consumer', true, 'any', false],
  ] as const) {
    it(`RabbitMQ ${version}`, () => {
      const traits = brokerTraits({ ...recorded, version });
      assert.deepEqual(rowOf(traits), expected);
      assert.equal(traits.concern, undefined);
      assert.ok(Object.isFrozen(traits));
    });
  }

  it('larger frames and smaller messages come with 4.x', () => {
    const limits = (version: string) => {
      const { defaultMaxMessageBytes, smallestFrameMaxBytes, consumerTimeoutOn } = brokerTraits({
        ...recorded,
        version,
      });
      return [defaultMaxMessageBytes / 1024 / 1024, smallestFrameMaxBytes, consumerTimeoutOn];
    };
    assert.deepEqual(limits('3.13.7'), [128, 4_096, 'all-queues']);
    assert.deepEqual(limits('4.0.9'), [16, 4_096, 'all-queues']);
    assert.deepEqual(limits('4.1.0'), [16, 8_192, 'all-queues']);
    assert.deepEqual(limits('4.3.0'), [16, 8_192, 'quorum-queues']);
  });

  it('says what is wrong with a version that is too old, and uses it all the same', () => {
    const { concern, version } = brokerTraits({ ...recorded, version: '3.8.9' });
    assert.equal(version, '3.8.9');
    assert.match(concern ?? '', /RabbitMQ 3\.8\.9 is older than 3\.10: .*no TTL/);
    assert.equal(brokerTraits({ ...recorded, version: '3.9' }).concern?.includes('older'), true);
  });

  for (const [what, server, said] of [
    ['another product', { product: 'LavinMQ', version: '2.4.1' }, /^LavinMQ is not RabbitMQ/],
    ['no properties', {}, /^unknown is not RabbitMQ/],
    ['a version that is no text', { product: 'RabbitMQ', version: 4 }, /version "unknown" cannot be read/],
    ['a version in words', { product: 'RabbitMQ', version: 'four' }, /version "four" cannot be read/],
    ['a version with too many parts', { product: 'RabbitMQ', version: '4.0.0.1' }, /cannot be read/],
    ['control characters', { product: 'Rab\nbit', version: '4.0.0' }, /^Rab\?bit is not RabbitMQ/],
  ] as const) {
    it(`relies on as little as possible with ${what}`, () => {
      const traits = brokerTraits(server);
      assert.match(traits.concern ?? '', said);
      assert.deepEqual(rowOf(traits), [
        20,
        'drops-at-first-return',
        true,
        'channel',
        true,
        'configure',
        false,
      ]);
    });
  }
});
