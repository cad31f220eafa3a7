/**
 * The deliveries this worker has taken and not settled, by stage:
 *
 *     fresh   to be emitted as soon as there is room
 *     live    its tuple tree is running
 *     held    waits for its replay, in process; bounded
 *     moving  a copy of it is being published
 *     behind  a copy of an order that is in one of the stages above
 *
 * A message id is occupied by one order of the first four stages at a time. When that is released, the first of
 * those behind takes its place and is fresh.
 */
import type { Clock } from '../../topology/clock.ts';
import { ReplayQueue } from '../../topology/replay-queue.ts';
import { settle, type Delivery } from './delivery.ts';
import type { Verdict } from './generation.ts';

export interface OrderInCustody<V> {
  readonly messageId: string;
  delivery: Delivery;
  values: V;
  stage: 'fresh' | 'live' | 'held' | 'moving' | 'behind';
}

/** Far below the broker's consumer timeout, 30 min by default, after which it would close the channel. */
export const LONGEST_CUSTODY_MS = 600_000;

/** Turns that due replays get while fresh orders wait too. */
const REPLAY_SHARE = 0.5;

export class Custody<V> {
  readonly #occupants = new Map<string, OrderInCustody<V>>();
  readonly #behind = new Map<string, OrderInCustody<V>[]>();
  #fresh: OrderInCustody<V>[] = [];
  readonly #held: ReplayQueue<OrderInCustody<V>>;
  readonly #wake: () => void;

  /** `wake` is called whenever `next` may have something. */
  constructor(options: { readonly clock: Clock; readonly mostHeld: number; readonly wake: () => void }) {
    this.#wake = options.wake;
    this.#held = new ReplayQueue({
      clock: options.clock,
      capacity: options.mostHeld,
      share: REPLAY_SHARE,
      onDue: options.wake,
    });
  }

  get heldCount(): number {
    return this.#held.size;
  }

  get freshCount(): number {
    return this.#fresh.length;
  }

  /** Takes a new delivery: fresh, or behind the one that occupies its message id. */
  admit(messageId: string, delivery: Delivery, values: V): void {
    const order: OrderInCustody<V> = { messageId, delivery, values, stage: 'fresh' };
    if (!this.#occupants.has(messageId)) {
      this.#occupants.set(messageId, order);
      this.renew(order);
      return;
    }
    order.stage = 'behind';
    const line = this.#behind.get(messageId);
    if (line === undefined) this.#behind.set(messageId, [order]);
    else line.push(order);
  }

  live(messageId: string): OrderInCustody<V> | undefined {
    const order = this.#occupants.get(messageId);
    return order?.stage === 'live' ? order : undefined;
  }

  /** The next order to emit: it is live from now on. */
  next(): OrderInCustody<V> | undefined {
    const order = this.#held.next(this.#fresh.length > 0) ?? this.#fresh.shift();
    if (order !== undefined) order.stage = 'live';
    return order;
  }

  /** Takes back an order from `next` that could not be emitted; nothing is woken, or it would be asked for at once. */
  putBack(order: OrderInCustody<V>, place: 'first' | 'last'): void {
    order.stage = 'fresh';
    if (place === 'first') this.#fresh.unshift(order);
    else this.#fresh.push(order);
  }

  /** Makes the order fresh, or fresh again. */
  renew(order: OrderInCustody<V>): void {
    this.putBack(order, 'last');
    this.#wake();
  }

  /** Keeps the order until its replay is due; false when too many are held already. */
  hold(order: OrderInCustody<V>, delayMs: number): boolean {
    if (!this.#held.add(order.messageId, order, delayMs)) return false;
    order.stage = 'held';
    return true;
  }

  /** Settles the order's delivery and releases it; false when that changed nothing any more at the broker. */
  settle(order: OrderInCustody<V>, verdict: Verdict): boolean {
    const wasSent = settle(order.delivery, verdict);
    this.release(order);
    return wasSent;
  }

  /** The order is settled, or no longer ours: whoever is behind it comes next. */
  release(order: OrderInCustody<V>): void {
    const successor = this.replace(order);
    if (successor !== undefined) this.renew(successor);
  }

  /** Like `release`, but the one behind takes over the stage too; undefined when there is none. */
  replace(order: OrderInCustody<V>): OrderInCustody<V> | undefined {
    const { messageId, stage } = order;
    const line = this.#behind.get(messageId);
    const successor = line?.shift();
    if (line?.length === 0) this.#behind.delete(messageId);
    if (successor === undefined) {
      this.#occupants.delete(messageId);
      return undefined;
    }
    successor.stage = stage;
    this.#occupants.set(messageId, successor);
    return successor;
  }

  /** Takes every fresh and held order that `matches` out of its queue, to be moved; it still occupies its id. */
  startMoving(matches: (order: OrderInCustody<V>) => boolean): OrderInCustody<V>[] {
    const moving = [...this.#occupants.values()].filter(
      (order) => (order.stage === 'fresh' || order.stage === 'held') && matches(order),
    );
    for (const order of moving) {
      if (order.stage === 'held') this.#held.cancel(order.messageId);
      order.stage = 'moving';
    }
    this.#fresh = this.#fresh.filter(({ stage }) => stage === 'fresh');
    return moving;
  }

  /** Takes out every fresh, held and behind order that `matches`; those behind them move up. */
  withdraw(matches: (order: OrderInCustody<V>) => boolean): OrderInCustody<V>[] {
    const withdrawn: OrderInCustody<V>[] = [];
    for (const [messageId, line] of this.#behind) {
      withdrawn.push(...line.filter(matches));
      const left = line.filter((order) => !matches(order));
      if (left.length === 0) this.#behind.delete(messageId);
      else this.#behind.set(messageId, left);
    }
    for (const order of [...this.#occupants.values()]) {
      if ((order.stage !== 'fresh' && order.stage !== 'held') || !matches(order)) continue;
      withdrawn.push(order);
      if (order.stage === 'held') this.#held.cancel(order.messageId);
    }
    const gone = new Set(withdrawn);
    this.#fresh = this.#fresh.filter((order) => !gone.has(order));
    for (const order of gone) if (order.stage !== 'behind') this.release(order);
    return withdrawn;
  }
}
