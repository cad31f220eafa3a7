import * as z from 'zod';
import { isTerminal, type NextStep } from '../domain/order-states.ts';
import type { StoredOrder } from '../domain/order-states.ts';
import type { AppliedFact } from '../ports/order-book.ts';

/** What became of one order that an operator named; one line of NDJSON with `--json`. */
export const operatedOrder = z
  .object({
    orderId: z.string(),
    result: z
      .enum(['would', 'done', 'repeated', 'open', 'busy', 'refused', 'failed'])
      .describe(
        'would: what --yes would do; repeated: this command did it before; open: asked, and still without a verdict; ' +
          'busy: a worker is at it; refused: it would be wrong; failed: a service did not play along',
      ),
    status: z.string().nullable().describe('of the order now; null: it is not stored'),
    generation: z.int().nullable(),
    gatewayReference: z.string().nullable(),
    explanation: z.string(),
  })
  .describe('what became of one of the orders that were named');

export type OperatedOrder = z.infer<typeof operatedOrder>;

export function operated(
  orderId: string,
  order: StoredOrder | undefined,
  result: OperatedOrder['result'],
  explanation: string,
): OperatedOrder {
  return {
    orderId,
    result,
    status: order?.status ?? null,
    generation: order?.generation ?? null,
    gatewayReference: order?.gatewayReference ?? null,
    explanation,
  };
}

/** The answer to an operator's fact; `done` says what was done, when it was. */
export function operatedBy(
  orderId: string,
  { order, next, alarm, isRepeated }: AppliedFact,
  done: (order: StoredOrder | undefined) => string,
): OperatedOrder {
  if (isRepeated === true) return operated(orderId, order, 'repeated', 'this command did it before');
  const obstacle = obstacleIn(next);
  if (obstacle !== undefined) return operated(orderId, order, obstacle.result, obstacle.explanation);
  const explanation = alarm === undefined ? done(order) : `${done(order)}; ALARM: ${alarm}`;
  const isOpen = order !== undefined && !isTerminal(order) && order.status !== 'received';
  return operated(orderId, order, isOpen ? 'open' : 'done', explanation);
}

/** Why nothing can be done now. */
export function obstacleIn(
  next: NextStep,
): { readonly result: 'busy' | 'refused'; readonly explanation: string } | undefined {
  if (next.step === 'refused') return { result: 'refused', explanation: next.because };
  if (next.step !== 'wait') return undefined;
  const seconds = Math.ceil(next.retryAfterMs / 1000);
  return {
    result: 'busy',
    explanation: `a worker is asking the gateway right now: try again in ${seconds} s`,
  };
}
