/**
 * The reliable source of the topology: a delivery from the orders queue becomes a tuple, and its tree's outcome
 * settles the delivery. Where a delivery stands:
 *
 *     fresh -> live -> acked
 *      ^        |----> held     short wait, in process        -> live again
 *      |        |----> moving   longer wait: copy to a level  -> acked once the copy is confirmed
 *      |        `----> given back (shutdown)
 *     behind    a copy of an order that is live, held or moving: waits for the first run's outcome
 *
 * - A message id is occupied by one delivery at a time. Deliveries of the same id queue up behind it.
 * - Replays exhausted: the tuple goes out on the stream `exhausted`, under the same message id, so that a bolt parks
 *   it and the tree's ack then acks the delivery. When that fails it is tried for ever, with backoff; never dropped.
 * - When a copy cannot be published the delivery is held instead, and given back once it was held for too long.
 * - When a generation ends, its fresh, held and behind deliveries are forgotten: the broker delivers them again. Live
 *   trees go on; settling them changes nothing, and the redelivered copy waits behind them. If such a tree fails,
 *   the copy inherits the attempt and the wait.
 * - `deactivate` cancels the consumer. What is not live stays here for a while, since a requeue counts towards the
 *   queue's delivery limit and a breaker that flaps would use it up; after a longer pause it is all given back.
 */
import type { Availability } from '../../ports/availability.ts';
import type { Log } from '../../ports/log.ts';
import type { OrderMessage } from '../../ports/message.ts';
import type { ParkingLot } from '../../ports/parking-lot.ts';
import type { Clock, Timer } from '../../topology/clock.ts';
import type { RandomSource } from '../../topology/random.ts';
import { decideReplay, type ReplayRules } from '../../topology/replay-policy.ts';
import type { Spout, SpoutCollector, SpoutContext, TreeFailure } from '../../topology/spout.ts';
import type { Values } from '../../topology/tuple.ts';
import type { BrokerConnection, Link } from './connection.ts';
import { Custody, type OrderInCustody } from './custody.ts';
import { deliveryOf, settle, type Delivery } from './delivery.ts';
import { sleep } from './deadline.ts';
import { SettlementCounts, type Generation } from './generation.ts';
import { Intake } from './intake.ts';
import { ReportedAvailability } from './reported-availability.ts';
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
  readonly scheme: (message: OrderMessage) => { readonly messageId: string; readonly values: V };
  readonly parkingLot: ParkingLot;
  readonly retryCopies: Pick<RetryCopies, 'send'>;
  readonly replayRules: ReplayRules;
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
/** Where no copy can be published, the replay comes earlier than wished rather than not at all. */
const LONGEST_HOLD_MS = 30_000;
/** Far below the broker's consumer timeout, 30 min by default, after which it would close the channel. */
const LONGEST_CUSTODY_MS = 600_000;
const PARK_AGAIN_AFTER_MS = 5_000;
const MOST_ATTEMPTS = 1_000_000;
/** AMQP's prefetch count has 16 bits, and 0 would mean unlimited. */
const LARGEST_PREFETCH = 65_535;

export class OrdersSpout<V extends Values> implements Spout<OrderStreams<V>> {
  readonly counts = new SettlementCounts();
  readonly availability: Availability;
  readonly #reported: ReportedAvailability;
  readonly #options: OrdersSpoutOptions<V>;
  readonly #intake: Intake;
  readonly #custody: Custody<V>;
  readonly #quiescing = new AbortController();
  /** Copies and parked messages under way. */
  readonly #underWay = new Set<Promise<void>>();
  #collector: SpoutCollector<OrderStreams<V>> | undefined;
  #isActive = false;
  /** False once a pause became long, and after `quiesce`: then nothing waits here any more. */
  #keepsIdle = true;
  #pauseTimer: Timer | undefined;

  constructor(options: OrdersSpoutOptions<V>) {
    this.#options = options;
    const { clock, connection, log, maxSpoutPending, prepare, queue, random } = options;
    const mostHeld = options.mostHeld ?? Math.max(1, Math.ceil(maxSpoutPending / 4));
    this.#custody = new Custody({ clock, mostHeld, wake: () => this.#collector?.wake() });
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
    if (!settle(order.delivery, 'ack')) {
      this.#options.log.info({ messageId, epoch }, 'not acked: the delivery is stale, its channel is gone');
    }
    this.#custody.release(order);
  }

