/**
 * Sends an order's message to a level queue, from where the broker brings it back to the orders queue after the
 * level's time: the same order in the body (`CopyBody`), the message id kept, the attempt count in a header of ours.
 * The caller settles the original only after `send` resolved; dying in between duplicates the message, which the claim
 * absorbs.
 */
import type { CopyBody } from '../../ports/copy-body.ts';
import { RetriableError } from '../../topology/errors.ts';
import { levelQueueOf } from './declare.ts';
import { ATTEMPT_HEADER, EXHAUSTED_HEADER, FIRST_SEEN_HEADER, type Delivery } from './delivery.ts';
import type { Publication } from './publication.ts';
import type { Publisher } from './publisher.ts';

export interface RetryCopiesOptions {
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly prefix: string;
  readonly ordersQueue: string;
  /** At least one, in milliseconds. */
  readonly levelsMs: readonly number[];
  readonly copyBody: CopyBody;
}

export class RetryCopies {
  readonly #publisher: Pick<Publisher, 'publish'>;
  readonly #copyBody: CopyBody;
  /** The shortest wait first. */
  readonly #levels: readonly { readonly waitMs: number; readonly queue: string }[];

  /** Throws a RangeError when there is no level, or when a level queue's name would be too long. */
  constructor({ copyBody, levelsMs, ordersQueue, prefix, publisher }: RetryCopiesOptions) {
    if (levelsMs.length === 0) throw new RangeError('retry copies need at least one level queue');
    this.#publisher = publisher;
    this.#copyBody = copyBody;
    this.#levels = levelsMs
      .toSorted((one, other) => one - other)
      .map((waitMs) => ({ waitMs, queue: levelQueueOf(prefix, ordersQueue, waitMs) }));
  }

  /** Resolves when the copy is safe in the first level of at least `waitMs` (the longest, if none is). */
  async send(delivery: Delivery, waitMs: number): Promise<void> {
    const body = await this.#copyBody(delivery.message.body, delivery.message);
    const publication = copyOf(delivery, body, this.#levelQueueFor(waitMs));
    try {
      await this.#publisher.publish(publication);
    } catch (error) {
      if (!isUnpublishable(error)) throw error;
      // The publisher's own headers, as amqplib decoded them, have no encoding: the order matters, they do not.
      await this.#publisher.publish(withHeaders(publication, ownHeaders(delivery)));
    }
  }

  #levelQueueFor(waitMs: number): string {
    const level = this.#levels.find((one) => one.waitMs >= waitMs) ?? this.#levels.at(-1);
    return level?.queue ?? '';
  }
}

function copyOf({ exhaustedBecause, message, raw }: Delivery, body: Uint8Array, queue: string): Publication {
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
      headers: { ...message.headers, ...ownHeaders({ exhaustedBecause, message }) },
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

function ownHeaders({
  exhaustedBecause,
  message,
}: Pick<Delivery, 'exhaustedBecause' | 'message'>): Record<string, unknown> {
  return {
    [ATTEMPT_HEADER]: message.attempt,
    [FIRST_SEEN_HEADER]: new Date(message.firstSeenMs).toISOString(),
    [EXHAUSTED_HEADER]: exhaustedBecause,
  };
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
