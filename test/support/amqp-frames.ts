/**
 * AMQP 0-9-1 on the wire, as far as a test must see it to stop one frame and not its neighbours.
 *
 *   frame    type (1 byte)  channel (2)  size (4)  payload (size)  end 0xCE (1)
 *   type     1 method: payload starts with class id (2) and method id (2); 2 content header: class id (2);
 *            3 content body; 8 heartbeat
 *   before   the client's first 8 bytes are the protocol header "AMQP" 0 0 9 1, which is not a frame
 */
export interface AmqpFrame {
  readonly type: 'protocol-header' | 'method' | 'header' | 'body' | 'heartbeat';
  readonly channel: number;
  /** Of methods and content headers; otherwise 0. */
  readonly classId: number;
  /** Of methods; otherwise 0. */
  readonly methodId: number;
  readonly payload: Buffer;
  /** The whole frame as it was read. */
  readonly bytes: Buffer;
}

export interface AmqpMethod {
  readonly classId: number;
  readonly methodId: number;
}

export const connectionOpenOk: AmqpMethod = { classId: 10, methodId: 41 };
export const channelOpen: AmqpMethod = { classId: 20, methodId: 10 };
export const basicDeliver: AmqpMethod = { classId: 60, methodId: 60 };
export const basicReject: AmqpMethod = { classId: 60, methodId: 90 };
export const basicNack: AmqpMethod = { classId: 60, methodId: 120 };
export const basicPublish: AmqpMethod = { classId: 60, methodId: 40 };
/** Of consumers to the server, and of the server to publishers (a confirm). */
export const basicAck: AmqpMethod = { classId: 60, methodId: 80 };

export function isMethod(frame: AmqpFrame, { classId, methodId }: AmqpMethod): boolean {
  return frame.type === 'method' && frame.classId === classId && frame.methodId === methodId;
}

/** What the broker sends when it takes no publications for now, e.g. low on memory. */
export function connectionBlocked(reason: string): Buffer {
  const text = Buffer.from(reason);
  return methodFrame({ classId: 10, methodId: 60 }, Buffer.concat([Buffer.from([text.length]), text]));
}

/** What the broker sends when it ends a connection; 541 is its INTERNAL_ERROR. */
export function connectionClose(code: number, reason: string): Buffer {
  const text = Buffer.from(reason);
  const content = Buffer.alloc(3 + text.length + 4);
  content.writeUInt16BE(code, 0);
  content.writeUInt8(text.length, 2);
  text.copy(content, 3);
  return methodFrame({ classId: 10, methodId: 50 }, content);
}

export function connectionUnblocked(): Buffer {
  return methodFrame({ classId: 10, methodId: 61 }, Buffer.alloc(0));
}

function methodFrame({ classId, methodId }: AmqpMethod, content: Buffer): Buffer {
  const head = Buffer.alloc(11);
  head.writeUInt8(1, 0);
  head.writeUInt32BE(4 + content.length, 3);
  head.writeUInt16BE(classId, 7);
  head.writeUInt16BE(methodId, 9);
  return Buffer.concat([head, content, Buffer.from([frameEnd])]);
}

/** Cuts one direction of one connection into frames, however its chunks fall. */
export function amqpFrames(): (chunk: Buffer) => AmqpFrame[] {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    const frames: AmqpFrame[] = [];
    for (let length = nextLength(rest); length !== undefined; length = nextLength(rest)) {
      frames.push(parse(rest.subarray(0, length)));
      rest = rest.subarray(length);
    }
    return frames;
  };
}

const protocolHeader = Buffer.from('AMQP');
const frameEnd = 0xce;
const types = new Map<number, AmqpFrame['type']>([
  [1, 'method'],
  [2, 'header'],
  [3, 'body'],
  [8, 'heartbeat'],
]);

/** Length in bytes of the unit that `rest` starts with, once all of it is there. */
function nextLength(rest: Buffer): number | undefined {
  if (rest.length < 8) return undefined;
  const length = rest.subarray(0, 4).equals(protocolHeader) ? 8 : 7 + rest.readUInt32BE(3) + 1;
  return rest.length < length ? undefined : length;
}

function parse(bytes: Buffer): AmqpFrame {
  const none = { channel: 0, classId: 0, methodId: 0, payload: Buffer.alloc(0), bytes };
  if (bytes.subarray(0, 4).equals(protocolHeader)) return { ...none, type: 'protocol-header' };

  const type = types.get(bytes.readUInt8(0));
  if (type === undefined || bytes.at(-1) !== frameEnd) {
    throw new Error(`not an AMQP 0-9-1 frame: type ${bytes.readUInt8(0)}, end ${bytes.at(-1) ?? 'missing'}`);
  }
  const payload = bytes.subarray(7, -1);
  const hasClass = type === 'method' || type === 'header';
  return {
    type,
    channel: bytes.readUInt16BE(1),
    classId: hasClass ? payload.readUInt16BE(0) : 0,
    methodId: type === 'method' ? payload.readUInt16BE(2) : 0,
    payload,
    bytes,
  };
}
