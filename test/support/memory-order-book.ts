import type { OperatorCommand } from '../../src/domain/audit.ts';
import {
  decide,
  INQUIRY_WAITS_MS,
  type DecisionContext,
  type OrderFact,
  type StoredOrder,
} from '../../src/domain/order-states.ts';
import type { SoftDeclineRetry } from '../../src/domain/soft-declines.ts';
import type { Availability } from '../../src/ports/availability.ts';
import type { AppliedFact, OrderBook } from '../../src/ports/order-book.ts';
import { NonRetriableError } from '../../src/topology/errors.ts';

/** What several in-memory books share: one table, one clock, the set of worker sessions that live. */
export class MemoryOrders {
  readonly orders = new Map<string, StoredOrder>();
  readonly alarms: string[] = [];
  /** Operators' actions, `<command id> <order id>`. */
  readonly audited = new Set<string>();
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
  inquiryWaitsMs: readonly number[] = INQUIRY_WAITS_MS;
  softDeclineRetry: SoftDeclineRetry | undefined;

  constructor(table = new MemoryOrders(), worker = 1) {
    this.table = table;
    this.worker = worker;
    table.liveWorkers.add(worker);
  }

  async apply(orderId: string, fact: OrderFact, command?: OperatorCommand): Promise<AppliedFact> {
    await this.beforeApply(orderId, fact);
    this.facts.push({ orderId, fact });
    const action = command && `${command.commandId} ${orderId}`;
    if (action !== undefined && this.table.audited.has(action)) {
      const order = this.table.orders.get(orderId);
      return { order, next: { step: 'nothing' }, alarm: undefined, isRepeated: true };
    }
    this.#refuseReusedReference(orderId, fact);
    const decision = decide(
      this.table.orders.get(orderId),
      this.#withoutReusedReference(orderId, fact),
      this.#context(),
    );
    if (decision.order !== undefined) this.table.orders.set(orderId, decision.order);
    if (decision.alarm !== undefined) this.table.alarms.push(decision.alarm);
    const isDone = decision.next.step !== 'refused' && decision.next.step !== 'wait';
    if (action !== undefined && isDone) this.table.audited.add(action);
    return decision;
  }

  /** As in the database, where a reference is unique: one that another order has contradicts this order. */
  #withoutReusedReference(orderId: string, fact: OrderFact): OrderFact {
    if ((fact.kind !== 'outcome' && fact.kind !== 'inquired') || !('reference' in fact.outcome)) return fact;
    const { outcome } = fact;
    const { reference } = outcome;
    if (!this.#isOfAnother(orderId, reference)) return fact;
    const reason = outcome.kind === 'contradicted' ? outcome.reason : 'reference_reused';
    return { ...fact, outcome: { kind: 'contradicted', reason } };
  }

  #refuseReusedReference(orderId: string, fact: OrderFact): void {
    if (fact.kind !== 'settled' || fact.as.kind !== 'approved') return;
    if (this.#isOfAnother(orderId, fact.as.reference))
      throw new NonRetriableError(`order ${orderId}: the reference is another order's`, {
        errorClass: 'database_refused',
      });
  }

  #isOfAnother(orderId: string, reference: string | undefined): boolean {
    const others = [...this.table.orders.values()].filter((order) => order.orderId !== orderId);
    return reference !== undefined && others.some((order) => order.gatewayReference === reference);
  }

  #context(): DecisionContext {
    const { table, worker, leaseMs, keyWindowMs, inquiryWaitsMs, softDeclineRetry } = this;
    return {
      nowMs: table.nowMs,
      worker,
      isAlive: (other) => table.liveWorkers.has(other),
      leaseMs,
      keyWindowMs,
      inquiryWaitsMs,
      softDeclineRetry,
    };
  }
}
