/**
 * The broker, as replays of parked orders use it: a publisher to the orders queue, and a walk through the queue of
 * unsealed messages. Both on one connection.
 *
 * The walk takes messages one by one and leaves what it was not told to settle unsettled until its channel closes, which
 * gives them back: in their places, one delivery older, on a queue whose limit is as good as none.
 */
import type { GetMessage, Options } from 'amqplib';

import type { Log } from '../../ports/log.ts';
import type {
  ReplayBroker,
  ReplayMessage,
  UnsealedMessage,
  UnsealedQueue,
} from '../../ports/replay-broker.ts';
import { pause, type Clock } from '../../topology/clock.ts';
import { RetriableError } from '../../topology/errors.ts';
import type { RandomSource } from '../../topology/random.ts';
import { BrokerConnection, type Dial } from './connection.ts';
import { withDeadline } from './deadline.ts';
import { unsealedQueueOf } from './declare.ts';
import { publishersHeaders } from './delivery.ts';
import type { Endpoint } from './endpoint.ts';
import { PARK_ID_HEADER } from './park-headers.ts';
import type { Publication } from './publication.ts';
import { Publisher } from './publisher.ts';
import { definedOnly, isUnpublishable, withHeaders } from './retry-copies.ts';

export interface ReplayBrokerOptions {
  readonly endpoints: readonly Endpoint[];
  readonly ordersQueue: string;
  readonly prefix: string;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Log;
  /** Opens the connection; amqplib unless given. */
  readonly dial?: Dial | undefined;
}

const CONNECT_WALL_MS = 5_000;
const GET_WALL_MS = 10_000;
const LAST_ACKS_MS = 250;

/** Rejects with a RetriableError of class `publisher_unavailable` when no broker answers within five seconds. */
export async function openReplayBroker(
  options: ReplayBrokerOptions,
): Promise<ReplayBroker & { close(): Promise<void> }> {
  const { ordersQueue, prefix } = options;
  const connection = new BrokerConnection({ ...options, role: 'publish' });
  const publisher = new Publisher({
    ...options,
    name: 'replays',
    connection,
    // A missing queue shows in each message's return; it is not a command's to create it.
    prepare: () => Promise.resolve(),
  });
  const close = async (): Promise<void> => {
    await publisher.close();
    await connection.close();
  };
  connection.start();
  publisher.start();
  const givingUp = new AbortController();
  const wall = options.clock.setTimer(CONNECT_WALL_MS, () => {
    givingUp.abort();
  });
  try {
    await connection.whenOpen(givingUp.signal);
  } catch (cause) {
    const because = connection.unavailableBecause() ?? 'no answer';
    await close();
    throw unusable(`no broker of AMQP_URL could be used within ${CONNECT_WALL_MS} ms: ${because}`, cause);
  } finally {
    wall.cancel();
  }
  return {
    publish: (message) => publish(publisher, publicationOf(message, ordersQueue)),
    openUnsealedQueue: () => openUnsealedQueue(connection, unsealedQueueOf(prefix), options.clock),
    close,
  };
}

// --- publishing --------------------------------------------------------------------------------------------------

async function publish(publisher: Publisher, publication: Publication): Promise<void> {
  try {
    await publisher.publish(publication);
  } catch (error) {
    if (!isUnpublishable(error)) throw error;
    // The publisher's own headers, as they were recorded, have no encoding: the order matters, they do not.
    await publisher.publish(withHeaders(publication, {}));
  }
}

function publicationOf(message: ReplayMessage, queue: string): Publication {
  const { body, contentType, messageId, properties } = message;
  return {
    exchange: '',
    routingKey: queue,
    body,
    // No attempt counter and no time of a first sight: it begins anew.
    properties: { ...properties, ...definedOnly({ messageId, contentType }) } satisfies Options.Publish,
  };
}

// --- unsealed messages -------------------------------------------------------------------------------------------

async function openUnsealedQueue(
  connection: BrokerConnection,
  queue: string,
  clock: Clock,
): Promise<UnsealedQueue> {
  const link = await connection.whenOpen(AbortSignal.timeout(CONNECT_WALL_MS));
  const opened = await link.openChannel();
  const { channel } = opened;
  let isSettled = false;
  const settle = (message: GetMessage): void => {
    if (!opened.isOpen()) return;
    channel.ack(message);
    isSettled = true;
  };
  return {
    async take() {
      try {
        const message = await withDeadline(clock, GET_WALL_MS, `reading ${queue}`, channel.get(queue));
        if (message === false) return undefined;
        return {
          ...unsealedMessage(message),
          settle: () => {
            settle(message);
          },
        };
      } catch (error) {
        throw unusable(`the queue ${queue} cannot be read: ${opened.refusal() ?? messageOf(error)}`, error);
      }
    },
    async close() {
      // A quorum queue drops acks that are followed at once by the end of their channel.
      if (isSettled) await pause(clock, LAST_ACKS_MS);
      await opened.close();
    },
  };
}

function unsealedMessage({ content, properties }: GetMessage): Omit<UnsealedMessage, 'settle'> {
  const headers = properties.headers ?? {};
  return {
    parkId: textOf(headers[PARK_ID_HEADER]),
    message: {
      messageId: textOf(properties.messageId),
      contentType: textOf(properties.contentType),
      properties: {
        ...definedOnly({
          correlationId: textOf(properties.correlationId),
          contentEncoding: textOf(properties.contentEncoding),
          type: textOf(properties.type),
          appId: textOf(properties.appId),
        }),
        headers: publishersHeaders(headers),
      },
      body: content,
    },
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function unusable(message: string, cause?: unknown): RetriableError {
  return new RetriableError(message, { errorClass: 'publisher_unavailable', cause });
}
