/**
 * Reads along between workers and broker: which message was delivered where, how its delivery was settled, and which
 * copies of orders were published and confirmed. Frames are matched within one opening of one channel, where tags and
 * confirms are numbered from 1.
 */
import {
  basicAck,
  basicDeliver,
  basicNack,
  basicPublish,
  basicReject,
  channelOpen,
  isMethod,
  type AmqpFrame,
} from '../support/amqp-frames.ts';
import type { FrameWatch } from '../support/tcp-proxy.ts';
import { record } from './files.ts';

/** A line of wire.ndjson. */
export interface WireEvent {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly worker: number;
  readonly what:
    'delivered' | 'acked' | 'given back' | 'settled twice' | 'published' | 'confirmed' | 'refused';
  /** undefined where there is none, and for settlements of what is not known there. */
  readonly messageId: string | undefined;
  /** Of publications and deliveries, which for the default exchange is the queue. */
  readonly routingKey?: string;
}

export interface WireLog {
  watch(worker: number): FrameWatch;
  /** Writes down what is not yet; to be called now and then, and in the end. */
  flush(): void;
}

interface Routed {
  readonly messageId: string | undefined;
  readonly routingKey: string;
}

interface ChannelLife {
  readonly unsettled: Map<bigint, Routed>;
  readonly unconfirmed: Map<bigint, Routed>;
  publications: bigint;
  /** What the next content header in this direction belongs to. */
  readonly expecting: Partial<
    Record<'toServer' | 'toClient', ((messageId: string | undefined) => void) | undefined>
  >;
}

export function openWireLog(folder: string): WireLog {
  let events: WireEvent[] = [];
  return {
    watch(worker) {
      const lives = new Map<string, ChannelLife>();
      const say = (what: WireEvent['what'], messageId: string | undefined, routingKey?: string): void => {
        events.push({ atMs: Date.now(), worker, what, messageId, ...(routingKey && { routingKey }) });
      };
      return (connection, direction, frame, verdict) => {
        if (verdict !== 'pass') return;
        const key = `${connection}/${frame.channel}`;
        if (isMethod(frame, channelOpen)) lives.delete(key);
        const life = lives.get(key) ?? newLife();
        lives.set(key, life);
        if (frame.type === 'header') {
          life.expecting[direction]?.(messageIdIn(frame));
          life.expecting[direction] = undefined;
        } else if (direction === 'toServer') fromWorker(frame, life, say);
        else fromBroker(frame, life, say);
      };
    },
    flush() {
      record(folder, 'wire', ...events);
      events = [];
    },
  };
}

type Say = (what: WireEvent['what'], messageId: string | undefined, routingKey?: string) => void;

function fromWorker(frame: AmqpFrame, life: ChannelLife, say: Say): void {
  if (isMethod(frame, basicPublish)) {
    const routingKey = routingKeyIn(frame);
    life.publications += 1n;
    const number = life.publications;
    life.expecting.toServer = (messageId) => {
      life.unconfirmed.set(number, { messageId, routingKey });
      say('published', messageId, routingKey);
    };
  } else if ([basicAck, basicNack, basicReject].some((method) => isMethod(frame, method))) {
    const what = isMethod(frame, basicAck) ? 'acked' : 'given back';
    const { tag, multiple } = tagIn(frame);
    if (!life.unsettled.has(tag)) say('settled twice', undefined);
    for (const [each, { messageId, routingKey }] of meantBy(life.unsettled, tag, multiple)) {
      life.unsettled.delete(each);
      say(what, messageId, routingKey);
    }
  }
}

function fromBroker(frame: AmqpFrame, life: ChannelLife, say: Say): void {
  if (isMethod(frame, basicDeliver)) {
    const { tag, routingKey } = deliveryIn(frame);
    life.expecting.toClient = (messageId) => {
      life.unsettled.set(tag, { messageId, routingKey });
      say('delivered', messageId, routingKey);
    };
  } else if (isMethod(frame, basicAck) || isMethod(frame, basicNack)) {
    const { tag, multiple } = tagIn(frame);
    for (const [each, { messageId, routingKey }] of meantBy(life.unconfirmed, tag, multiple)) {
      life.unconfirmed.delete(each);
      say(isMethod(frame, basicAck) ? 'confirmed' : 'refused', messageId, routingKey);
    }
  }
}

function newLife(): ChannelLife {
  return { unsettled: new Map(), unconfirmed: new Map(), publications: 0n, expecting: {} };
}

function meantBy<T>(
  numbered: ReadonlyMap<bigint, T>,
  tag: bigint,
  multiple: boolean,
): (readonly [bigint, T])[] {
  return [...numbered].filter(([each]) => (multiple ? tag === 0n || each <= tag : each === tag));
}

/** ack: tag (8), bits (multiple); nack: tag (8), bits (multiple, requeue); reject: tag (8), bits (requeue). */
function tagIn(frame: AmqpFrame): { readonly tag: bigint; readonly multiple: boolean } {
  const multiple = !isMethod(frame, basicReject) && (frame.payload.readUInt8(12) & 1) === 1;
  return { tag: frame.payload.readBigUInt64BE(4), multiple };
}

/** deliver: consumer tag (short string), delivery tag (8), redelivered (1), exchange and routing key (short strings) */
function deliveryIn({ payload }: AmqpFrame): { readonly tag: bigint; readonly routingKey: string } {
  const at = 4 + shortLength(payload, 4);
  const exchangeAt = at + 9;
  const { text: routingKey } = shortString(payload, exchangeAt + shortLength(payload, exchangeAt));
  return { tag: payload.readBigUInt64BE(at), routingKey };
}

/** publish: reserved (2), exchange (short string), routing key (short string), ... */
function routingKeyIn({ payload }: AmqpFrame): string {
  return shortString(payload, 7 + payload.readUInt8(6)).text;
}

/** In the order of AMQP's content header; of each, how long it is. */
const PROPERTIES_BEFORE_MESSAGE_ID: readonly ((payload: Buffer, at: number) => number)[] = [
  shortLength, // content type
  shortLength, // content encoding
  (payload, at) => 4 + payload.readUInt32BE(at), // headers
  () => 1, // delivery mode
  () => 1, // priority
  shortLength, // correlation id
  shortLength, // reply to
  shortLength, // expiration
];

/** Content header: class (2), weight (2), body size (8), flags (2, highest bit first), the properties flagged. */
function messageIdIn({ payload }: AmqpFrame): string | undefined {
  const flags = payload.readUInt16BE(12);
  let at = 14;
  for (const [index, lengthOf] of PROPERTIES_BEFORE_MESSAGE_ID.entries()) {
    if (hasFlag(flags, index)) at += lengthOf(payload, at);
  }
  return hasFlag(flags, PROPERTIES_BEFORE_MESSAGE_ID.length) ? shortString(payload, at).text : undefined;
}

function hasFlag(flags: number, index: number): boolean {
  return (flags & (0x8000 >> index)) !== 0;
}

function shortLength(payload: Buffer, at: number): number {
  return 1 + payload.readUInt8(at);
}

function shortString(payload: Buffer, at: number): { readonly text: string } {
  return { text: payload.toString('utf8', at + 1, at + 1 + payload.readUInt8(at)) };
}
