import { CommandError, exitCodes } from './exit-codes.ts';

/** Throws a CommandError unless an order may have this id. */
export function refuseImpossibleId(orderId: string): void {
  if (/^[\x21-\x7e]{1,128}$/.test(orderId)) return;
  throw new CommandError(exitCodes.usage, 'an order id is 1-128 visible ASCII characters');
}

export function nothingKnown(orderId: string): CommandError {
  return new CommandError(exitCodes.failed, `nothing is known of order ${orderId}`);
}
