/**
 * The reliable source of the topology: a delivery from the orders queue becomes a tuple, and its tree's outcome
 * settles the delivery. Where a delivery stands:
 *
 *     fresh -> live -> acked
 *      ^        |----> held, moving    waits for its replay (replays.ts)
 *      |        `----> given back      shutdown
 *     behind    a copy of an order that is live, held or moving: waits for the first run's outcome
 *
 * - A message id is occupied by one delivery at a time. Deliveries of the same id queue up behind it.
 * - Replays exhausted: the tuple goes out on the stream `exhausted`, under the same message id, so that a bolt parks
 *   it and the tree's ack then acks the delivery.
 * - When a generation ends, its fresh, held and behind deliveries are forgotten: the broker delivers them again. Live
 *   trees go on; settling them changes nothing, and the redelivered copy waits behind them. If such a tree fails,
 *   the copy inherits the attempt and the wait.
 * - `deactivate` cancels the consumer. What is not live stays here for a while, since a requeue counts towards the
 *   queue's delivery limit and a breaker that flaps would use it up; after a longer pause it is all given back.
 */
import { setMaxListeners } from 'node:events';

import type { ConsumeMessage } from 'amqplib';

import type { Availability } from '../../ports/availability.ts';
import type { Log } from '../../ports/log.ts';
import type { OrderMessage } from '../../ports/message.ts';
import type { ParkedOrder, ParkingLot } from '../../ports/parking-lot.ts';
import type { Clock, Timer } from '../../topology/clock.ts';
import type { RandomSource } from '../../topology/random.ts';
import type { ReplayRules } from '../../topology/replay-policy.ts';
import type { Spout, SpoutCollector, SpoutContext, TreeFailure } from '../../topology/spout.ts';
import type { Values } from '../../topology/tuple.ts';
import type { BrokerConnection } from './connection.ts';
import type { Link } from './link.ts';
import { Custody, LONGEST_CUSTODY_MS, type OrderInCustody } from './custody.ts';
import { deliveryOf, settle, type Delivery } from './delivery.ts';
import { sleep } from './deadline.ts';
import { SettlementCounts, type Generation } from './generation.ts';
import { Intake } from './intake.ts';
import { ReportedAvailability } from './reported-availability.ts';
import { Replays } from './replays.ts';
import type { RetryCopies } from './retry-copies.ts';

export type OrderStreams<V extends Values> = {
  readonly orders: V;
  readonly exhausted: V & { readonly exhaustedBecause: string };
};

export interface OrdersSpoutOptions<V extends Values> {
  /** Of the role `consume`; the spout starts and closes it. */
  readonly connection: BrokerConnection;
  readonly queue: string;
  /** Declares or checks the queue (`declareOrdersQueue`). */
  readonly prepare: (link: Link) => Promise<void>;
  /**
   * Reads a message. The message id is the order's identity: equal for all copies of an order, and something unique
   * for what is no order. Must not throw; a message on which it does is parked as `worker_error`, unread.
   */
  readonly scheme: (
    message: OrderMessage,
    raw: ConsumeMessage,
  ) => { readonly messageId: string; readonly values: V };
  readonly parkingLot: ParkingLot;
  readonly retryCopies: Pick<RetryCopies, 'send'>;
  readonly replayRules: ReplayRules;
  /** Told of every retry copy that came back, by its id. */
  readonly onReturned?: (copyId: string) => void;
  /** Whether the order has its verdict when its tree failed like this; never, by default. */
  readonly isDecided?: (failure: TreeFailure) => boolean;
  readonly maxSpoutPending: number;
  /** Waits up to this are held in process. */
  readonly holdUpToMs?: number;
  /** How many are held at most; a quarter of maxSpoutPending by default. */
  readonly mostHeld?: number;
  /** A pause longer than this gives back what is not live. */
  readonly giveBackAfterPausedMs?: number;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Log;
}

