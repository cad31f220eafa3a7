import type { OperatorCommand } from '../domain/audit.ts';
import type { Decision, OrderFact } from '../domain/order-states.ts';
import type { OrderId } from '../domain/order.ts';
import type { Availability } from './availability.ts';

/**
 * The system of record. One way in: a fact about one order.
 *
 * `apply` reads the order, asks `decide` of the domain, writes the order, its attempt and one history row, fenced by
 * the version that was decided upon, and resolves after the commit; nothing was written when it rejects, except where the commit's reply was lost
 * (applying the same fact again is safe, always). Facts of many orders may share a commit, but an error reaches only
 * the order that caused it. With `command` the fact is an operator's: it is kept in the audit trail, in the same
 * commit, unless it was refused or has to wait, and the same command never does anything to the order twice. Rejects with a RetriableError of class `database` when the database cannot be used.
 */
export interface OrderBook {
  apply(orderId: OrderId, fact: OrderFact, command?: OperatorCommand): Promise<AppliedFact>;
  readonly availability: Availability;
}

export interface AppliedFact extends Decision {
  /** The command had been carried out on this order before: nothing was decided, `order` is as it stands. */
  readonly isRepeated?: true;
}
