import * as z from 'zod';
import { hasMoneyMoved, nextActionOf, type MoneyVerdict } from '../domain/money-moved.ts';

const verdictKinds = [
  'nothing-known',
  'not-sent',
  'in-flight',
  'unknown',
  'declined-for-now',
  'rejected',
  'denied-unannounced',
  'denied-announced',
  'approved-unannounced',
  'approved-announced',
  'unwanted-hold',
  'contradicted',
] as const satisfies readonly MoneyVerdict['kind'][];

/** "Has money moved?", as every command prints it. */
export const moneyView = z.object({
  verdict: z.enum(verdictKinds),
  moved: z.enum(['yes', 'no', 'unknown']).describe("whether money of the cardholder's is held"),
  nextAction: z
    .enum(['authorize', 'announce', 'ask-gateway', 'wait', 'nothing', 'review'])
    .describe('what may be done: announce sends the notification only and charges nothing'),
  reference: z.string().nullable().describe("the gateway's id of the money, where there is one"),
  reason: z.string().nullable(),
});
export type MoneyView = z.infer<typeof moneyView>;

export function viewOfMoney(verdict: MoneyVerdict): MoneyView {
  return {
    verdict: verdict.kind,
    moved: hasMoneyMoved(verdict),
    nextAction: nextActionOf(verdict),
    reference: 'reference' in verdict ? (verdict.reference ?? null) : null,
    reason: 'reason' in verdict ? verdict.reason : null,
  };
}
