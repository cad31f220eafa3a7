import type { OperatorCommand } from '../domain/audit.ts';
import { checkNonCharge } from './gateway-check.ts';
import { operated, operatedBy, type OperatedOrder } from './operated-order.ts';
import type { ResolveParts } from './resolve-unknown.ts';

/**
 * Opens a denied order's next generation, if it is proven that nothing is held for it. Nothing is charged by that: a
 * message with the order's card has to come again. Without `command` it only says whether it would be.
 */
export async function reopenOrder(
  { book, gateway }: Pick<ResolveParts, 'book' | 'gateway'>,
  orderId: string,
  isOffline: boolean,
  command: OperatorCommand | undefined,
): Promise<OperatedOrder> {
  const { order } = await book.apply(orderId, { kind: 'resolve', atOnce: true });
  if (order === undefined) return operated(orderId, order, 'refused', 'it is not stored');
  if (order.status !== 'denied' && order.status !== 'review')
    return operated(orderId, order, 'refused', `it is ${order.status}: only a denied order is reopened`);
  const check = await checkNonCharge(gateway, order);
  if (check.kind === 'contradicts') return operated(orderId, order, 'refused', check.because);
  if (check.kind === 'silent' && !isOffline) {
    const how = 'use --offline-evidence if you have seen elsewhere that nothing is held';
    return operated(orderId, order, 'refused', `the gateway cannot be asked (${check.because}): ${how}`);
  }
  if (command === undefined) return operated(orderId, order, 'would', 'would be open for another try');
  const reopened = await book.apply(orderId, { kind: 'reopened', generation: order.generation }, command);
  return operatedBy(
    orderId,
    reopened,
    (now) =>
      `generation ${now?.generation ?? 0} is open: publish the order again, or replay its parked message`,
  );
}
