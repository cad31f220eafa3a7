import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { amqpFrames, basicAck, basicPublish, isMethod } from './amqp-frames.ts';

const header = Buffer.from('AMQP\x00\x00\x09\x01', 'latin1');

function frame(type: number, channel: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(7);
  head.writeUInt8(type, 0);
  head.writeUInt16BE(channel, 1);
  head.writeUInt32BE(payload.length, 3);
  return Buffer.concat([head, payload, Buffer.from([0xce])]);
}

const publish = frame(1, 3, Buffer.from([0, 60, 0, 40, 0, 0, 0, 0, 0]));
const content = frame(2, 3, Buffer.from([0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0]));
const body = frame(3, 3, Buffer.from('\xce\xce\xce\xce\xce', 'latin1'));
const heartbeat = frame(8, 0, Buffer.alloc(0));
const ack = frame(1, 7, Buffer.from([0, 60, 0, 80, 0, 0, 0, 0, 0, 0, 0, 9, 0]));
const stream = Buffer.concat([header, publish, content, body, heartbeat, ack]);

test('frames come out whole and in order, however the chunks fall', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(stream.length), { maxLength: 30 }), (cuts) => {
      const split = amqpFrames();
      const edges = [0, ...cuts.sort((a, b) => a - b), stream.length];
      const frames = edges.slice(1).flatMap((end, i) => split(stream.subarray(edges[i], end)));

      const types = frames.map((one) => one.type);
      assert.deepEqual(types, ['protocol-header', 'method', 'header', 'body', 'heartbeat', 'method']);
      assert.deepEqual(Buffer.concat(frames.map((one) => one.bytes)), stream);
    }),
  );
});

test('a method is known by class and method id, on its channel', () => {
  const frames = amqpFrames()(stream);
  const acks = frames.filter((one) => isMethod(one, basicAck));
  assert.deepEqual(
    acks.map((one) => [one.channel, one.payload.readBigUInt64BE(4)]),
    [[7, 9n]],
  );
  assert.equal(frames.filter((one) => isMethod(one, basicPublish)).length, 1);
});

test('bytes that are no frame are refused', () => {
  assert.throws(
    () => amqpFrames()(Buffer.from('GET / HT\x00\x00\x00\x00', 'latin1').fill(0, 3, 7)),
    /not an AMQP/,
  );
  const badEnd = Buffer.from(heartbeat);
  badEnd[badEnd.length - 1] = 0;
  assert.throws(() => amqpFrames()(badEnd), /not an AMQP 0-9-1 frame: type 8, end 0/);
});
