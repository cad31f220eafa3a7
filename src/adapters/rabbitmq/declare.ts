/**
 * What has to exist on the broker.
 *
 * - The orders queue and the notification exchange may belong to somebody else: `assert` creates them our way,
 *   `passive` checks that they are there, `none` just uses them. What carries our prefix is always asserted.
 * - Each declare runs alone on a scratch channel, because a refusal closes its channel.
 * - 406: it exists with other arguments. That is a PermanentProblem which names argument, theirs and ours.
 * - 403: a PermanentProblem which names the missing right. On a passive check it is only a warning, unless the broker
 *   lets every permission pass there: some versions ask for more rights than using the object takes.
 * - 404 on a passive check: it is missing; tried again with backoff until somebody creates it.
 *
 *     <prefix>.parked         quorum, no TTL, no limit: where parked orders wait to be recorded
 *     <prefix>.parked.unsealed   the same: recorded ones whose body no database may hold, until their replay
 *     <prefix>.dlx            fanout to <prefix>.parked, for what the broker itself dead-letters
 *     <prefix>.retry.<ms>     quorum, TTL <ms>, dead-letters back to the orders queue through the default exchange
 *
 * The names of level queues carry the orders queue's name unless that is `orders`: their dead-letter key is the
 * orders queue, and two workers on one broker with different orders queues must not meet in one level.
 */
import type { Channel } from 'amqplib';

import type { Log } from '../../ports/log.ts';
import type { Clock } from '../../topology/clock.ts';
import type { Link } from './link.ts';
import { withDeadline } from './deadline.ts';
import { PermanentProblem } from './keep-open.ts';
import { missingRightOf, missingRightText, namingMissingRight, type MissingRight } from './missing-right.ts';

/** How objects are treated that may belong to somebody else. */
export type DeclareMode = 'assert' | 'passive' | 'none';

/** The means of declaring: one link, and what it takes to wait and to warn. */
export interface Declaring {
  readonly link: Link;
  readonly clock: Clock;
  readonly log: Log;
}

/** Every worker crash counts as a delivery of everything prefetched, so a small limit would lose good orders. */
export const DELIVERY_LIMIT = 50;
/** No number for "none" means the same to all versions. */
const AS_GOOD_AS_NO_LIMIT = 1_000_000;
const DECLARE_TIMEOUT_MS = 10_000;
const LONGEST_NAME_BYTES = 255;

export type QueueArguments = Readonly<Record<string, string | number>>;

export const PARKED_QUEUE_ARGUMENTS: QueueArguments = { 'x-queue-type': 'quorum' };

export function parkedQueueOf(prefix: string): string {
  return `${prefix}.parked`;
}

export function unsealedQueueOf(prefix: string): string {
  return `${prefix}.parked.unsealed`;
}

export function levelQueueOf(prefix: string, ordersQueue: string, levelMs: number): string {
  const name =
    ordersQueue === 'orders' ? `${prefix}.retry.${levelMs}` : `${prefix}.retry.${ordersQueue}.${levelMs}`;
  if (Buffer.byteLength(name) > LONGEST_NAME_BYTES) {
    throw new RangeError(
      `the retry queue's name ${name} is over 255 bytes: shorten the name of the orders queue`,
    );
  }
  return name;
}

/** Checks or creates the orders queue. In mode `assert` its dead letters go to the parking lot. */
export async function declareOrdersQueue(
  on: Declaring,
  options: { readonly queue: string; readonly prefix: string; readonly mode: DeclareMode },
): Promise<void> {
  const { queue, prefix, mode } = options;
  if (mode === 'none') return;
  if (mode === 'passive') {
    await check(on, `queue ${queue}`, (channel) => channel.checkQueue(queue));
    return;
  }
  await declareParkedQueue(on, prefix);
  await assertQueue(on, queue, ordersQueueArguments(prefix));
}

export function ordersQueueArguments(prefix: string): QueueArguments {
  return {
    'x-queue-type': 'quorum',
    'x-delivery-limit': DELIVERY_LIMIT,
    'x-dead-letter-exchange': deadLetterExchangeOf(prefix),
    'x-dead-letter-strategy': 'at-least-once',
    'x-overflow': 'reject-publish',
  };
}

/** Checks or creates the topic exchange that announcements go to. */
export async function declareNotificationExchange(
  on: Declaring,
  options: { readonly exchange: string; readonly mode: DeclareMode },
): Promise<void> {
  const { exchange, mode } = options;
  if (mode === 'none') return;
  if (mode === 'passive')
    await check(on, `exchange ${exchange}`, (channel) => channel.checkExchange(exchange));
  else await assertExchange(on, exchange, 'topic');
}

