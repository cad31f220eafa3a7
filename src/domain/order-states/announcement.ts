/** A decision is announced, marked, or left without its message. */
import { changed, unchanged, type Decision, type DecisionContext, type NextStep } from './decision.ts';
import type { OrderFact } from './facts.ts';
import { earlier, firstWaitMs } from './schedule.ts';
import { isTerminal, type StoredOrder } from './stored-order.ts';
import { neverSent, withAttempt } from './transitions.ts';

export function markNotified(
  order: StoredOrder | undefined,
  fact: Extract<OrderFact, { kind: 'notified' }>,
  context: DecisionContext,
): Decision {
  if (order?.status !== fact.status || order.generation !== fact.generation) {
    return unchanged(
      order,
      { step: 'nothing' },
      `announced as ${fact.status}, but it is ${order?.status ?? 'not stored'}`,
    );
  }
  if (order.notifiedAtMs !== undefined) return unchanged(order, { step: 'nothing' });
  const { attempt } = order;
  const isDone = attempt?.resolveDueMs === undefined || attempt.voiding?.state === 'due';
  const after = isDone ? order : withAttempt(order, { resolveDueMs: undefined });
  return changed(order, { ...after, notifiedAtMs: context.nowMs }, { step: 'nothing' });
}

/**
 * Where the message waits is no state of the order; the history keeps it. But with the message the announcement of a
 * decided order may be gone: the resolver sees to that.
 */
export function notePlace(order: StoredOrder | undefined, context: DecisionContext): Decision {
  if (order === undefined || !isUnannounced(order)) return unchanged(order, { step: 'nothing' });
  const { attempt = { ...neverSent(order, context), state: 'declined' } } = order;
  const resolveDueMs = earlier(attempt.resolveDueMs, context.nowMs + firstWaitMs(context));
  return changed(order, { ...order, attempt: { ...attempt, resolveDueMs } }, { step: 'nothing' });
}

export function announceUnlessNotified(order: StoredOrder): NextStep {
  return isUnannounced(order) ? { step: 'announce' } : { step: 'nothing' };
}

export function isUnannounced(order: StoredOrder): boolean {
  return isTerminal(order) && order.notifiedAtMs === undefined;
}
