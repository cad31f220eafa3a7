/**
 * Publishes messages one promise each: persistent, mandatory, confirmed, on one channel of its own.
 *
 *     waiting -> owed -> confirmed            resolves
 *        |         |---> returned, confirmed  rejects `unroutable`: definite, it is in no queue
 *        |         |---> nacked               rejects `nacked`: definite
 *        |         |---> deadline passed      rejects `ambiguous`: it may have arrived; publish it again
 *        |         `---> channel lost         rejects `ambiguous`
 *        |---> deadline passed                rejects `publisher_unavailable`: it was never sent
 *        `---> cannot be encoded              rejects `unpublishable`: its headers or properties never can be
 *
 * - An unroutable message is confirmed all the same, and its `basic.return` comes first. A return names no tag, so
 *   it is matched by exchange, routing key and message id, and taken for all owed messages that agree: a doubtful
 *   one is refused rather than believed.
 * - At most `windowSize` messages are owed a confirm. One whose deadline passed keeps its place until the broker
 *   speaks. The channel is replaced when nothing but such messages is left in the window, or when a deadline passes
 *   and the broker has confirmed nothing at all for half of it, or when it has refused everything for a second: a
 *   channel that meets a quorum queue in the very moment in which its leader dies keeps refusing until that node is back
 *   (seen on 3.10.8), and another channel does not.
 * - `false` from amqplib waits for `drain`; `connection.blocked` pauses. Both only delay: the deadline goes on.
 * - After a return, `prepare` runs again (at most every 5 s): a queue of ours that was deleted comes back.
 */
import { IllegalOperationError, type ConfirmChannel, type Message } from 'amqplib';

import type { Availability } from '../../ports/availability.ts';
import type { Log } from '../../ports/log.ts';
import type { Clock, Timer } from '../../topology/clock.ts';
import type { RandomSource } from '../../topology/random.ts';
import type { OpenedChannel } from './channel.ts';
import type { BrokerConnection } from './connection.ts';
import type { Link } from './link.ts';
import { KeepOpen, type OpenEvent } from './keep-open.ts';
import { ambiguous, refusalOf, unavailable, unpublishable, type Publication } from './publication.ts';
import { ReportedAvailability } from './reported-availability.ts';

export interface PublisherOptions {
  /** For people: what it publishes. */
  readonly name: string;
  readonly connection: BrokerConnection;
  /** Declares or checks what it publishes to; runs before every opening of the channel. */
  readonly prepare: (link: Link) => Promise<void>;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Log;
  /** From `publish` to the confirm. */
  readonly deadlineMs?: number;
  readonly windowSize?: number;
}

/** One message on its way; settled once. */
interface Outgoing {
  readonly publication: Publication;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  readonly deadline: Timer;
  sentAtMs: number;
  isReturned: boolean;
  isGivenUp: boolean;
}

interface PublishingChannel extends OpenedChannel<ConfirmChannel> {
  readonly link: Link;
  /** False between a `publish` that said so and `drain`, and when the channel is closing. */
  hasRoom: boolean;
}

const DEADLINE_MS = 10_000;
const WINDOW_SIZE = 256;
/** Beyond this nothing is accepted: who publishes is slower than who produces, and memory has an end. */
const LONGEST_BACKLOG = 10_000;
const PREPARE_AGAIN_AFTER_MS = 5_000;
const REFUSED_FOR_MS = 1_000;

