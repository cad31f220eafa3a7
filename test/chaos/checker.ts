import type { Evidence } from './evidence.ts';
import type { Finding } from './finding.ts';
import { conductFindings } from './invariants/conduct.ts';
import { lifeFindings } from './invariants/lives.ts';
import { messageFindings } from './invariants/messages.ts';
import { moneyFindings } from './invariants/money.ts';
import { operatorFindings } from './invariants/operators.ts';

/**
 * Holds the evidence against the invariants of the reliability design, as far as they can be seen from outside: the
 * others are in SHOWN_ELSEWHERE.
 */
export function check(evidence: Evidence): Finding[] {
  return [
    ...moneyFindings(evidence),
    ...lifeFindings(evidence),
    ...messageFindings(evidence),
    ...operatorFindings(evidence),
    ...conductFindings(evidence),
  ];
}
