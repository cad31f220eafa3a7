/**
 * Consumes one queue, over channels that come and go.
 *
 *     channel opening -> idle <-> consuming          (activate, deactivate)
 *                          |         |
 *                          `--> ended -> opening ...  channel died, consumer cancelled by the broker
 *
 * - Every channel is a new generation; `onEnd` says which one is over, in the tick in which it is known or later,
 *   never after a delivery of the next.
 * - The broker cancels a consumer when its queue is deleted or moves: the channel is closed, so that what is
 *   unsettled goes back, and consuming is tried again with backoff. A missing queue is asked for until it is there.
 * - Prefetch is per consumer, and every delivery has to be acked.
 * - A stream is refused: it would deliver, but acking removes nothing there. Asking for consumer priority 0, which
 *   is the default, is what tells: streams refuse that argument.
 * - After `quiesce` there is no consumer any more and there will be none; what arrives until the broker confirmed
 *   that is given back. Settling goes on until `close`.
 * - `close` flushes the acks: it closes the channel before the connection, since closing the connection alone loses
 *   them, and it pauses before that: a quorum queue takes about 32 acks at a time (`quorum_commands_soft_limit`),
 *   the broker's side of the channel keeps the rest until those are on disk, and drops it when it closes (seen on
 *   3.10.8: 566 of 600 acks, and none after 60 ms). What is lost all the same is delivered again, not forgotten.
 */
import type { Channel, ConsumeMessage } from 'amqplib';

import type { Log } from '../../ports/log.ts';
import type { Clock } from '../../topology/clock.ts';
import type { RandomSource } from '../../topology/random.ts';
import type { OpenedChannel } from './channel.ts';
import type { BrokerConnection } from './connection.ts';
import type { Link } from './link.ts';
import { sleep, withDeadline } from './deadline.ts';
import { Generation, type SettlementCounts } from './generation.ts';
import { KeepOpen, PermanentProblem, type OpenEvent } from './keep-open.ts';
import { namingMissingRight } from './missing-right.ts';

export interface IntakeOptions {
  readonly connection: BrokerConnection;
  readonly queue: string;
  readonly prefetch: number;
  /** Declares or checks the queue; runs before every opening of the channel. */
  readonly prepare: (link: Link) => Promise<void>;
  readonly counts: SettlementCounts;
  /** Must not throw. */
  readonly onDelivery: (message: ConsumeMessage, generation: Generation) => void;
  readonly onEnd: (generation: Generation) => void;
  /** Readiness may have changed. */
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Log;
}

interface ConsumingChannel extends OpenedChannel<Channel> {
  readonly generation: Generation;
  consumerTag: string | undefined;
  /**
   * Deliveries that came after the last was wanted. They are given back when the broker has confirmed the cancel: before
   * that they would come straight back, again and again, until its delivery limit took them for poison.
   */
  readonly late: ConsumeMessage[];
  /** Known before the channel says it itself, when it is we who close it. */
  endedBecause: string | undefined;
}

const CALL_TIMEOUT_MS = 10_000;
const FLUSH_PAUSE_MS = 250;

