/**
 * Takes up where an earlier simulator with the same ledger left off: approvals, voids and their keys. What
 * the ledger does not hold (declines, pending intents and their keys) is forgotten.
 */
import { INTERNAL_ERROR, type Answer } from './answer.ts';
import type { IdempotencyKeys } from './idempotency-keys.ts';
import type { IntentStore } from './intent-store.ts';
import type { ApprovalEntry, LedgerEntry } from './ledger.ts';
import type { Intent } from './payment-intent.ts';

export function restore(entries: readonly LedgerEntry[], intents: IntentStore, keys: IdempotencyKeys): void {
  for (const entry of entries) {
    const atMs = Date.parse(entry.at);
    const answer =
      entry.kind === 'approval' ? restoreApproval(entry, intents) : restoreVoid(entry, atMs, intents);
    if (entry.idempotencyKey === null || answer === undefined) continue;
    const keep = keys.claim(entry.idempotencyKey, entry.paramsDigest, atMs);
    keep(answer);
  }
}

function restoreApproval(entry: ApprovalEntry, intents: IntentStore): Answer {
  const intent: Intent = {
    id: entry.authorizationId,
    createdAtMs: Date.parse(entry.createdAt),
    status: entry.status,
    amountMinor: entry.intentAmountMinor,
    heldMinor: entry.amountMinor,
    currency: entry.currency,
    captureMethod: entry.captureMethod,
    metadata: entry.metadata,
  };
  intents.put(intent);
  return firstAnswer(intent, entry.fault);
}

/** Some faults answered otherwise than with the approval, and that answer is what the key replays. */
function firstAnswer(intent: Intent, fault: string | null): Answer {
  if (fault === 'charge-then-500') return INTERNAL_ERROR;
  if (fault === 'pending')
    return { kind: 'intent', intent: { ...intent, status: 'processing', heldMinor: 0 } };
  if (fault === 'unknown-status') {
    return { kind: 'intent', intent: { ...intent, status: 'requires_oracle', heldMinor: 0 } };
  }
  return { kind: 'intent', intent };
}

function restoreVoid(entry: LedgerEntry, atMs: number, intents: IntentStore): Answer | undefined {
  const approved = intents.get(entry.authorizationId);
  if (approved === undefined) return undefined;
  const intent: Intent = { ...approved, status: 'canceled', canceledAtMs: atMs };
  intents.put(intent);
  return { kind: 'intent', intent };
}
