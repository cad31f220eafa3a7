import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { ConsumeMessage } from 'amqplib';

import { Generation, SettlementCounts } from '../../src/adapters/rabbitmq/generation.ts';
import { ScriptedChannel } from './scripted-broker.ts';

describe('a generation of deliveries', () => {
  it('settles each delivery once', () => {
    const { generation, channel, counts, received } = opened();
    const message = received(1);
    assert.equal(generation.settle(message, 'ack'), true);
    assert.equal(generation.settle(message, 'ack'), false);
    assert.equal(generation.settle(message, 'give-back'), false);
    assert.deepEqual([channel.acked, channel.givenBack], [[1], []]);
    assert.equal(counts.repeated, 2);
  });

  it('settles nothing any more after its end', () => {
    const { generation, channel, counts, received } = opened();
    const message = received(1);
    generation.end();
    assert.equal(generation.settle(message, 'ack'), false);
    assert.deepEqual(channel.acked, []);
    assert.equal(counts.stale, 1);
  });

  it('does not touch the order that has the same tag on the next channel', () => {
    const counts = new SettlementCounts();
    const first = opened(counts);
    const stale = first.received(1);
    first.generation.end();
    const second = opened(counts);
    const other = second.received(1);
    first.generation.settle(stale, 'ack');
    second.generation.settle(stale, 'ack');
    assert.deepEqual(second.channel.acked, []);
    assert.equal(second.generation.settle(other, 'ack'), true);
  });

  it('ends when its channel is closing already', () => {
    const { generation, channel, counts, received } = opened();
    const message = received(1);
    channel.isClosed = true;
    assert.equal(generation.settle(message, 'ack'), false);
    assert.equal(generation.isOpen, false);
    assert.equal(counts.stale, 1);
  });
});

function opened(counts = new SettlementCounts()) {
  const channel = new ScriptedChannel();
  const generation = new Generation(1, channel, counts);
  const received = (deliveryTag: number): ConsumeMessage => {
    const message = { fields: { deliveryTag } } as ConsumeMessage;
    generation.receive(message);
    return message;
  };
  return { generation, channel, counts, received };
}
