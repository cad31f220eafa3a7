import {
  decide,
  type Decision,
  type DecisionContext,
  type OrderFact,
  type StoredOrder,
} from '../../src/domain/order-states.ts';
import type { SoftDeclineRetry } from '../../src/domain/soft-declines.ts';
import type { Availability } from '../../src/ports/availability.ts';
import type { OrderBook } from '../../src/ports/order-book.ts';

/** What several in-memory books share: one table, one clock, the set of worker sessions that live. */
export class MemoryOrders {
  readonly orders = new Map<string, StoredOrder>();
  readonly alarms: string[] = [];
  readonly liveWorkers = new Set<number>();
  nowMs = Date.UTC(2026, 0, 1);
}

/**
 * The order book without a database: the same contract (test/conformance/order-book.ts), for tests that drive time
 * and faults. `beforeApply` may throw, wait, or watch; it runs before anything is decided.
 */
export class MemoryOrderBook implements OrderBook {
  readonly table: MemoryOrders;
  readonly worker: number;
  readonly facts: { readonly orderId: string; readonly fact: OrderFact }[] = [];
  readonly availability: Availability = {
    name: 'database',
    unavailableBecause: () => undefined,
    onChange: () => () => undefined,
  };
  beforeApply: (orderId: string, fact: OrderFact) => Promise<void> = () => Promise.resolve();
  leaseMs = 25_000;
  keyWindowMs = 23 * 3_600_000;
  softDeclineRetry: SoftDeclineRetry | undefined;

  constructor(table = new MemoryOrders(), worker = 1) {
    this.table = table;
    this.worker = worker;
    table.liveWorkers.add(worker);
  }

  async apply(orderId: string, fact: OrderFact): Promise<Decision> {
    await this.beforeApply(orderId, fact);
    this.facts.push({ orderId, fact });
    const decision = decide(
      this.table.orders.get(orderId),
      this.#withoutReusedReference(orderId, fact),
      this.#context(),
    );
    if (decision.order !== undefined) this.table.orders.set(orderId, decision.order);
    if (decision.alarm !== undefined) this.table.alarms.push(decision.alarm);
    return decision;
  }

  /** As in the database, where a reference is unique: one that another order has contradicts this order. */
  #withoutReusedReference(orderId: string, fact: OrderFact): OrderFact {
    if (fact.kind !== 'outcome' || !('reference' in fact.outcome)) return fact;
    const { outcome } = fact;
    const { reference } = outcome;
    const others = [...this.table.orders.values()].filter((order) => order.orderId !== orderId);
    if (reference === undefined || !others.some((order) => order.gatewayReference === reference)) return fact;
    const reason = outcome.kind === 'contradicted' ? outcome.reason : 'reference_reused';
    return { ...fact, outcome: { kind: 'contradicted', reason } };
  }

  #context(): DecisionContext {
    const { table, worker, leaseMs, keyWindowMs, softDeclineRetry } = this;
    return {
      nowMs: table.nowMs,
      worker,
      isAlive: (other) => table.liveWorkers.has(other),
      leaseMs,
      keyWindowMs,
      softDeclineRetry,
    };
  }
}
