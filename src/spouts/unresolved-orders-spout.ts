import type { OrderId } from '../domain/order.ts';
import type { Log } from '../ports/log.ts';
import type { UnresolvedOrders } from '../ports/unresolved-orders.ts';
import type { Clock, Timer } from '../topology/clock.ts';
import type { Spout, SpoutCollector, TreeFailure } from '../topology/spout.ts';

export type UnresolvedStreams = { readonly unresolved: UnresolvedValues };
export type UnresolvedValues = { readonly orderId: OrderId };

/**
 * Emits the orders that are due for the resolver. It looks for them every `everyMs` while the intake is open, so it is
 * held with it: with the gateway or the database away there is nothing to ask and nowhere to write.
 *
 * Nothing is replayed from here: an order whose tree failed stays due in the system of record, and is taken again.
 */
export class UnresolvedOrdersSpout implements Spout<UnresolvedStreams> {
  readonly #orders: UnresolvedOrders;
  readonly #everyMs: number;
  readonly #clock: Clock;
  readonly #log: Log;
  #collector: SpoutCollector<UnresolvedStreams> | undefined;
  #taken: OrderId[] = [];
  #timer: Timer | undefined;
  #looking: Promise<void> = Promise.resolve();
  #isLooking = false;
  #isActive = false;

  constructor(options: {
    readonly orders: UnresolvedOrders;
    readonly everyMs: number;
    readonly clock: Clock;
    readonly log: Log;
  }) {
    this.#orders = options.orders;
    this.#everyMs = options.everyMs;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  open(_context: unknown, collector: SpoutCollector<UnresolvedStreams>): void {
    this.#collector = collector;
  }

  nextTuples(room: number): void {
    for (let left = room; left > 0; left -= 1) {
      const [orderId] = this.#taken;
      if (orderId === undefined) return;
      if (this.#collector?.emit('unresolved', orderId, { orderId }) === 'at-cap') return;
      this.#taken.shift();
    }
  }

  ack(): void {
    // What came of it is written down.
  }

  fail(orderId: string, failure: TreeFailure): void {
    this.#log.info({ orderId, errorClass: failure.errorClass, err: failure.error }, 'not resolved this time');
  }

  activate(): void {
    this.#isActive = true;
    this.#lookLater();
  }

  deactivate(): void {
    this.#isActive = false;
    this.#timer?.cancel();
    this.#taken = [];
  }

  async quiesce(): Promise<void> {
    this.deactivate();
    await this.#looking;
  }

  close(): Promise<void> {
    return this.quiesce();
  }

  idleReason(): { reason: string; waitingReplays: number } {
    return { reason: 'no order is due for the resolver', waitingReplays: 0 };
  }

  #lookLater(): void {
    this.#timer?.cancel();
    if (!this.#isActive || this.#isLooking) return;
    this.#timer = this.#clock.setTimer(this.#everyMs, () => {
      this.#looking = this.#look();
    });
  }

  async #look(): Promise<void> {
    const room = this.#collector?.room() ?? 0;
    this.#isLooking = true;
    try {
      const taken = room > 0 ? await this.#orders.take(room) : [];
      if (!this.#isActive) return;
      this.#taken = [...taken];
      if (taken.length > 0) this.#collector?.wake();
    } catch (err) {
      this.#log.debug({ err }, 'orders that are due for the resolver could not be taken');
    } finally {
      this.#isLooking = false;
      this.#lookLater();
    }
  }
}
