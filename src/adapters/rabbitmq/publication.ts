import type { Options } from 'amqplib';

import { RetriableError } from '../../topology/errors.ts';

export interface Publication {
  /** '' is the default exchange: the routing key is then the queue's name. */
  readonly exchange: string;
  readonly routingKey: string;
  readonly body: Uint8Array;
  readonly properties: Omit<Options.Publish, 'mandatory' | 'persistent' | 'deliveryMode' | 'CC' | 'BCC'>;
}

/**
 * Why the broker's answer is no success; undefined when it is one. `error` is what amqplib hands to the confirm
 * callback, which also tells the end of the channel.
 */
export function refusalOf(
  publication: Publication,
  isReturned: boolean,
  error: unknown,
): RetriableError | undefined {
  if (isReturned) {
    return new RetriableError(`${labelOf(publication)} reached no queue: nothing is bound to take it`, {
      errorClass: 'unroutable',
    });
  }
  if (error === null || error === undefined) return undefined;
  // The one text by which amqplib tells a refusal from a lost channel.
  if (messageOf(error) !== 'message nacked') return ambiguous(publication, messageOf(error));
  return new RetriableError(`the broker refused ${labelOf(publication)}`, { errorClass: 'nacked' });
}

export function unpublishable(publication: Publication, cause: unknown): RetriableError {
  const name = cause instanceof Error ? cause.name : 'an error';
  return new RetriableError(`${labelOf(publication)} cannot be encoded: ${name}`, {
    errorClass: 'unpublishable',
  });
}

export function ambiguous(publication: Publication, because: string): RetriableError {
  return new RetriableError(`${labelOf(publication)} may or may not have arrived: ${because}`, {
    errorClass: 'ambiguous',
  });
}

export function unavailable(publication: Publication, because: string): RetriableError {
  return new RetriableError(`${labelOf(publication)} was not published: ${because}`, {
    errorClass: 'publisher_unavailable',
  });
}

function labelOf({ exchange, routingKey, properties }: Publication): string {
  const target = exchange === '' ? `queue ${routingKey}` : `exchange ${exchange} with key ${routingKey}`;
  return `message ${properties.messageId ?? '(without id)'} to ${target}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