const HOLD_UP_TO_MS = 5_000;
const GIVE_BACK_AFTER_PAUSED_MS = 60_000;
const PARK_AGAIN_AFTER_MS = 5_000;
/** AMQP's prefetch count has 16 bits, and 0 would mean unlimited. */
const LARGEST_PREFETCH = 65_535;

export class OrdersSpout<V extends Values> implements Spout<OrderStreams<V>> {
  readonly counts = new SettlementCounts();
  readonly availability: Availability;
  readonly #reported: ReportedAvailability;
  readonly #options: OrdersSpoutOptions<V>;
  readonly #intake: Intake;
  readonly #custody: Custody<V>;
  readonly #replays: Replays<V>;
  readonly #quiescing = new AbortController();
  #collector: SpoutCollector<OrderStreams<V>> | undefined;
  #isActive = false;
  /** False once a pause became long, and after `quiesce`: then nothing waits here any more. */
  #keepsIdle = true;
  #pauseTimer: Timer | undefined;

  constructor(options: OrdersSpoutOptions<V>) {
    this.#options = options;
    const { clock, connection, log, maxSpoutPending, prepare, queue, random } = options;
    const mostHeld = options.mostHeld ?? Math.max(1, Math.ceil(maxSpoutPending / 4));
    // Each replay that waits to be moved listens, those of lost channels beside new ones: many, and no leak.
    setMaxListeners(0, this.#quiescing.signal);
    this.#custody = new Custody({ clock, mostHeld, wake: () => this.#collector?.wake() });
    this.#replays = new Replays({
      ...options,
      custody: this.#custody,
      read: ({ message, raw }) => this.#read(message, raw)?.values,
      holdUpToMs: options.holdUpToMs ?? HOLD_UP_TO_MS,
      mayWait: () => this.#keepsIdle,
      ending: this.#quiescing.signal,
    });
    this.#intake = new Intake({
      connection,
      queue,
      prefetch: Math.min(LARGEST_PREFETCH, maxSpoutPending + mostHeld),
      prepare,
      counts: this.counts,
      onDelivery: (message, generation) => {
        const seen = { queue, nowMs: clock.nowMs(), wallMs: clock.wallMs() };
        this.#take(deliveryOf(message, generation, seen));
      },
      onEnd: (generation) => {
        this.#forget(generation);
      },
      onChange: () => {
        this.#reported.review();
      },
      clock,
      random,
      log,
    });
    this.#reported = new ReportedAvailability('orders queue', () => this.#intake.unavailableBecause());
    this.availability = this.#reported;
  }

  /** Connects in the background: a broker that is away makes it unavailable, not broken. */
  open(_context: SpoutContext, collector: SpoutCollector<OrderStreams<V>>): void {
    this.#collector = collector;
    this.#options.connection.start();
    this.#intake.start();
  }

  nextTuples(room: number): void {
    for (let left = room; left > 0 && this.#isActive; left--) {
      const order = this.#custody.next();
      if (order === undefined) return;
      const answer = this.#emit(order);
      if (answer === 'emitted') continue;
      this.#custody.putBack(order, answer === 'duplicate' ? 'last' : 'first');
      return;
    }
  }

  ack(messageId: string): void {
    const order = this.#custody.live(messageId);
    if (order === undefined) return;
    const { epoch } = order.delivery.generation;
    if (!this.#custody.settle(order, 'ack')) {
      this.#options.log.info({ messageId, epoch }, 'not acked: the delivery is stale, its channel is gone');
    }
  }

  fail(messageId: string, failure: TreeFailure): void {
    const order = this.#custody.live(messageId);
    if (order === undefined) return;
    if (failure.reason === 'shutdown') this.#custody.settle(order, 'give-back');
    else this.#replays.failed(order, failure);
  }

  activate(): void {
    if (this.#isQuiesced) return;
    this.#isActive = true;
    this.#keepsIdle = true;
    this.#pauseTimer?.cancel();
    this.#intake.activate();
    this.#collector?.wake();
  }

  deactivate(): void {
    if (!this.#isActive) return;
    this.#isActive = false;
    this.#intake.deactivate();
    this.#replays.renewOverdue();
    this.#giveBackIdle(LONGEST_CUSTODY_MS);
    const pausedMs = this.#options.giveBackAfterPausedMs ?? GIVE_BACK_AFTER_PAUSED_MS;
    this.#pauseTimer = this.#options.clock.setTimer(pausedMs, () => {
      this.#keepsIdle = false;
      this.#giveBackIdle(0);
    });
  }

  async quiesce(): Promise<void> {
    this.#quiescing.abort();
    this.#isActive = false;
    this.#keepsIdle = false;
    this.#pauseTimer?.cancel();
    const quiesced = this.#intake.quiesce();
    this.#giveBackIdle(0);
    await quiesced;
  }

  async close(): Promise<void> {
    await this.quiesce();
    await this.#replays.whenMoved();
    await this.#intake.close();
  }

  idleReason(): { readonly reason: string; readonly waitingReplays: number } {
    const waitingReplays = this.#custody.heldCount;
    const unavailable = this.availability.unavailableBecause();
    if (unavailable !== undefined) return { reason: unavailable, waitingReplays };
    if (!this.#isActive) return { reason: 'paused', waitingReplays };
    if (this.#custody.freshCount > 0) return { reason: 'at the cap of pending trees', waitingReplays };
    return { reason: waitingReplays > 0 ? 'replays wait for their time' : 'no messages', waitingReplays };
  }

  #take(delivery: Delivery): void {
    if (delivery.copyId !== undefined) this.#options.onReturned?.(delivery.copyId);
    const read = this.#read(delivery.message, delivery.raw);
    if (read === undefined) void this.#parkUnread(delivery);
    else this.#custody.admit(read.messageId, delivery, read.values);
  }

  #read(message: OrderMessage, raw: ConsumeMessage): ReturnType<OrdersSpoutOptions<V>['scheme']> | undefined {
    try {
      return this.#options.scheme(message, raw);
    } catch {
      return undefined;
    }
  }

  #emit(order: OrderInCustody<V>): ReturnType<SpoutCollector['emit']> {
    const { messageId, values, delivery } = order;
    const { exhaustedBecause, receivedAtMs } = delivery;
    if (this.#collector === undefined) return 'stopped';
    if (exhaustedBecause === undefined) {
      return this.#collector.emit('orders', messageId, values, { receivedAtMs });
    }
    return this.#collector.emit('exhausted', messageId, { ...values, exhaustedBecause }, { receivedAtMs });
  }

  /** Gives back what is not live and has been here for `olderThanMs`. */
  #giveBackIdle(olderThanMs: number): void {
    const nowMs = this.#options.clock.nowMs();
    const idle = this.#custody.withdraw((order) => nowMs - order.delivery.receivedAtMs >= olderThanMs);
    for (const order of idle) settle(order.delivery, 'give-back');
  }

  #forget(generation: Generation): void {
    this.#custody.withdraw((order) => order.delivery.generation === generation);
  }

  /** Nothing is known of it, so nothing can be emitted: it goes to a person, however long that takes. */
  async #parkUnread(delivery: Delivery): Promise<void> {
    const { clock, log, parkingLot } = this.#options;
    while (delivery.generation.isOpen && !this.#isQuiesced) {
      try {
        await parkingLot.park(unread(delivery.message));
        settle(delivery, 'ack');
        return;
      } catch (error) {
        log.warn({ err: error }, 'an unread message could not be parked: trying again');
        await sleep(clock, PARK_AGAIN_AFTER_MS, this.#quiescing.signal);
      }
    }
  }

  get #isQuiesced(): boolean {
    return this.#quiescing.signal.aborted;
  }
}

function unread(message: OrderMessage): ParkedOrder {
  return {
    orderId: undefined,
    reason: 'worker_error',
    class: 'review',
    error: 'the worker could not read the message at all: this is a bug in its reader',
    message,
    readable: false,
  };
}
