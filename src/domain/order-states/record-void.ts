/** What came of giving a hold back. */
import { announceUnlessNotified, isUnannounced } from './announcement.ts';
import { changed, unchanged, type Decision, type DecisionContext } from './decision.ts';
import type { OrderFact } from './facts.ts';
import { firstWaitMs, soonMs } from './schedule.ts';
import type { StoredOrder } from './stored-order.ts';
import { withAttempt } from './transitions.ts';

export function recordVoid(
  order: StoredOrder | undefined,
  fact: Extract<OrderFact, { kind: 'voided' }>,
  context: DecisionContext,
): Decision {
  const voiding = order?.attempt?.voiding;
  if (order === undefined || fact.generation !== order.generation)
    return unchanged(order, { step: 'nothing' });
  const next = announceUnlessNotified(order);
  if (voiding?.reference !== fact.reference || voiding.state !== 'due') return unchanged(order, next);
  const { outcome } = fact;
  const { nowMs } = context;
  const resolveDueMs = isUnannounced(order) ? nowMs + firstWaitMs(context) : undefined;
  switch (outcome.kind) {
    case 'voided':
      return changed(
        order,
        withAttempt(order, { voiding: { ...voiding, state: 'confirmed' }, resolveDueMs }),
        next,
      );
    case 'refused':
      return changed(
        order,
        withAttempt(order, { voiding: { ...voiding, state: 'refused' }, resolveDueMs }),
        next,
        `the hold ${voiding.reference} cannot be voided: ${outcome.detail}`,
      );
    case 'unanswered': {
      const tries = voiding.tries + 1;
      return changed(
        order,
        withAttempt(order, {
          voiding: { ...voiding, tries },
          resolveDueMs: nowMs + soonMs(voiding.tries, outcome, context),
        }),
        next,
      );
    }
  }
}
