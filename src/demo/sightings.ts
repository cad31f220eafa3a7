import type { SeenMessage } from '../adapters/rabbitmq/observer.ts';
import type { ParkedOrderSummary } from '../ports/parked-orders.ts';
import type { Evidence } from './books.ts';
import type { DemoOrder } from './orders.ts';

export interface Timings {
  /** From the broker's confirm of an order to its first announcement, milliseconds. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Orders announced or parked and recorded, over the time from the first publish to the last of them. */
  readonly ordersPerSecond: number;
}

/** What is seen from outside while the demo runs: publisher's confirms, announcements, parked orders. */
export class Sightings {
  readonly receipts: Evidence['receipts'][number][] = [];
  readonly parked: Evidence['parked'][number][] = [];
  readonly #publishedAtMs = new Map<string, number>();
  readonly #parkIds = new Set<string>();
  readonly #latenciesMs: number[] = [];
  /** Order ids; message ids where there is no order id. */
  readonly #missing: Set<string>;
  readonly #startedAtMs = performance.now();
  lastNewsMs = this.#startedAtMs;

  constructor(orders: readonly DemoOrder[]) {
    this.#missing = new Set(orders.map(({ orderId, messageId }) => orderId ?? messageId));
  }

  /** Orders that are neither announced nor parked yet. */
  get missing(): number {
    return this.#missing.size;
  }

  readonly published = (order: DemoOrder): void => {
    const { orderId } = order;
    if (orderId !== undefined && !this.#publishedAtMs.has(orderId)) {
      this.#publishedAtMs.set(orderId, performance.now());
    }
  };

  readonly onAnnouncement = ({ messageId = '', body }: SeenMessage): void => {
    const { orderId, status } = JSON.parse(Buffer.from(body).toString()) as {
      orderId: string;
      status: string;
    };
    this.receipts.push({ orderId, status, eventId: messageId });
    if (!this.#missing.delete(orderId)) return;
    this.lastNewsMs = performance.now();
    this.#latenciesMs.push(this.lastNewsMs - (this.#publishedAtMs.get(orderId) ?? this.lastNewsMs));
  };

  /** The same one any number of times. */
  readonly onParked = ({ messageId, orderId, parkId }: ParkedOrderSummary): void => {
    if (this.#parkIds.has(parkId)) return;
    this.#parkIds.add(parkId);
    this.parked.push({ orderId, messageId });
    this.lastNewsMs = performance.now();
    this.#missing.delete(orderId ?? messageId ?? '');
  };

  timings(): Timings {
    const sorted = this.#latenciesMs.toSorted((a, b) => a - b);
    const quantile = (q: number): number =>
      sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
    const seconds = (this.lastNewsMs - this.#startedAtMs) / 1_000;
    const seen = sorted.length + this.parked.length;
    return {
      p50Ms: Math.round(quantile(0.5)),
      p99Ms: Math.round(quantile(0.99)),
      ordersPerSecond: seconds === 0 ? 0 : Math.round(seen / seconds),
    };
  }
}
