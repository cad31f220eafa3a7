import type { Evidence } from './evidence.ts';
import type { Finding } from './finding.ts';
import { conductFindings } from './invariants/conduct.ts';
import { lifeFindings } from './invariants/lives.ts';
import { messageFindings } from './invariants/messages.ts';
import { moneyFindings } from './invariants/money.ts';

/**
 * Holds the evidence against the invariants of the reliability design, as far as they can be seen from outside:
 *
 * - I7 (no automatic charge after the key window) needs an order that is hours old, I15 (the acker's laws) and I20
 *   (preconditions) are about the inside and the start of a worker, I17 (replay commands) needs an operator: these are
 *   shown by other tests.
 */
export function check(evidence: Evidence): Finding[] {
  return [
    ...moneyFindings(evidence),
    ...lifeFindings(evidence),
    ...messageFindings(evidence),
    ...conductFindings(evidence),
  ];
}
