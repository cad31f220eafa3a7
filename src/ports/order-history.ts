import type { Attempt, OrderFact, OrderStatus, StoredOrder } from '../domain/order-states.ts';
import type { OrderId } from '../domain/order.ts';

/** The system of record, as people and checks read it. It changes nothing, and never holds up a worker. */
export interface OrderHistory {
  /** Everything known about one order, in one snapshot; undefined when nothing is. */
  show(orderId: OrderId): Promise<OrderRecord | undefined>;
  /** Orders in each status, those without any included. */
  countsByStatus(): Promise<Readonly<Record<OrderStatus, number>>>;
  /** Orders that are decided and not yet marked as announced. */
  countDecidedUnnotified(): Promise<number>;
  /** All orders by ascending id; each page is a snapshot of its own. */
  list(): AsyncIterable<OrderSummary>;
}

export interface OrderRecord {
  /** undefined: the order itself was never stored, it was only parked or complained about. */
  readonly order: StoredOrder | undefined;
  /** One a generation, the oldest first. */
  readonly attempts: readonly AttemptRecord[];
  /** In the order they were recorded; of a very long history the latest ones. */
  readonly events: readonly OrderEvent[];
  /** When the order was first seen and last changed; undefined without an order. */
  readonly seenAtMs: number | undefined;
  readonly updatedAtMs: number | undefined;
  /** Each time its message was handed to a person, the oldest first; of very many the latest ones. */
  readonly parkings: readonly Parking[];
  /** What operators did to it, the oldest first; of very many the latest ones. */
  readonly actions: readonly OperatorAction[];
  /** The system of record's clock, milliseconds since the epoch. */
  readonly readAtMs: number;
  /** Worker sessions that live, among those that claimed the order. */
  readonly livingWorkers: ReadonlySet<number>;
}

export interface Parking {
  readonly parkedId: string;
  readonly parkedAtMs: number;
  readonly firstSeenMs: number;
  readonly reason: string;
  readonly class: string;
  /** What happened, for people. */
  readonly error: string;
  /** Replays before it was parked. */
  readonly attempts: number;
  /** `parked`: it waits. */
  readonly state: string;
  readonly closedAtMs: number | undefined;
}

export interface OperatorAction {
  readonly happenedAtMs: number;
  readonly actor: string;
  readonly action: string;
  readonly reason: string;
}

export interface AttemptRecord extends Attempt {
  readonly generation: number;
  readonly gatewayReference: string | undefined;
  /** What the latest answer came to, e.g. `declined: card_declined`, `unknown: no_answer`. */
  readonly lastOutcome: string | undefined;
  readonly detail: string | undefined;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** A fact that changed the order or raised an alarm, as it was recorded. */
export interface OrderEvent {
  readonly happenedAtMs: number;
  readonly fact: OrderFact['kind'];
  readonly generation: number | undefined;
  readonly claim: number | undefined;
  /** The worker session that learned it. */
  readonly worker: number | undefined;
  readonly statusBefore: OrderStatus | undefined;
  readonly statusAfter: OrderStatus | undefined;
  readonly outcome: string | undefined;
  readonly detail: string | undefined;
  readonly alarm: string | undefined;
}

export interface OrderSummary {
  readonly orderId: OrderId;
  readonly status: OrderStatus;
  readonly amountMinor: bigint;
  readonly currency: string;
  readonly gatewayReference: string | undefined;
  readonly notifiedAtMs: number | undefined;
}
