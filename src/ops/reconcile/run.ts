import * as z from 'zod';
import type { OperatorCommand } from '../../domain/audit.ts';
import type { GatewayHolds } from '../../ports/gateway-holds.ts';
import type { KeptDifference, ReconciliationBook } from '../../ports/reconciliation-book.ts';
import { isoTime } from '../order-pages.ts';
import type { Difference } from './differences.ts';
import { compare, type Range } from './reconcile.ts';
import { settleCertain, type SettleParts } from './settle-certain.ts';

/** What `cardauth reconcile --json` prints. */
export const reconciliation = z
  .object({
    runId: z.string(),
    source: z.string().describe('what our approvals were compared with'),
    from: z.string(),
    to: z.string().describe('younger authorizations are left out: their orders may be in flight'),
    holds: z.int().describe("the gateway's authorizations that were compared"),
    approvals: z.int().describe('approvals of ours that were compared'),
    differences: z.array(
      z.object({
        kind: z.string(),
        orderId: z.string(),
        reference: z.string().nullable(),
        explanation: z.string(),
        isCertain: z.boolean().describe('--fix settles it'),
        settled: z.string().nullable().describe('what became of it in this run; null: nothing was tried'),
      }),
    ),
    settled: z.int(),
    remaining: z.int().describe('differences that are left'),
  })
  .describe("our approvals against the gateway's, both ways");

export type Reconciliation = z.infer<typeof reconciliation>;

export interface ReconcileParts {
  readonly holds: GatewayHolds;
  readonly book: ReconciliationBook;
  readonly nowMs: () => number;
}

export interface ReconcileOptions {
  readonly runId: string;
  readonly range: Range;
  /** How old an authorization must be to be compared. */
  readonly settledAfterMs: number;
  /** With it, what is certain is settled. */
  readonly fix: { readonly parts: SettleParts; readonly command: OperatorCommand } | undefined;
}

/** Compares, settles what is certain if told to, and keeps what was found. */
export async function reconcile(parts: ReconcileParts, options: ReconcileOptions): Promise<Reconciliation> {
  const { runId, fix } = options;
  const startedAtMs = parts.nowMs();
  const { range, holds, approvals, differences } = await compare(
    parts,
    options.range,
    options.settledAfterMs,
  );
  const found: Found[] = [];
  for (const difference of differences) {
    const isTried = fix !== undefined && difference.remedy !== undefined;
    const settled = isTried ? await settleCertain(fix.parts, difference, fix.command) : undefined;
    found.push({ difference, settled });
  }
  const source = parts.holds.name;
  const isFixing = fix !== undefined;
  const kept = found.map(keptDifference);
  await parts.book.keep({
    runId,
    startedAtMs,
    source,
    ...range,
    holds,
    approvals,
    isFixing,
    differences: kept,
  });

  const settled = found.filter((each) => each.settled?.isSettled === true).length;
  return {
    runId,
    source,
    from: isoTime(range.fromMs),
    to: isoTime(range.toMs),
    holds,
    approvals,
    differences: found.map(differenceView),
    settled,
    remaining: found.length - settled,
  };
}

interface Found {
  readonly difference: Difference;
  readonly settled: { readonly isSettled: boolean; readonly words: string } | undefined;
}

function keptDifference({ difference, settled }: Found): KeptDifference {
  const { kind, orderId, reference, explanation } = difference;
  return { kind, orderId, reference, explanation, settled: settled?.words };
}

function differenceView({ difference, settled }: Found) {
  const { kind, orderId, reference, explanation, remedy } = difference;
  return {
    kind,
    orderId,
    reference: reference ?? null,
    explanation,
    isCertain: remedy !== undefined,
    settled: settled?.words ?? null,
  };
}
