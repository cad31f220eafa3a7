import type { Channel, ChannelModel, ConfirmChannel } from 'amqplib';

import type { Log } from '../../ports/log.ts';
import type { Clock } from '../../topology/clock.ts';
import { openedChannel, type OpenedChannel } from './channel.ts';
import { withDeadline } from './deadline.ts';
import type { Opened } from './keep-open.ts';

/** One connection while it lives. */
export interface Link extends Opened {
  readonly epoch: number;
  readonly brokerVersion: string;
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
  const opened = async <C extends Channel>(opening: Promise<C>): Promise<OpenedChannel<C>> => {
    const onSilence = () => {
      end('a channel that was to be closed did not answer');
    };
    const adopted = opening.then((channel) => openedChannel(channel, { clock, log, onSilence }));
    try {
      return await withDeadline(clock, SETUP_TIMEOUT_MS, 'opening a channel', adopted);
    } catch (error) {
      end('no channel could be opened');
      throw error;
    }
  };
  return {
    epoch,
    brokerVersion: model.connection.serverProperties.version,
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
