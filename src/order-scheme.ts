import type { OrderValues } from './bolts/order-values.ts';
import { admit, type AdmissionRules } from './domain/admission.ts';
import { orderIdOf } from './domain/order.ts';
import type { OrderMessage } from './ports/message.ts';

/**
 * How a message of the orders queue becomes a tuple (Storm's Scheme). Its message id is the order's id, so that copies
 * of one order never run at once in a process; what has no id of its own gets one that no order can have, since order
 * ids contain no space.
 */
export function orderScheme(
  rules: AdmissionRules,
): (message: OrderMessage) => { readonly messageId: string; readonly values: OrderValues } {
  let unidentified = 0;
  return (message) => {
    const admission = admit(message.body, rules);
    const messageId = orderIdOf(admission) ?? `unidentified ${(unidentified += 1)}`;
    return { messageId, values: { admission, message } };
  };
}
