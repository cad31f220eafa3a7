/** What publishes orders: each once, or as its fault has it. The broker confirms all of it. */
import { NAMES } from './worker.ts';
import type { World } from './network.ts';
import type { SimulatedBroker } from './broker.ts';
import { bodyOf, type SimulatedOrder, type Variant } from './orders.ts';

export interface Published {
  readonly messageId: string;
  readonly order: SimulatedOrder;
  /** What the message says, which another message of the same id may contradict; undefined: it cannot be read. */
  readonly amountMinor: bigint | undefined;
  readonly variant: Variant | undefined;
}

export class Upstream {
  readonly published: Published[] = [];
  /** Messages that are still to come. */
  toPublish = 0;
  readonly #world: World;
  readonly #broker: SimulatedBroker;

  constructor(world: World, broker: SimulatedBroker) {
    this.#world = world;
    this.#broker = broker;
  }

  begin(orders: readonly SimulatedOrder[]): void {
    for (const order of orders) this.#later(order.publishedAtMs, () => { this.#publishFirst(order); }); // prettier-ignore
  }

  /** The order as it is stored, for its next generation. */
  publishReopened(orderId: string, amountMinor: string): void {
    const stored = this.published.find(
      ({ order, amountMinor: said }) => order.orderId === orderId && String(said) === amountMinor,
    );
    if (stored !== undefined) this.#publish(stored.order, 'reopened', stored.variant);
  }

  #publishFirst(order: SimulatedOrder): void {
    const fault = this.#world.faults.at('upstream');
    switch (fault?.kind) {
      case 'twice':
        this.#publish(order, 'twin');
        break;
      case 'again-later':
        this.#later(fault.ms, () => { this.#publish(order, 'late'); }); // prettier-ignore
        break;
      case 'conflicting':
        this.#later(fault.ms / 10, () => { this.#publish(order, 'other', 'conflicting'); }); // prettier-ignore
        break;
      case 'unreadable':
      case 'hopeless-card':
        this.#publish(order, undefined, fault.kind);
        return;
      default:
    }
    this.#publish(order);
  }

  #later(ms: number, publish: () => void): void {
    this.toPublish += 1;
    this.#world.time.quietlyAfter(ms, () => {
      this.toPublish -= 1;
      publish();
    });
  }

  #publish(order: SimulatedOrder, suffix?: string, variant?: Variant): void {
    const { time, trace } = this.#world;
    const messageId = `m-${order.orderId}${suffix === undefined ? '' : `-${suffix}`}`;
    const said = order.amountMinor + (variant === 'conflicting' ? 1n : 0n);
    const amountMinor = variant === 'unreadable' ? undefined : said;
    this.published.push({ messageId, order, amountMinor, variant });
    trace.note(
      time.nowMs,
      'upstream',
      () => `publishes ${messageId}${variant === undefined ? '' : ` (${variant})`}`,
    );
    this.#broker.route('', NAMES.orders, bodyOf(order, variant), { messageId, headers: {} });
  }
}