  fail(messageId: string, failure: TreeFailure): void {
    const order = this.#custody.live(messageId);
    if (order === undefined) return;
    if (failure.reason === 'shutdown') {
      this.#giveBack(order);
      return;
    }
    this.#sayWhatFailed(order, failure);
    const ours = this.#stillOurs(order);
    if (ours !== undefined) this.#replay(ours, failure);
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
    await Promise.allSettled(this.#underWay);
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
    const read = this.#read(delivery.message);
    if (read === undefined) this.#track(this.#parkUnread(delivery));
    else this.#custody.admit(read.messageId, delivery, read.values);
  }

  #read(message: OrderMessage): ReturnType<OrdersSpoutOptions<V>['scheme']> | undefined {
    try {
      return this.#options.scheme(message);
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

  /** The order itself, or the redelivered copy that takes its place once its generation is over. */
  #stillOurs(order: OrderInCustody<V>): OrderInCustody<V> | undefined {
    if (order.delivery.generation.isOpen) return order;
    const copy = this.#custody.replace(order);
    if (copy !== undefined) {
      const attempt = Math.max(copy.delivery.message.attempt, order.delivery.message.attempt);
      const exhaustedBecause = copy.delivery.exhaustedBecause ?? order.delivery.exhaustedBecause;
      this.#renumber(copy, attempt, exhaustedBecause);
    }
    return copy;
  }

  #replay(order: OrderInCustody<V>, failure: TreeFailure): void {
    const { message, exhaustedBecause } = order.delivery;
    const { random, replayRules } = this.#options;
    const decision =
      exhaustedBecause === undefined
        ? decideReplay(replayRules, failure, message.attempt, random)
        : decideReplay(withoutEnd(replayRules), failure, message.attempt, random);
    if (decision.kind === 'replay') {
      this.#renumber(order, Math.min(decision.replays, MOST_ATTEMPTS), exhaustedBecause);
      this.#wait(order, decision.delayMs);
      return;
    }
    this.#renumber(order, message.attempt, becauseOf(message, failure));
    if (this.#keepsIdle) this.#custody.renew(order);
    else this.#move(order, 0);
  }

  #sayWhatFailed({ messageId, delivery }: OrderInCustody<V>, failure: TreeFailure): void {
    const { reason, errorClass, error, where } = failure;
    const { component, phase, ageMs } = where;
    this.#options.log.warn(
      {
        messageId,
        reason,
        errorClass,
        component,
        phase,
        ageMs,
        attempt: delivery.message.attempt,
        err: error,
      },
      'tuple tree failed',
    );
  }

  #renumber(order: OrderInCustody<V>, attempt: number, exhaustedBecause: string | undefined): void {
    const message = { ...order.delivery.message, attempt };
    order.delivery = { ...order.delivery, message, exhaustedBecause };
    order.values = this.#read(message)?.values ?? order.values;
  }

  /** Short waits are held, unless too many are, or the delivery has been here for too long already. */
  #wait(order: OrderInCustody<V>, delayMs: number): void {
    const isShort = delayMs <= (this.#options.holdUpToMs ?? HOLD_UP_TO_MS);
    if (isShort && this.#mayHold(order) && this.#custody.hold(order, delayMs)) return;
    this.#move(order, delayMs);
  }

  #move(order: OrderInCustody<V>, delayMs: number): void {
    order.stage = 'moving';
    const moved = this.#options.retryCopies.send(order.delivery, delayMs).then(
      () => {
        settle(order.delivery, 'ack');
        this.#custody.release(order);
      },
      (error: unknown) => {
        this.#notMoved(order, delayMs, error);
      },
    );
    this.#track(moved);
  }

  #notMoved(order: OrderInCustody<V>, delayMs: number, error: unknown): void {
    const { log } = this.#options;
    log.warn(
      { messageId: order.messageId, err: error },
      'no retry copy could be published: holding the order',
    );
    const ours = this.#stillOurs(order);
    if (ours === undefined) return;
    if (this.#mayHold(ours) && this.#custody.hold(ours, Math.min(delayMs, LONGEST_HOLD_MS))) return;
    this.#giveBack(ours);
  }

  #giveBack(order: OrderInCustody<V>): void {
    settle(order.delivery, 'give-back');
    this.#custody.release(order);
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
        await parkingLot.park({
          orderId: undefined,
          reason: 'worker_error',
          class: 'review',
          error: 'the worker could not read the message at all: this is a bug in its reader',
          message: delivery.message,
          readable: false,
        });
        settle(delivery, 'ack');
        return;
      } catch (error) {
        log.warn({ err: error }, 'an unread message could not be parked: trying again');
        await sleep(clock, PARK_AGAIN_AFTER_MS, this.#quiescing.signal);
      }
    }
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }

  #mayHold(order: OrderInCustody<V>): boolean {
    const ageMs = this.#options.clock.nowMs() - order.delivery.receivedAtMs;
    return this.#keepsIdle && ageMs < LONGEST_CUSTODY_MS;
  }

  get #isQuiesced(): boolean {
    return this.#quiescing.signal.aborted;
  }
}

/** Classes and names only: the error's own text stays in the log. */
function becauseOf(message: OrderMessage, failure: TreeFailure): string {
  const since = new Date(message.firstSeenMs).toISOString();
  const { component, phase } = failure.where;
  return `${message.attempt} replays since ${since}; the last run failed in ${component} (${phase}): ${failure.errorClass}, ${failure.reason}`;
}

function withoutEnd(rules: ReplayRules): ReplayRules {
  return { ...rules, otherwise: { ...rules.otherwise, maxReplays: Infinity }, byErrorClass: {} };
}
