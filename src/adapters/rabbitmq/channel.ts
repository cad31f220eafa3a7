import type { Channel } from 'amqplib';

import type { Log } from '../../ports/log.ts';
import type { Clock } from '../../topology/clock.ts';
import { RetriableError } from '../../topology/errors.ts';
import { withDeadline } from './deadline.ts';
import type { Opened } from './keep-open.ts';
import { missingRightOf, missingRightText } from './missing-right.ts';

/** A channel of amqplib with its end as a promise. Closing it flushes everything sent on it before. */
export interface OpenedChannel<C extends Channel> extends Opened {
  readonly channel: C;
  isOpen(): boolean;
  /** The broker's last word on it, when it closed it: known before the calls under way fail for it. */
  refusal(): string | undefined;
}

const CLOSE_TIMEOUT_MS = 5_000;

/**
 * To be called in the tick in which the channel appears: an `error` without a listener would end the process. The
 * `handler-error` listener keeps amqplib from closing the channel with 541 when a callback of ours throws.
 *
 * `onUnanswered` is told when the broker does not answer the channel's closing in time. It has to end the connection:
 * nothing else ends such a channel, and the broker would keep for it what is unsettled there.
 */
export function openedChannel<C extends Channel>(
  channel: C,
  means: { readonly clock: Clock; readonly log: Log; readonly onUnanswered: () => void },
): OpenedChannel<C> {
  const { clock, log, onUnanswered } = means;
  let isOpen = true;
  let lastError: string | undefined;
  const ended = new Promise<string>((resolve) => {
    channel.on('error', (error) => {
      const missing = missingRightOf(error);
      lastError = missing === undefined ? error.message : missingRightText(missing);
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
    refusal: () => lastError,
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
        // Anything else says that it was closing already.
        if (error instanceof RetriableError && error.errorClass === 'broker_timeout') onUnanswered();
      }
    },
  };
}
