import * as z from 'zod';
import type { OperatorCommand } from '../../domain/audit.ts';
import { hasMoneyMoved } from '../../domain/money-moved.ts';
import type { ParkedDiscards } from '../../ports/parked-discards.ts';
import type { ParkedFilter, ParkedSearch } from '../../ports/parked-search.ts';
import { eachParked, type JudgedParked, type ReplayTerms } from './selection.ts';

const refusal = z.object({ parkId: z.string(), orderId: z.string().nullable(), because: z.string() });

export const discardResult = z
  .object({
    isDryRun: z.boolean(),
    discarded: z.int().describe('in a dry run: would be'),
    refused: z.array(refusal).describe('not discarded, and why'),
  })
  .describe('what became of the parked orders that were to be discarded');
export type DiscardResult = z.infer<typeof discardResult>;

const AT_ONCE = 500;

/**
 * Ends parked orders whose customers are asked to order again. One whose money has moved, or may have, is refused while
 * nobody was told of it. Without `command` it only says what it would do.
 */
export async function discardParked(
  { search, discards }: { readonly search: ParkedSearch; readonly discards: ParkedDiscards },
  filter: Omit<ParkedFilter, 'limit' | 'after'>,
  terms: ReplayTerms,
  command: OperatorCommand | undefined,
): Promise<DiscardResult> {
  const parkIds: string[] = [];
  const refused: DiscardResult['refused'] = [];
  for await (const one of eachParked(search, filter, terms)) {
    const because = whyNotDiscarded(one);
    if (because === undefined) parkIds.push(one.found.parkId);
    else refused.push({ parkId: one.found.parkId, orderId: one.found.orderId ?? null, because });
  }
  if (command === undefined) return { isDryRun: true, discarded: parkIds.length, refused };
  let discarded = 0;
  for (let at = 0; at < parkIds.length; at += AT_ONCE) {
    discarded += (await discards.discard(parkIds.slice(at, at + AT_ONCE), command)).length;
  }
  return { isDryRun: false, discarded, refused };
}

function whyNotDiscarded({ found, verdict }: JudgedParked): string | undefined {
  if (found.state !== 'parked') return `it is ${found.state}`;
  // It is another content under the order's id, and no way to the order itself.
  if (found.reason === 'order_conflict') return undefined;
  const moved = hasMoneyMoved(verdict);
  if (moved === 'no' || found.order?.notifiedAtMs !== undefined) return undefined;
  const told = 'nobody was told: replay it, which announces it and charges nothing';
  return moved === 'yes'
    ? `money is held for its order, and ${told}`
    : `whether money is held for its order is not known: cardauth unknown resolve ${found.orderId ?? 'ID'} first`;
}
