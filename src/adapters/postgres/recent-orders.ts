/**
 * Orders as this worker has just written them, for the facts that follow at once: an outcome and an announcement are
 * decided without reading the order again.
 *
 * Nothing is taken on trust. Every write names the version that it was decided upon, so a fact whose order somebody
 * else has changed is overtaken, read and decided again. Claims are always read: there workers meet.
 */
import type { StoredOrder } from '../../domain/order-states.ts';
import type { OrderId } from '../../domain/order.ts';
import type { AppliedFact } from '../../ports/order-book.ts';
import type { Clock } from '../../topology/clock.ts';
import type { FactOfOrder } from './rows.ts';

/** Beyond this the oldest are forgotten, and read again. */
const MOST_ORDERS = 4_096;
const LONGEST_WAY_MS = 1_000;

export class RecentOrders {
  readonly #orders = new Map<OrderId, StoredOrder>();
  readonly #clock: Pick<Clock, 'nowMs'>;
  /** The database's clock less ours, which is monotonic. */
  #offsetMs = 0;
  #lastMs = 0;

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  /** What `fact` may be decided upon; undefined: read it. */
  before({ orderId, fact, command }: FactOfOrder): StoredOrder | undefined {
    const follows = fact.kind === 'outcome' || fact.kind === 'notified';
    return follows && command === undefined ? this.#orders.get(orderId) : undefined;
  }

  /** Keeps what was written as long as this worker is about to go on with it. */
  wrote(orderId: OrderId, { order, next }: AppliedFact): void {
    this.forget(orderId);
    if (order === undefined || (next.step !== 'charge' && next.step !== 'announce')) return;
    this.#orders.set(orderId, order);
    if (this.#orders.size <= MOST_ORDERS) return;
    const [oldest = orderId] = this.#orders.keys();
    this.forget(oldest);
  }

  forget(orderId: OrderId): void {
    this.#orders.delete(orderId);
  }

  /** The database has just said what time it is, in milliseconds since the epoch. */
  setTime(nowMs: number): void {
    this.#offsetMs = nowMs - this.#clock.nowMs();
  }

  /**
   * The database's time, in milliseconds since the epoch, from when it said it last. It was on its way then, now longer
   * and now shorter: that does not turn time back, a clock that was set back does.
   */
  nowMs(): number {
    const nowMs = Math.floor(this.#clock.nowMs() + this.#offsetMs);
    const isOnlyLate = nowMs < this.#lastMs && this.#lastMs - nowMs < LONGEST_WAY_MS;
    if (!isOnlyLate) this.#lastMs = nowMs;
    return this.#lastMs;
  }
}