export class Publisher {
  readonly availability: Availability;
  readonly #reported: ReportedAvailability;
  readonly #options: PublisherOptions;
  readonly #deadlineMs: number;
  readonly #windowSize: number;
  readonly #keeper: KeepOpen<PublishingChannel>;
  readonly #stopWatchingBlocked: () => void;
  readonly #waiting = new Set<Outgoing>();
  /** Sent on the current channel, and the broker has not spoken. */
  readonly #owed = new Set<Outgoing>();
  #unsettled = 0;
  #whenDrained: (() => void) | undefined;
  #isClosed = false;
  #preparedAtMs = 0;
  #lastAnswerAtMs = 0;
  /** Since when this channel has refused all that it answered; undefined when it took the last one. */
  #refusingSinceMs: number | undefined;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#deadlineMs = options.deadlineMs ?? DEADLINE_MS;
    this.#windowSize = options.windowSize ?? WINDOW_SIZE;
    this.#keeper = new KeepOpen({
      open: (signal) => this.#open(signal),
      causedBelow: () => options.connection.link === undefined,
      onChange: (event) => {
        this.#changed(event);
      },
      clock: options.clock,
      random: options.random,
    });
    this.#reported = new ReportedAvailability(options.name, () => this.#unavailableBecause());
    this.availability = this.#reported;
    this.#stopWatchingBlocked = options.connection.onBlockedChange(() => {
      this.#reported.review();
      this.#pump();
    });
  }

  start(): void {
    this.#keeper.start();
  }

  /** Resolves when the broker has taken the message over; rejects with a RetriableError of the classes above. */
  publish(publication: Publication): Promise<void> {
    if (this.#isClosed) return Promise.reject(unavailable(publication, 'the publisher is closed'));
    if (this.#waiting.size >= LONGEST_BACKLOG) {
      return Promise.reject(unavailable(publication, `${LONGEST_BACKLOG} messages wait already`));
    }
    return new Promise((resolve, reject) => {
      const deadline = this.#options.clock.setTimer(this.#deadlineMs, () => {
        this.#deadlinePassed(outgoing);
      });
      const outgoing: Outgoing = {
        publication,
        resolve,
        reject,
        deadline,
        sentAtMs: Infinity,
        isReturned: false,
        isGivenUp: false,
      };
      this.#unsettled += 1;
      this.#waiting.add(outgoing);
      this.#pump();
    });
  }

  /** Refuses new messages, waits until those under way are settled (their deadlines bound it), and closes. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#unsettled > 0) {
      await new Promise<void>((resolve) => {
        this.#whenDrained = resolve;
      });
    }
    this.#stopWatchingBlocked();
    await this.#keeper.close();
  }

  async #open(signal: AbortSignal): Promise<PublishingChannel> {
    const link = await this.#options.connection.whenOpen(signal);
    await this.#options.prepare(link);
    this.#preparedAtMs = this.#options.clock.nowMs();
    const opened = await link.openConfirmChannel();
    const channel: PublishingChannel = { ...opened, link, hasRoom: true };
    channel.channel.on('return', (message) => {
      this.#returned(message);
    });
    channel.channel.on('drain', () => {
      channel.hasRoom = true;
      this.#pump();
    });
    return channel;
  }

  #changed(event: OpenEvent): void {
    this.#reported.review();
    if (event.kind === 'opened') {
      this.#pump();
      return;
    }
    if (event.kind !== 'closed') {
      const { kind, ...fields } = event;
      this.#options.log.warn({ publisher: this.#options.name, ...fields }, `publishing channel ${kind}`);
    }
    for (const outgoing of this.#owed) this.#answered(outgoing, new Error(event.because));
  }

  #unavailableBecause(): string | undefined {
    const { connection } = this.#options;
    return connection.unavailableBecause() ?? this.#keeper.trouble;
  }

  /** Sends what may be sent now. */
  #pump(): void {
    for (const outgoing of this.#waiting) {
      const channel = this.#keeper.current;
      if (channel?.isOpen() !== true || !channel.hasRoom) return;
      if (channel.link.blockedBecause() !== undefined || this.#owed.size >= this.#windowSize) return;
      this.#send(channel, outgoing);
    }
  }

  #send(channel: PublishingChannel, outgoing: Outgoing): void {
    const { exchange, routingKey, body, properties } = outgoing.publication;
    const options = { ...properties, mandatory: true, persistent: true };
    const answer = (error: unknown) => {
      // amqplib fails what a refusal of the broker took along with no more than "channel closed".
      const refusal = error instanceof Error ? channel.refusal() : undefined;
      this.#answered(outgoing, refusal === undefined ? error : new Error(refusal));
    };
    try {
      channel.hasRoom = channel.channel.publish(exchange, routingKey, bufferOf(body), options, answer);
      outgoing.sentAtMs = this.#options.clock.nowMs();
      this.#owed.add(outgoing);
      this.#waiting.delete(outgoing);
    } catch (error) {
      // amqplib throws before it writes anything, so nothing was sent.
      if (error instanceof IllegalOperationError) channel.hasRoom = false;
      else {
        this.#waiting.delete(outgoing);
        this.#settle(outgoing, unpublishable(outgoing.publication, error));
      }
    }
  }

  /** The confirm, or the end of the channel, which amqplib reports through the same callback. */
  #answered(outgoing: Outgoing, error: unknown): void {
    if (!this.#owed.delete(outgoing)) return;
    this.#lastAnswerAtMs = this.#options.clock.nowMs();
    const refusal = refusalOf(outgoing.publication, outgoing.isReturned, error);
    if (!outgoing.isGivenUp) this.#settle(outgoing, refusal);
    if (refusal?.errorClass === 'nacked') this.#replaceIfRefusing();
    else this.#refusingSinceMs = undefined;
    this.#pump();
  }

  #replaceIfRefusing(): void {
    const { clock, log, name } = this.#options;
    this.#refusingSinceMs ??= clock.nowMs();
    if (clock.nowMs() - this.#refusingSinceMs < REFUSED_FOR_MS) return;
    this.#refusingSinceMs = undefined;
    log.warn({ publisher: name }, 'the broker refuses everything: the channel is replaced');
    void this.#keeper.current?.close();
  }

  #returned(message: Message): void {
    const { exchange, routingKey } = message.fields;
    for (const outgoing of this.#owed) {
      const { publication } = outgoing;
      outgoing.isReturned ||=
        publication.exchange === exchange &&
        publication.routingKey === routingKey &&
        publication.properties.messageId === message.properties.messageId;
    }
    void this.#prepareAgain();
  }

  async #prepareAgain(): Promise<void> {
    const { clock, log, name, prepare } = this.#options;
    const link = this.#keeper.current?.link;
    if (link === undefined || clock.nowMs() - this.#preparedAtMs < PREPARE_AGAIN_AFTER_MS) return;
    this.#preparedAtMs = clock.nowMs();
    try {
      await prepare(link);
    } catch (error) {
      log.warn(
        { publisher: name, err: error },
        'a message came back unroutable, and checking why did not work',
      );
    }
  }

  #deadlinePassed(outgoing: Outgoing): void {
    const { publication } = outgoing;
    if (this.#waiting.delete(outgoing)) {
      const because = this.#unavailableBecause() ?? 'too many messages are unconfirmed';
      this.#settle(outgoing, unavailable(publication, `not sent within ${this.#deadlineMs} ms: ${because}`));
      return;
    }
    outgoing.isGivenUp = true;
    this.#settle(outgoing, ambiguous(publication, `no confirm within ${this.#deadlineMs} ms`));
    this.#replaceIfStuck(outgoing);
  }

  /** A channel that a memory alarm keeps waiting is not stuck: on a new one it would only take longer to notice. */
  #replaceIfStuck(overdue: Outgoing): void {
    const { clock, log, name } = this.#options;
    const channel = this.#keeper.current;
    if (channel === undefined || channel.link.blockedBecause() !== undefined) return;
    const silentSinceMs = Math.max(this.#lastAnswerAtMs, overdue.sentAtMs);
    const isSilent = clock.nowMs() - silentSinceMs >= this.#deadlineMs / 2;
    const isFull = this.#owed.size >= this.#windowSize && [...this.#owed].every((one) => one.isGivenUp);
    if (!isSilent && !isFull) return;
    log.warn({ publisher: name }, 'the broker confirms nothing any more: the channel is replaced');
    void channel.close();
  }

  #settle(outgoing: Outgoing, error?: Error): void {
    outgoing.deadline.cancel();
    if (error === undefined) outgoing.resolve();
    else outgoing.reject(error);
    this.#unsettled -= 1;
    if (this.#unsettled === 0) this.#whenDrained?.();
  }
}

/** The same bytes, as the class that amqplib insists on. */
function bufferOf(body: Uint8Array): Buffer {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}
