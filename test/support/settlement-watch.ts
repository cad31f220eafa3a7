import {
  basicAck,
  basicDeliver,
  basicNack,
  basicReject,
  channelOpen,
  isMethod,
  type AmqpFrame,
} from './amqp-frames.ts';
import type { FrameWatch } from './tcp-proxy.ts';

/**
 * Watches that no frame settles what was not delivered on its own channel, or was settled before: the broker takes
 * such a frame for another message of that channel, without any error, when a tag happens to fit.
 */
export interface SettlementWatch {
  /** For `startAmqpProxy`. */
  readonly watch: FrameWatch;
  readonly delivered: number;
  readonly settled: number;
  /** In words, oldest first. */
  readonly violations: readonly string[];
}

/** One opening of one channel: delivery tags are numbered in it, from 1. */
interface ChannelLife {
  readonly unsettled: Set<bigint>;
}

export function watchSettlements(): SettlementWatch {
  const lives = new Map<string, ChannelLife>();
  const violations: string[] = [];
  const counts = { delivered: 0, settled: 0 };

  function lifeOf(connection: number, channel: number): ChannelLife {
    const key = `${connection}/${channel}`;
    const known = lives.get(key);
    if (known !== undefined) return known;
    const life = { unsettled: new Set<bigint>() };
    lives.set(key, life);
    return life;
  }

  function settle(connection: number, frame: AmqpFrame): void {
    const { tag, multiple } = settlementIn(frame);
    const { unsettled } = lifeOf(connection, frame.channel);
    const meant = multiple ? [...unsettled].filter((one) => tag === 0n || one <= tag) : [tag];
    const wrong = meant.length === 0 || meant.some((one) => !unsettled.delete(one));
    if (!wrong) counts.settled += meant.length;
    else {
      const where = `connection ${connection}, channel ${frame.channel}`;
      violations.push(`${where}: tag ${tag} is settled, which is not unsettled there`);
    }
  }

  return {
    watch(connection, direction, frame, verdict) {
      if (verdict === 'hold') return;
      if (direction === 'toServer') {
        if (isMethod(frame, channelOpen)) lives.delete(`${connection}/${frame.channel}`);
        // Written by the client, whether or not it arrives.
        else if ([basicAck, basicNack, basicReject].some((method) => isMethod(frame, method))) {
          settle(connection, frame);
        }
      } else if (isMethod(frame, basicDeliver) && verdict === 'pass') {
        counts.delivered += 1;
        lifeOf(connection, frame.channel).unsettled.add(deliveryTagIn(frame));
      }
    },
    get delivered() {
      return counts.delivered;
    },
    get settled() {
      return counts.settled;
    },
    violations,
  };
}

/** ack: tag (8), bits (multiple); nack: tag (8), bits (multiple, requeue); reject: tag (8), bits (requeue). */
function settlementIn(frame: AmqpFrame): { readonly tag: bigint; readonly multiple: boolean } {
  const bits = frame.payload.readUInt8(12);
  return {
    tag: frame.payload.readBigUInt64BE(4),
    multiple: !isMethod(frame, basicReject) && (bits & 1) === 1,
  };
}

/** deliver: consumer tag (short string), delivery tag (8), ... */
function deliveryTagIn({ payload }: AmqpFrame): bigint {
  return payload.readBigUInt64BE(5 + payload.readUInt8(4));
}