export async function declareParkedQueue(on: Declaring, prefix: string): Promise<void> {
  const queue = parkedQueueOf(prefix);
  await assertQueue(on, queue, PARKED_QUEUE_ARGUMENTS);
  await assertExchange(on, deadLetterExchangeOf(prefix), 'fanout');
  await scratch(on, `bind ${queue}`, (channel) => channel.bindQueue(queue, deadLetterExchangeOf(prefix), ''));
}

/** Whoever looks for a message here gives the others back; each time counts, and 20 would be the end on 4.x. */
export async function declareUnsealedQueue(on: Declaring, prefix: string): Promise<void> {
  await assertQueue(on, unsealedQueueOf(prefix), {
    'x-queue-type': 'quorum',
    'x-delivery-limit': AS_GOOD_AS_NO_LIMIT,
  });
}

/**
 * At-least-once dead-lettering needs `reject-publish`, and either alone loses messages when the orders queue is
 * missing. The TTL stands on the queue: one message's own would wait behind a longer one's.
 */
export async function declareLevelQueues(
  on: Declaring,
  options: { readonly prefix: string; readonly ordersQueue: string; readonly levelsMs: readonly number[] },
): Promise<void> {
  for (const levelMs of options.levelsMs) {
    const queue = levelQueueOf(options.prefix, options.ordersQueue, levelMs);
    await assertQueue(on, queue, levelQueueArguments(options.ordersQueue, levelMs));
  }
}

export function levelQueueArguments(ordersQueue: string, levelMs: number): QueueArguments {
  return {
    'x-queue-type': 'quorum',
    'x-message-ttl': levelMs,
    'x-dead-letter-exchange': '',
    'x-dead-letter-routing-key': ordersQueue,
    'x-dead-letter-strategy': 'at-least-once',
    'x-overflow': 'reject-publish',
  };
}

export function deadLetterExchangeOf(prefix: string): string {
  return `${prefix}.dlx`;
}

/** Creates the queue, or sees that it is as it should be; a PermanentProblem names the difference. */
export async function assertQueue(on: Declaring, queue: string, args: QueueArguments): Promise<void> {
  await scratch(on, `queue ${queue}`, (channel) =>
    channel.assertQueue(queue, { durable: true, arguments: args }),
  );
}

async function assertExchange(on: Declaring, exchange: string, type: 'topic' | 'fanout'): Promise<void> {
  await scratch(on, `exchange ${exchange}`, (channel) =>
    channel.assertExchange(exchange, type, { durable: true }),
  );
}

async function check(
  on: Declaring,
  what: string,
  ask: (channel: Channel) => Promise<unknown>,
): Promise<void> {
  try {
    await scratch(on, what, ask);
  } catch (error) {
    if (replyCodeOf(error) === 404) {
      const remedy = 'create it, or set CARDAUTH_BROKER_DECLARE=assert';
      throw new Error(`${what} does not exist on the broker: ${remedy}`, { cause: error });
    }
    const missing = error instanceof Error ? missingRightOf(error.cause) : undefined;
    if (missing === undefined) throw error;
    if (on.link.broker.passiveDeclareNeeds === 'any') throw lacksEveryRight(missing, error);
    on.log.warn({ what }, 'may not check it on the broker (403): using it unchecked');
  }
}

/** Any permission at all would have let the check through, so the one that using the object takes is missing too. */
function lacksEveryRight(missing: MissingRight, cause: unknown): PermanentProblem {
  const permission = missing.kind === 'queue' ? 'read' : 'write';
  return new PermanentProblem(missingRightText({ ...missing, permission }), { cause });
}

/** Runs one declare on a channel of its own; a 406 becomes a report of the difference. */
async function scratch(
  on: Declaring,
  what: string,
  declare: (channel: Channel) => Promise<unknown>,
): Promise<void> {
  const opened = await on.link.openChannel();
  try {
    await withDeadline(on.clock, DECLARE_TIMEOUT_MS, `declaring ${what}`, declare(opened.channel));
  } catch (error) {
    if (replyCodeOf(error) === 406) throw new PermanentProblem(differenceOf(what, error), { cause: error });
    throw namingMissingRight(error);
  } finally {
    void opened.close();
  }
}

function replyCodeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** RabbitMQ: `inequivalent arg 'x-message-ttl' for queue 'q' in vhost '/': received '2000' but current is '1000'`. */
const INEQUIVALENT = /inequivalent arg '([^']+)'.*: received (.+) but current is (.+?)"?$/;

function differenceOf(what: string, error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const [, argument, ours, theirs] = INEQUIVALENT.exec(text) ?? [];
  if (argument === undefined) return `the broker refuses ${what}: ${text}`;
  return (
    `${what} exists with other arguments: ${argument} is ${valueOf(theirs)} there, ours would be ${valueOf(ours)}; ` +
    `empty and delete it so that it can be declared anew, or use another name`
  );
}

/** Of `'1000'`, `the value 'x' of type 'longstr'` and `none`. */
function valueOf(text = ''): string {
  return /'[^']*'/.exec(text)?.[0] ?? text;
}
