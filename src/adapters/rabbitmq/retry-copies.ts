/**
 * Sends an order's message to a level queue, from where the broker brings it back to the orders queue after the
 * level's time: the same order in the body (`CopyBody`), the message id kept, the attempt count in a header of ours.
 * The caller settles the original only after `send` resolved; dying in between duplicates the message, which the claim
 * absorbs.
 */
import { randomUUID } from 'node:crypto';

import type { CopyBody } from '../../ports/copy-body.ts';
import type { RetryLedger } from '../../ports/retry-ledger.ts';
import { RetriableError } from '../../topology/errors.ts';
import { levelQueueOf } from './declare.ts';
import {
  ATTEMPT_HEADER,
  COPY_ID_HEADER,
  EXHAUSTED_HEADER,
  FIRST_SEEN_HEADER,
  type Delivery,
} from './delivery.ts';
import type { Publication } from './publication.ts';
import type { Publisher } from './publisher.ts';

export interface RetryCopiesOptions {
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly prefix: string;
  readonly ordersQueue: string;
  /** At least one, in milliseconds. */
  readonly levelsMs: readonly number[];
  readonly copyBody: CopyBody;
  /** Told of every copy after its confirm. */
  readonly ledger?: Pick<RetryLedger, 'sent' | 'returned'>;
  /** Ids of copies; random UUIDs unless given. */
  readonly newId?: () => string;
}

interface Level {
  readonly waitMs: number;
  readonly queue: string;
}

export class RetryCopies {
  readonly #options: RetryCopiesOptions;
  /** The shortest wait first. */
  readonly #levels: readonly [Level, ...Level[]];

  /** Throws a RangeError when there is no level, or when a level queue's name would be too long. */
  constructor(options: RetryCopiesOptions) {
    const { levelsMs, ordersQueue, prefix } = options;
    this.#options = options;
    const [shortest, ...longer] = levelsMs
      .toSorted((one, other) => one - other)
      .map((waitMs) => ({ waitMs, queue: levelQueueOf(prefix, ordersQueue, waitMs) }));
    if (shortest === undefined) throw new RangeError('retry copies need at least one level queue');
    this.#levels = [shortest, ...longer];
  }

  /**
   * Resolves when the copy is safe in the first level of at least `waitMs` (the longest, if none is). `identity` is the
   * spout's message id: the order's id, or something with a space in it, which no order id has.
   */
  async send(delivery: Delivery, waitMs: number, identity = ' '): Promise<void> {
    const { copyBody, newId = randomUUID, publisher } = this.#options;
    const body = await copyBody(delivery.message.body, delivery.message);
    const level = this.#levelFor(waitMs);
    const copyId = newId();
    const publication = copyOf(delivery, body, copyId, level.queue);
    try {
      await publisher.publish(publication);
    } catch (error) {
      if (!isUnpublishable(error)) throw error;
      // The publisher's own headers, as amqplib decoded them, have no encoding: the order matters, they do not.
      await publisher.publish(withHeaders(publication, ownHeaders(delivery, copyId)));
    }
    this.#note(delivery, copyId, level, identity);
  }

  #levelFor(waitMs: number): Level {
    return this.#levels.find((one) => one.waitMs >= waitMs) ?? this.#levels.at(-1) ?? this.#levels[0];
  }

  #note(delivery: Delivery, copyId: string, level: Level, identity: string): void {
    const { ledger } = this.#options;
    // It was noted when it came; in case that note was lost.
    if (delivery.copyId !== undefined) ledger?.returned(delivery.copyId);
    ledger?.sent({
      copyId,
      orderId: identity.includes(' ') ? undefined : identity,
      messageId: delivery.message.messageId,
      levelMs: level.waitMs,
      reasonClass: delivery.failedAs ?? 'waited_here_for_too_long',
    });
  }
}

function copyOf(delivery: Delivery, body: Uint8Array, copyId: string, queue: string): Publication {
  const { message, raw } = delivery;
  return {
    exchange: '',
    routingKey: queue,
    body,
    properties: {
      // Not kept: expiration and user id, which would drop or refuse the copy, and reply-to, which nobody awaits.
      ...definedOnly({
        messageId: message.messageId,
        contentType: message.contentType,
        correlationId: message.correlationId,
        contentEncoding: stringOf(raw.properties.contentEncoding),
        type: stringOf(raw.properties.type),
        appId: stringOf(raw.properties.appId),
      }),
      headers: { ...message.headers, ...ownHeaders(delivery, copyId) },
    },
  };
}

export function isUnpublishable(error: unknown): boolean {
  return error instanceof RetriableError && error.errorClass === 'unpublishable';
}

export function withHeaders(publication: Publication, headers: Record<string, unknown>): Publication {
  return { ...publication, properties: { ...publication.properties, headers } };
}

/** Without the keys whose value is undefined. */
export function definedOnly<T extends Record<string, unknown>>(
  record: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

function ownHeaders(
  { exhaustedBecause, message }: Pick<Delivery, 'exhaustedBecause' | 'message'>,
  copyId: string,
): Record<string, unknown> {
  return {
    [ATTEMPT_HEADER]: message.attempt,
    [FIRST_SEEN_HEADER]: new Date(message.firstSeenMs).toISOString(),
    [EXHAUSTED_HEADER]: exhaustedBecause,
    [COPY_ID_HEADER]: copyId,
  };
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
