import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { amqpFrames, type AmqpFrame } from '../support/amqp-frames.ts';
import type { Direction } from '../support/tcp-proxy.ts';
import { entriesOf } from './files.ts';
import { openWireLog, type WireEvent } from './wire-watch.ts';

it('the wire log knows each message by its id, however it is settled and confirmed', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cardauth-wire-'));
  t.after(() => {
    rmSync(folder, { recursive: true });
  });
  const log = openWireLog(folder);
  const watch = log.watch(2);
  const say = (direction: Direction, ...frames: AmqpFrame[]): void => {
    for (const frame of frames) watch(1, direction, frame, 'pass');
  };

  say('toServer', method(20, 10));
  say(
    'toClient',
    ...deliver(1n, 'orders', 'm-1'),
    ...deliver(2n, 'orders', 'm-2'),
    ...deliver(3n, 'orders', 'm-3'),
  );
  say('toServer', ...publish('cardauth.parked', 'm-1'), ...publish('cardauth.retry.300', 'm-2'));
  say('toClient', settle(80, 2n, 1));
  say('toServer', settle(80, 1n, 0), settle(120, 2n, 0), settle(80, 9n, 0));
  // Opened again, the channel numbers anew: the third delivery is none of its own.
  say('toServer', method(20, 10), settle(80, 3n, 0));
  log.flush();

  const said = entriesOf<WireEvent>(folder, 'wire').map(({ what, messageId, routingKey, worker }) =>
    [worker, what, messageId, routingKey].join(' '),
  );
  assert.deepEqual(said, [
    '2 delivered m-1 orders',
    '2 delivered m-2 orders',
    '2 delivered m-3 orders',
    '2 published m-1 cardauth.parked',
    '2 published m-2 cardauth.retry.300',
    '2 confirmed m-1 cardauth.parked',
    '2 confirmed m-2 cardauth.retry.300',
    '2 acked m-1 orders',
    '2 given back m-2 orders',
    '2 settled twice  ',
    '2 settled twice  ',
  ]);
});

function deliver(tag: bigint, queue: string, messageId: string): AmqpFrame[] {
  const content = Buffer.concat([short('consumer'), long(tag), Buffer.from([0]), short(''), short(queue)]);
  return [method(60, 60, content), header(messageId)];
}

function publish(queue: string, messageId: string): AmqpFrame[] {
  return [
    method(60, 40, Buffer.concat([Buffer.alloc(2), short(''), short(queue), Buffer.from([1])])),
    header(messageId),
  ];
}

function settle(methodId: number, tag: bigint, bits: number): AmqpFrame {
  return method(60, methodId, Buffer.concat([long(tag), Buffer.from([bits])]));
}

/** With a content type, headers, a delivery mode and the message id. */
function header(messageId: string): AmqpFrame {
  const head = Buffer.alloc(14);
  head.writeUInt16BE(60, 0);
  head.writeUInt16BE(0x8000 | 0x2000 | 0x1000 | 0x0080, 12);
  const headers = Buffer.concat([short('k'), Buffer.from('t\x01', 'latin1')]);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(headers.length);
  return frame(
    2,
    Buffer.concat([head, short('application/json'), size, headers, Buffer.from([2]), short(messageId)]),
  );
}

function method(classId: number, methodId: number, content = Buffer.alloc(0)): AmqpFrame {
  const ids = Buffer.alloc(4);
  ids.writeUInt16BE(classId, 0);
  ids.writeUInt16BE(methodId, 2);
  return frame(1, Buffer.concat([ids, content]));
}

function frame(type: number, payload: Buffer): AmqpFrame {
  const head = Buffer.alloc(7);
  head.writeUInt8(type, 0);
  head.writeUInt16BE(1, 1);
  head.writeUInt32BE(payload.length, 3);
  const [parsed] = amqpFrames()(Buffer.concat([head, payload, Buffer.from([0xce])]));
  if (parsed === undefined) throw new Error('not a whole frame');
  return parsed;
}

function short(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);
}

function long(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}
