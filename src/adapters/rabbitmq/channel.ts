import type { Channel } from 'amqplib';

import type { Log } from '../../ports/log.ts';
import type { Clock } from '../../topology/clock.ts';
import { RetriableError } from '../../topology/errors.ts';
import { withDeadline } from './deadline.ts';
import type { Opened } from './keep-open.ts';

/** A channel of amqplib with its end as a promise. Closing it flushes everything sent on it before. */
export interface OpenedChannel<C extends Channel> extends Opened {
  readonly channel: C;
  isOpen(): boolean;
}

const CLOSE_TIMEOUT_MS = 5_000;

/**
 * To be called in the tick in which the channel appears: an `error` without a listener would end the process. The
 * `handler-error` listener keeps amqplib from closing the channel with 541 when a callback of ours throws.
 *
 * `onSilence`: closing it was not answered. The broker may still have the channel, with all that was delivered on it;
 * only the end of its connection gives that back.
 */
export function openedChannel<C extends Channel>(
  channel: C,
  { clock, log, onSilence }: { readonly clock: Clock; readonly log: Log; readonly onSilence: () => void },
): OpenedChannel<C> {
  let isOpen = true;
  let lastError: string | undefined;
  const ended = new Promise<string>((resolve) => {
    channel.on('error', (error) => {
      lastError = error.message;
    });
    channel.on('close', () => {
      isOpen = false;
      resolve(lastError ?? 'the channel was closed');
    });
  });
  channel.on('handler-error', (error, eventName) => {
    log.error({ err: error, eventName }, 'a listener of a RabbitMQ channel threw: this is a bug');
  });
  return {
    channel,
    ended,
    isOpen: () => isOpen,
    close: async () => {
      if (!isOpen) return;
      try {
        await withDeadline(
          clock,
          CLOSE_TIMEOUT_MS,
          'closing a channel',
          Promise.race([channel.close(), ended]),
        );
      } catch (error) {
        // Otherwise it was closing already.
        if (error instanceof RetriableError && error.errorClass === 'broker_timeout') onSilence();
      }
    },
  };
}