export class Intake {
  readonly #options: IntakeOptions;
  readonly #keeper: KeepOpen<ConsumingChannel>;
  #epoch = 0;
  #wantsConsumer = false;
  #isQuiesced = false;
  #isReconciling = false;
  #reconciled = Promise.resolve();

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.#keeper = new KeepOpen({
      open: (signal) => this.#open(signal),
      causedBelow: () => options.connection.link === undefined,
      onChange: (event) => {
        this.#changed(event);
      },
      clock: options.clock,
      random: options.random,
    });
  }

  start(): void {
    this.#keeper.start();
  }

  activate(): void {
    if (this.#isQuiesced) return;
    this.#wantsConsumer = true;
    this.#options.onChange();
    void this.#reconcile();
  }

  deactivate(): void {
    this.#wantsConsumer = false;
    void this.#reconcile();
  }

  /** Why nothing can be consumed; undefined when it can, also while nobody wants to. */
  unavailableBecause(): string | undefined {
    const { connection, queue } = this.#options;
    const trouble = connection.unavailableBecause() ?? this.#keeper.trouble ?? this.#notYet();
    return trouble === undefined ? undefined : `queue ${queue}: ${trouble}`;
  }

  #notYet(): string | undefined {
    const awaited = this.#wantsConsumer && this.#keeper.current?.consumerTag === undefined;
    return awaited ? 'consuming has not begun yet' : undefined;
  }

  /** Resolves when no further delivery can arrive. */
  async quiesce(): Promise<void> {
    this.#isQuiesced = true;
    this.#wantsConsumer = false;
    this.#keeper.stopOpening();
    await this.#reconcile();
  }

  async close(): Promise<void> {
    await this.quiesce();
    if (this.#keeper.current?.isOpen() === true) {
      await sleep(this.#options.clock, FLUSH_PAUSE_MS);
    }
    await this.#keeper.close();
    await this.#options.connection.close();
    await this.#keeper.over();
  }

  async #open(signal: AbortSignal): Promise<ConsumingChannel> {
    const { connection, prefetch, prepare } = this.#options;
    const link = await connection.whenOpen(signal);
    await prepare(link);
    const channel = this.#adopt(await link.openChannel());
    try {
      await this.#call('setting the prefetch', channel.channel.prefetch(prefetch, false));
      if (this.#wantsConsumer) await this.#consume(channel);
      return channel;
    } catch (error) {
      this.#giveUp(channel, 'it could not be set up');
      throw error;
    }
  }

  #adopt(opened: OpenedChannel<Channel>): ConsumingChannel {
    this.#epoch += 1;
    const channel: ConsumingChannel = {
      ...opened,
      ended: opened.ended.then((because) => channel.endedBecause ?? because),
      generation: new Generation(this.#epoch, opened.channel, this.#options.counts),
      consumerTag: undefined,
      late: [],
      endedBecause: undefined,
    };
    opened.channel.on('close', () => {
      this.#end(channel.generation);
    });
    return channel;
  }

  #changed(event: OpenEvent): void {
    const { log, onChange, queue } = this.#options;
    if (event.kind === 'opened') void this.#reconcile();
    else if (event.kind !== 'closed') {
      const { kind, ...fields } = event;
      log.warn({ queue, ...fields }, `consuming channel ${kind}`);
    }
    onChange();
  }

  /** Starts or cancels the consumer until it is as wanted. A call that goes wrong ends the channel. */
  #reconcile(): Promise<void> {
    if (!this.#isReconciling) {
      this.#isReconciling = true;
      this.#reconciled = this.#reconcileNow();
    }
    return this.#reconciled;
  }

  async #reconcileNow(): Promise<void> {
    for (;;) {
      const channel = this.#keeper.current;
      if (channel?.isOpen() !== true || this.#wantsConsumer === (channel.consumerTag !== undefined)) break;
      try {
        await (this.#wantsConsumer ? this.#consume(channel) : this.#cancel(channel));
      } catch (error) {
        this.#giveUp(channel, error instanceof Error ? error.message : String(error));
        break;
      }
    }
    // In the same tick as the last look, so that no wish falls in between.
    this.#isReconciling = false;
  }

  async #consume(channel: ConsumingChannel): Promise<void> {
    const { queue } = this.#options;
    const consuming = channel.channel.consume(
      queue,
      (message) => {
        this.#received(channel, message);
      },
      { noAck: false, arguments: { 'x-priority': 0 } },
    );
    try {
      const { consumerTag } = await this.#call('starting the consumer', consuming);
      channel.consumerTag = consumerTag;
    } catch (error) {
      throw isStreamRefusal(error)
        ? new PermanentProblem(
            `queue ${queue} is a stream: acking removes nothing there, so it cannot hold orders`,
          )
        : namingMissingRight(error);
    }
    this.#options.log.info({ queue, epoch: channel.generation.epoch }, 'consuming');
    this.#options.onChange();
  }

  async #cancel(channel: ConsumingChannel): Promise<void> {
    const { consumerTag = '' } = channel;
    await this.#call('cancelling the consumer', channel.channel.cancel(consumerTag));
    channel.consumerTag = undefined;
    for (const message of channel.late.splice(0)) channel.generation.settle(message, 'give-back');
  }

  #received(channel: ConsumingChannel, message: ConsumeMessage | null): void {
    const { generation } = channel;
    if (message === null) {
      this.#giveUp(channel, 'the broker cancelled the consumer: the queue was deleted or moved');
      return;
    }
    if (!generation.isOpen) return;
    generation.receive(message);
    if (this.#isQuiesced) channel.late.push(message);
    else this.#options.onDelivery(message, generation);
  }

  /** Ends the generation at once; closing the channel gives back what is unsettled. */
  #giveUp(channel: ConsumingChannel, because: string): void {
    channel.endedBecause ??= because;
    this.#end(channel.generation);
    void channel.close();
  }

  #end(generation: Generation): void {
    if (!generation.isOpen) return;
    generation.end();
    this.#options.onEnd(generation);
  }

  #call<T>(what: string, promise: Promise<T>): Promise<T> {
    return withDeadline(this.#options.clock, CALL_TIMEOUT_MS, what, promise);
  }
}

function isStreamRefusal(error: unknown): boolean {
  return error instanceof Error && /invalid arg 'x-priority'/.test(error.message);
}
