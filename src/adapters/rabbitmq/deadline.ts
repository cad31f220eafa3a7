import type { Clock } from '../../topology/clock.ts';
import { RetriableError } from '../../topology/errors.ts';

/**
 * Settles as `promise` does, or rejects after `deadlineMs` with a RetriableError of class `broker_timeout`; what
 * `promise` comes to later is ignored. amqplib itself waits for ever: a reply that never comes, or a close whose
 * connection died meanwhile, would hang its caller.
 */
export function withDeadline<T>(
  clock: Clock,
  deadlineMs: number,
  what: string,
  promise: Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(deadlineMs, () => {
      reject(
        new RetriableError(`the broker did not answer within ${deadlineMs} ms: ${what}`, {
          errorClass: 'broker_timeout',
        }),
      );
    });
    promise.then(resolve, reject).finally(() => {
      timer.cancel();
    });
  });
}

/** Resolves after `delayMs`, or as soon as `signal` is aborted. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
      return;
    }
    const wake = () => {
      timer.cancel();
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const timer = clock.setTimer(delayMs, wake);
    signal?.addEventListener('abort', wake, { once: true });
  });
}
