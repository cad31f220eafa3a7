/**
 * The life of an order: every status, every fact that can be learned about it, and what follows, in one pure and
 * total function, `decide(stored order, fact) -> (next order, what to do now)`.
 *
 *     received -> authorizing -> ready-to-ship | denied | authorization-unknown | review
 *
 * - `ready-to-ship` and `denied` are terminal: whatever comes later changes nothing but is reported. Only an operator
 *   reopens a denied order, as its next generation.
 * - A status says what is known, not who works on it: a resend of an unknown authorization is claimed with a
 *   lease, and its status stays `authorization-unknown` until a verdict is there.
 * - The idempotency key belongs to the order's generation and never changes on a fault.
 * - A soft decline that is to be tried again leaves the order `received`, with its attempt declined: nothing is charged
 *   and nothing is decided, so nobody is told. It is claimed again when its time has come, as the next generation.
 * - Notification is a fact beside the status (`notifiedAtMs`).
 * - Operators settle what has no verdict, reopen what is proven not charged, and have a decision announced again; what
 *   would be wrong is `refused`, and changes nothing.
 *
 * test/domain/order-states.test.ts prints the status x fact table and compares it.
 */
import { markNotified, notePlace } from './order-states/announcement.ts';
import { admitAndClaim, claim } from './order-states/claim.ts';
import type { Decision, DecisionContext } from './order-states/decision.ts';
import type { OrderFact } from './order-states/facts.ts';
import { reopen, resend, settleByOperator } from './order-states/operator.ts';
import { recordInquiry } from './order-states/record-inquiry.ts';
import { recordOutcome } from './order-states/record-outcome.ts';
import { recordVoid } from './order-states/record-void.ts';
import { admitAndDeny, refuse } from './order-states/refuse.ts';
import { resolve, resolveAtOnce } from './order-states/resolve.ts';
import type { StoredOrder } from './order-states/stored-order.ts';

export type { Decision, DecisionContext, NextStep } from './order-states/decision.ts';
export type { OrderFact } from './order-states/facts.ts';
export { INQUIRY_WAITS_MS } from './order-states/schedule.ts';
export { isTerminal } from './order-states/stored-order.ts';
export type {
  Attempt,
  OrderStatus,
  StoredOrder,
  TerminalStatus,
  Voiding,
} from './order-states/stored-order.ts';

export function decide(order: StoredOrder | undefined, fact: OrderFact, context: DecisionContext): Decision {
  switch (fact.kind) {
    case 'claim':
      return order === undefined ? admitAndClaim(fact.terms, context) : claim(order, fact.terms, context);
    case 'refuse':
      return order === undefined
        ? admitAndDeny(fact.terms, fact.reason, context)
        : refuse(order, fact, context);
    case 'outcome':
      return recordOutcome(order, fact, context);
    case 'notified':
      return markNotified(order, fact, context);
    case 'parked':
      return notePlace(order, context);
    case 'resolve':
      return fact.atOnce === true ? resolveAtOnce(order, context) : resolve(order, context);
    case 'inquired':
      return recordInquiry(order, fact, context);
    case 'voided':
      return recordVoid(order, fact, context);
    case 'settled':
      return settleByOperator(order, fact, context);
    case 'reopened':
      return reopen(order, fact, context);
    case 'resend':
      return resend(order);
  }
}
