/**
 * What the user may do, tried without taking, changing or announcing anything:
 *
 * - consuming with a priority that is no number: the broker checks the right first and then refuses the argument
 * - removing a binding that does not exist: right first, and then nothing happens
 * - publishing to a queue that does not exist, through the default exchange, which reaches nobody
 */
import { randomUUID } from 'node:crypto';

import type { Channel, ConfirmChannel } from 'amqplib';

import type { Clock } from '../../../topology/clock.ts';
import { withDeadline } from '../deadline.ts';
import type { Link } from '../link.ts';
import { missingRightOf, type MissingRight } from '../missing-right.ts';

export interface Trial {
  /** undefined: the broker let it through. */
  readonly missing: MissingRight | undefined;
  /** The object does not exist. */
  readonly isMissing: boolean;
  /** Anything else that the broker said. */
  readonly answer: string | undefined;
}

const TRIAL_TIMEOUT_MS = 5_000;
const NO_SUCH_KEY = 'cardauth-doctor';

/** Whether the queue may be consumed; `answer` tells a stream. */
export function tryConsuming(link: Link, clock: Clock, queue: string): Promise<Trial> {
  return trial(link, clock, (channel) =>
    channel.consume(queue, () => undefined, { arguments: { 'x-priority': 'none' } }),
  );
}

export function isStream({ answer }: Trial): boolean {
  return answer?.includes('rabbit_stream_queue') === true;
}

/** Whether the exchange may be published to. Its own binding to `amq.topic` with that key does not exist. */
export async function tryWriting(link: Link, clock: Clock, exchange: string): Promise<Trial> {
  const tried = await trial(link, clock, (channel) =>
    channel.unbindExchange(exchange, 'amq.topic', NO_SUCH_KEY),
  );
  // The destination is judged first: a refusal of the source says that the destination was let through.
  if (tried.missing === undefined || tried.missing.name !== exchange) return { ...tried, missing: undefined };
  return { ...tried, missing: { ...tried.missing, permission: 'write' } };
}

/**
 * Whether copies may be sent to queues by name. To be tried last: under an alarm the broker reads nothing more from a
 * connection that has published.
 */
export async function tryDefaultExchange(link: Link, clock: Clock): Promise<Trial> {
  const opened = await link.openConfirmChannel();
  try {
    const sent = publishToNobody(opened.channel);
    await withDeadline(clock, TRIAL_TIMEOUT_MS, 'publishing to no queue', sent);
    return { missing: undefined, isMissing: false, answer: undefined };
  } catch (error) {
    return trialOf(error);
  } finally {
    void opened.close();
  }
}

function publishToNobody(channel: ConfirmChannel): Promise<void> {
  return new Promise((resolve, reject) => {
    channel.once('error', reject);
    channel.publish('', `${NO_SUCH_KEY}-${randomUUID()}`, Buffer.alloc(0), {}, (error: unknown) => {
      if (error === null) resolve();
    });
  });
}

/** A passive declare: never creates anything. */
export function tryQueue(link: Link, clock: Clock, queue: string) {
  return look(link, clock, (channel) => channel.checkQueue(queue));
}

export function tryExchange(link: Link, clock: Clock, exchange: string) {
  return look(link, clock, (channel) => channel.checkExchange(exchange));
}

async function trial(link: Link, clock: Clock, ask: (channel: Channel) => Promise<unknown>): Promise<Trial> {
  const { trial: result } = await look(link, clock, ask);
  return result;
}

async function look<T>(
  link: Link,
  clock: Clock,
  ask: (channel: Channel) => Promise<T>,
): Promise<{ readonly trial: Trial; readonly found: T | undefined }> {
  const opened = await link.openChannel();
  try {
    const found = await withDeadline(clock, TRIAL_TIMEOUT_MS, 'a question of doctor', ask(opened.channel));
    return { trial: { missing: undefined, isMissing: false, answer: undefined }, found };
  } catch (error) {
    return { trial: trialOf(error), found: undefined };
  } finally {
    void opened.close();
  }
}

function trialOf(error: unknown): Trial {
  const isMissing = error instanceof Error && 'code' in error && error.code === 404;
  const answer = error instanceof Error ? error.message : String(error);
  return { missing: missingRightOf(error), isMissing, answer };
}
