import { EventEmitter } from 'node:events';

import type { Channel, ChannelModel, ConfirmChannel } from 'amqplib';

import type { Log } from '../../ports/log.ts';
import type { Clock } from '../../topology/clock.ts';
import { brokerTraits, type BrokerTraits } from './broker-version.ts';
import { openedChannel, type OpenedChannel } from './channel.ts';
import { withDeadline } from './deadline.ts';
import type { Opened } from './keep-open.ts';

/** One connection while it lives. */
export interface Link extends Opened {
  readonly epoch: number;
  readonly broker: BrokerTraits;
  /** As negotiated; 0: none. */
  readonly heartbeatSeconds: number;
  /** As negotiated. */
  readonly frameMaxBytes: number;
  isOpen(): boolean;
  /** Why the broker accepts no publishing at the moment; undefined when it does. */
  blockedBecause(): string | undefined;
  openChannel(): Promise<OpenedChannel<Channel>>;
  openConfirmChannel(): Promise<OpenedChannel<ConfirmChannel>>;
}

export interface LinkParts {
  readonly epoch: number;
  /** `host:port` of the broker, for people. */
  readonly label: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Destroys the socket; any number of times. */
  readonly destroy: () => void;
  readonly onBlockedChange: () => void;
}

const SETUP_TIMEOUT_MS = 10_000;
const GOODBYE_TIMEOUT_MS = 5_000;

/**
 * Has to be called in the tick in which amqplib hands the connection out: its listeners have to stand before the
 * next frame is read.
 *
 * The end is normally told by `close`, since a forced close emits no `error`. A connection that the broker closed in
 * the very packet that opened it has said `close` before anybody could listen, and never says it again; therefore one
 * on which no channel can be opened is over too.
 */
export function openedLink(model: ChannelModel, parts: LinkParts): Link {
  const { epoch, label, clock, log, destroy, onBlockedChange } = parts;
  let isOpen = true;
  let blocked = isBlocked(model) ? 'an alarm' : undefined;
  let lastError: string | undefined;
  let tellEnd: (because: string) => void = () => undefined;
  const ended = new Promise<string>((resolve) => {
    tellEnd = resolve;
  });
  const end = (because: string) => {
    isOpen = false;
    // What was written is flushed first; a peer that is gone would otherwise keep the socket half open.
    clock.defer(destroy);
    tellEnd(`the connection to ${label} ended: ${because}`);
  };
  model.on('error', (error) => {
    lastError = error.message;
  });
  model.on('close', (error?: Error) => {
    end(error?.message ?? lastError ?? 'closed');
  });
  model.on('blocked', (reason) => {
    blocked = reason;
    log.warn({ broker: label, reason }, 'the broker blocks publishing');
    onBlockedChange();
  });
  model.on('unblocked', () => {
    blocked = undefined;
    log.info({ broker: label }, 'the broker accepts publishing again');
    onBlockedChange();
  });
  // amqplib's model does not pass it on; without it, a listener of ours that throws would cost the connection.
  if (model.connection instanceof EventEmitter) {
    model.connection.on('handler-error', (error: Error, eventName: string) => {
      log.error({ err: error, eventName }, 'a listener of a RabbitMQ connection threw: this is a bug');
    });
  }
  const onUnanswered = () => {
    end('the broker does not answer any more');
  };
  const opened = async <C extends Channel>(opening: Promise<C>): Promise<OpenedChannel<C>> => {
    const adopted = opening.then((channel) => openedChannel(channel, { clock, log, onUnanswered }));
    try {
      return await withDeadline(clock, SETUP_TIMEOUT_MS, 'opening a channel', adopted);
    } catch (error) {
      end('no channel could be opened');
      throw error;
    }
  };
  return {
    epoch,
    broker: brokerTraits(model.connection.serverProperties),
    heartbeatSeconds: tuned(model, 'heartbeat'),
    frameMaxBytes: tuned(model, 'frameMax'),
    ended,
    isOpen: () => isOpen,
    blockedBecause: () => (blocked === undefined ? undefined : `the broker blocks publishing: ${blocked}`),
    openChannel: () => opened(model.createChannel()),
    openConfirmChannel: () => opened(model.createConfirmChannel()),
    close: async () => {
      if (!isOpen) return;
      const closing = Promise.race([model.close(), ended]);
      try {
        await withDeadline(clock, GOODBYE_TIMEOUT_MS, 'closing the connection', closing);
      } catch {
        end('it did not say goodbye');
      }
      await ended;
    },
  };
}

/** amqplib may have read `connection.blocked` before anybody could listen; it remembers it, but not in its types. */
function isBlocked(model: ChannelModel): boolean {
  return 'blocked' in model.connection && model.connection.blocked === true;
}

/** What amqplib agreed upon with the broker, which its types do not have. */
function tuned(model: ChannelModel, name: 'heartbeat' | 'frameMax'): number {
  const value: unknown = Object.getOwnPropertyDescriptor(model.connection, name)?.value;
  return typeof value === 'number' ? value : 0;
}
