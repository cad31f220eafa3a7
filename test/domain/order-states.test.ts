import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { AuthorizationOutcome } from '../../src/domain/outcome.ts';
import {
  decide,
  INQUIRY_WAITS_MS,
  isTerminal,
  type Decision,
  type OrderFact,
  type StoredOrder,
} from '../../src/domain/order-states.ts';
import { claimBy, contextAt, DEAD, inquired, KEY_REUSED, KEY_WINDOW_MS, LEASE_MS, NO_VERDICTS, orderAfter, OTHER_TERMS, outcomeOf, OUTCOMES, PARTIAL, PEER, reopened, RETRY_WAITS_MS, SELF, settled, TERMS, VOID_OUTCOMES, voided } from './order-histories.ts'; // prettier-ignore

/** The table's facts are learned one second after the last fact of the history. */
const SECOND = 1000;
const DAYS_LATER_MS = 10 * 86_400_000;
const TABLE = new URL('../../../test/domain/order-states.table.txt', import.meta.url);
const ACTUAL_TABLE = new URL('../../order-states.table.txt', import.meta.url);

const claimed = (worker: number) => [claimBy(), 0, worker] as const;
const answered = (outcome: keyof typeof OUTCOMES, claim = 1, worker = SELF) =>
  [outcomeOf(OUTCOMES[outcome], claim), 0, worker] as const;
/** Long after every wait of the schedule, and long before the key is too old. */
const LATER = 20 * 3_600_000;
const asked = (times: number) =>
  Array.from({ length: times }, (_, n) => [inquired(NO_VERDICTS.notFound, n), 0, SELF] as const);
const contradicted = (outcome: AuthorizationOutcome) => [outcomeOf(outcome, 1), 0, SELF] as const;
const refused: OrderFact = { kind: 'refuse', terms: TERMS, reason: 'invalid_card_data' };

/** Every status, with all that makes a difference within it. */
const ORDERS: readonly (readonly [name: string, order: StoredOrder | undefined, nowMs: number])[] = [
  ['not stored', undefined, SECOND],
  ['received, proven not sent', orderAfter(claimed(SELF), answered('unavailable')), SECOND],
  ['received, after a page of a proxy', orderAfter(claimed(SELF), answered('proxyPage')), SECOND],
  ['authorizing, own claim', orderAfter(claimed(SELF)), SECOND],
  ['authorizing, live owner', orderAfter(claimed(PEER)), SECOND],
  ['authorizing, live owner, lease over', orderAfter(claimed(PEER)), LEASE_MS],
  ['authorizing, dead owner', orderAfter(claimed(DEAD)), SECOND],
  ['authorizing, dead owner, key too old', orderAfter(claimed(DEAD)), KEY_WINDOW_MS + 1],
  ['authorizing, taken over by a peer', orderAfter(claimed(DEAD), claimed(PEER)), SECOND],
  ['authorization-unknown', orderAfter(claimed(SELF), answered('unknown')), SECOND],
  ['authorization-unknown, resent by a peer', orderAfter(claimed(SELF), answered('unknown'), claimed(PEER)), SECOND],
  ['authorization-unknown, key too old', orderAfter(claimed(SELF), answered('unknown')), KEY_WINDOW_MS + 1],
  ['authorizing, dead owner, due', orderAfter(claimed(DEAD)), LATER],
  ['authorization-unknown, due', orderAfter(claimed(SELF), answered('unknown')), LATER],
  ['authorization-unknown, due for the last time', orderAfter(claimed(SELF), answered('unknown'), ...asked(INQUIRY_WAITS_MS.length - 1)), 2 * LATER],
  ['review, asked for the last time', orderAfter(claimed(SELF), answered('unknown'), ...asked(INQUIRY_WAITS_MS.length)), 2 * LATER],
  ['review, key reused, due', orderAfter(claimed(SELF), contradicted(KEY_REUSED)), LATER],
  ['review, partial approval', orderAfter(claimed(SELF), contradicted(PARTIAL)), SECOND],
  ['review, contradicted', orderAfter(claimed(SELF), answered('contradicted')), SECOND],
  ['review, rejected', orderAfter(claimed(SELF), answered('rejected')), SECOND],
  ['review, key too old', keyTooOld(), KEY_WINDOW_MS + 2],
  ['received, declined softly', orderAfter(claimed(SELF), answered('declinedSoftly')), SECOND],
  ['received, declined softly, wait over', orderAfter(claimed(SELF), answered('declinedSoftly')), RETRY_WAITS_MS[0]],
  ['authorizing, second try', secondTry(), RETRY_WAITS_MS[0] + SECOND],
  ['ready-to-ship', orderAfter(claimed(SELF), answered('approved')), SECOND],
  ['ready-to-ship, second try', orderAfter(...secondTryHistory(), [outcomeOf(OUTCOMES.approved, 1, 2), RETRY_WAITS_MS[0], SELF]), RETRY_WAITS_MS[0] + SECOND],
  ['ready-to-ship, notified', orderAfter(claimed(SELF), answered('approved'), [{ kind: 'notified', generation: 1, status: 'ready-to-ship' }, 0, SELF]), SECOND],
  ['ready-to-ship, was unknown, due', orderAfter(claimed(SELF), answered('unknown'), answered('approved')), LATER],
  ['denied, approved after all', orderAfter(claimed(SELF), answered('declined'), answered('approved')), SECOND],
  ['denied, approved after all, voided', orderAfter(claimed(SELF), answered('declined'), answered('approved'), [voided(VOID_OUTCOMES.voided, 'pi_1'), 0, SELF]), SECOND],
  ['denied, declined', orderAfter(claimed(SELF), answered('declined')), SECOND],
  ['denied, declined softly too often', tooManyTries(), DAYS_LATER_MS],
  ['denied, refused', orderAfter([refused, 0, SELF]), SECOND],
  ['ready-to-ship, settled by an operator', settledOrder('pi_1'), SECOND],
  ['denied, settled by an operator', settledOrder(undefined), SECOND],
  ['denied, settled by an operator, key just too old', settledOrder(undefined), KEY_WINDOW_MS + 3_600_000],
  ['denied, settled by an operator, key too old', settledOrder(undefined), KEY_WINDOW_MS + 3_600_001],
  ['received, reopened', orderAfter(...reopenedHistory()), SECOND],
  ['authorizing, reopened', orderAfter(...reopenedHistory(), claimed(SELF)), SECOND],
  ['review, money came after reopening', orderAfter(...reopenedHistory(), answered('approved')), SECOND],
  ['denied, refused after an unsent claim', orderAfter(claimed(SELF), answered('unavailable'), [refused, 0, SELF]), SECOND],
]; // prettier-ignore

/**
 * `claim` is the order's current claim, `inquiry` its place in the schedule; "old" facts come from the claim or the
 * inquiry before. Facts are of the first generation unless they say otherwise.
 */
const FACTS: readonly (readonly [name: string, fact: (claim: number, inquiry: number) => OrderFact])[] = [
  ['claim', claimBy],
  ['claim, other content', () => ({ kind: 'claim', terms: OTHER_TERMS })],
  ['refuse', () => refused],
  ['refuse, other content', () => ({ kind: 'refuse', terms: OTHER_TERMS, reason: 'invalid_card_data' })],
  ['approved', (claim) => outcomeOf(OUTCOMES.approved, claim)],
  ['approved, old claim', (claim) => outcomeOf(OUTCOMES.approved, claim - 1)],
  ['approved, other reference', (claim) => outcomeOf({ kind: 'approved', reference: 'pi_2' }, claim)],
  ['declined', (claim) => outcomeOf(OUTCOMES.declined, claim)],
  ['declined, old claim', (claim) => outcomeOf(OUTCOMES.declined, claim - 1)],
  ['declined, unknown generation', (claim) => outcomeOf(OUTCOMES.declined, claim, 9)],
  ['approved, second generation', (claim) => outcomeOf(OUTCOMES.approved, claim, 2)],
  ['declined softly', (claim) => outcomeOf(OUTCOMES.declinedSoftly, claim)],
  ['declined softly, second generation', (claim) => outcomeOf(OUTCOMES.declinedSoftly, claim, 2)],
  ['contradicted', (claim) => outcomeOf(OUTCOMES.contradicted, claim)],
  ['rejected', (claim) => outcomeOf(OUTCOMES.rejected, claim)],
  ['unavailable', (claim) => outcomeOf(OUTCOMES.unavailable, claim)],
  ['page of a proxy', (claim) => outcomeOf(OUTCOMES.proxyPage, claim)],
  ['unavailable, old claim', (claim) => outcomeOf(OUTCOMES.unavailable, claim - 1)],
  ['unknown', (claim) => outcomeOf(OUTCOMES.unknown, claim)],
  ['unknown, old claim', (claim) => outcomeOf(OUTCOMES.unknown, claim - 1)],
  ['notified ready-to-ship', () => ({ kind: 'notified', generation: 1, status: 'ready-to-ship' })],
  ['notified denied', () => ({ kind: 'notified', generation: 1, status: 'denied' })],
  ['notified denied, other generation', () => ({ kind: 'notified', generation: 2, status: 'denied' })],
  ['resolve', () => ({ kind: 'resolve' })],
  ['inquired: approved', (_, inquiry) => inquired(OUTCOMES.approved, inquiry)],
  ['inquired: approved, old', (_, inquiry) => inquired(OUTCOMES.approved, inquiry - 1)],
  ['inquired: approved, other gen.', (_, inquiry) => inquired(OUTCOMES.approved, inquiry, 2)],
  ['inquired: declined', (_, inquiry) => inquired(OUTCOMES.declined, inquiry)],
  ['inquired: contradicted', (_, inquiry) => inquired(OUTCOMES.contradicted, inquiry)],
  ['inquired: not found', (_, inquiry) => inquired(NO_VERDICTS.notFound, inquiry)],
  ['inquired: not found, old', (_, inquiry) => inquired(NO_VERDICTS.notFound, inquiry - 1)],
  ['inquired: pending', (_, inquiry) => inquired(NO_VERDICTS.pending, inquiry)],
  ['inquired: cannot be asked', (_, inquiry) => inquired(NO_VERDICTS.cannotBeAsked, inquiry)],
  ['inquired: unanswered', (_, inquiry) => inquired(NO_VERDICTS.unanswered, inquiry)],
  ['voided', () => voided(VOID_OUTCOMES.voided, 'pi_1')],
  ['voided, partial approval', () => voided(VOID_OUTCOMES.voided, PARTIAL.reference)],
  ['void refused', () => voided(VOID_OUTCOMES.refused, 'pi_1')],
  ['void unanswered', () => voided(VOID_OUTCOMES.unanswered, 'pi_1')],
  ['parked', () => ({ kind: 'parked', reason: 'replays_exhausted' })],
  ['resolve, at once', () => ({ kind: 'resolve', atOnce: true })],
  [
    'operator asked: approved',
    (_, inquiry) => ({ ...inquired(OUTCOMES.approved, inquiry), atOnce: true }) as OrderFact,
  ],
  [
    'operator asked: declined',
    (_, inquiry) => ({ ...inquired(OUTCOMES.declined, inquiry), atOnce: true }) as OrderFact,
  ],
  [
    'operator asked: contradicted',
    (_, inquiry) => ({ ...inquired(OUTCOMES.contradicted, inquiry), atOnce: true }) as OrderFact,
  ],
  [
    'operator asked: not found',
    (_, inquiry) => ({ ...inquired(NO_VERDICTS.notFound, inquiry), atOnce: true }) as OrderFact,
  ],
  ['settled as approved', () => settled('pi_1')],
  ['settled as approved, other ref.', () => settled('pi_2')],
  ['settled as declined', () => settled(undefined)],
  ['settled as declined, second gen.', () => settled(undefined, 2)],
  ['reopened', () => reopened()],
  ['reopened, second generation', () => reopened(2)],
  ['resend', () => ({ kind: 'resend' })],
];

describe('the table of orders x facts', () => {
  test('is the one checked in', () => {
    const table = printTable();
    if (table === readFileSync(TABLE, 'utf8')) return;
    writeFileSync(ACTUAL_TABLE, table);
    const message = 'decisions changed; when they are meant: cp dist/order-states.table.txt test/domain/';
    assert.equal(table, readFileSync(TABLE, 'utf8'), message);
  });

  test('has an answer everywhere, keeps decided orders, and raises the version once per change', () => {
    for (const [name, order, nowMs] of ORDERS) {
      for (const [factName, fact] of FACTS) {
        const decision = decide(order, factAbout(order, fact), contextAt(nowMs));
        const where = `${name} x ${factName}`;
        assert.ok(decision.next.step.length > 0, where);
        if (decision.order === order) continue;
        if (decision.order === undefined) assert.fail(`${where}: the order is gone`);
        assert.equal(decision.order.version, (order?.version ?? 0) + 1, where);
        if (factName.startsWith('reopened')) {
          assert.equal(decision.order.generation, (order?.generation ?? 0) + 1, where);
        } else if (order !== undefined && isTerminal(order)) {
          const { notifiedAtMs, attempt } = decision.order;
          assert.deepEqual(
            decision.order,
            { ...order, notifiedAtMs, attempt, version: order.version + 1 },
            where,
          );
          const { resolveDueMs, voiding } = attempt ?? {};
          // Without one it may get one that was never sent: for its place in the resolver's schedule.
          if (order.attempt === undefined && attempt !== undefined) {
            const { state, maybeSent, keyUsedSinceMs } = attempt;
            assert.deepEqual([state, maybeSent, keyUsedSinceMs], ['declined', false, undefined], where);
          } else
            assert.deepEqual(attempt, order.attempt && { ...order.attempt, voiding, resolveDueMs }, where);
        }
      }
    }
  });
});

// --- the printed form --------------------------------------------------------------------------------------------

function printTable(): string {
  const blocks = ORDERS.map(([name, order, nowMs]) => {
    const lines = FACTS.map(([factName, fact]) => {
      const decision = decide(order, factAbout(order, fact), contextAt(nowMs));
      return `  ${factName.padEnd(34)} ${printDecision(order, decision)}`;
    });
    return `${name}\n${lines.join('\n')}\n`;
  });
  return `${HEADER}\n${blocks.join('\n')}`;
}

const HEADER = `# What follows from every fact about an order: next status | step | alarm.
# "=" means that the stored order does not change at all. Printed and compared by order-states.test.ts.
`;

function printDecision(before: StoredOrder | undefined, { order, next, alarm }: Decision): string {
  const status = order === before ? '=' : (order?.status ?? 'none');
  const step = 'reason' in next ? `${next.step} ${next.reason}` : next.step;
  return `${status.padEnd(21)} | ${step.padEnd(22)} |${alarm === undefined ? '' : ` ${alarm}`}`;
}

function factAbout(order: StoredOrder | undefined, fact: (typeof FACTS)[number][1]): OrderFact {
  return fact(order?.attempt?.claim ?? 1, order?.attempt?.inquiries ?? 0);
}

function secondTryHistory() {
  return [claimed(SELF), answered('declinedSoftly'), [claimBy(), RETRY_WAITS_MS[0], SELF]] as const;
}

function secondTry(): StoredOrder {
  return orderAfter(...secondTryHistory());
}

function settledOrder(reference: string | undefined): StoredOrder {
  return orderAfter(claimed(SELF), answered('unknown'), [settled(reference), 0, SELF]);
}

function reopenedHistory() {
  return [claimed(SELF), answered('declined'), [reopened(), 0, SELF]] as const;
}

function tooManyTries(): StoredOrder {
  const tries = [0, ...RETRY_WAITS_MS].map((_, index) => index + 1);
  return orderAfter(
    ...tries.flatMap((generation) => [
      [claimBy(), generation * RETRY_WAITS_MS[1], SELF] as const,
      [outcomeOf(OUTCOMES.declinedSoftly, 1, generation), generation * RETRY_WAITS_MS[1], SELF] as const,
    ]),
  );
}

function keyTooOld(): StoredOrder {
  return orderAfter(claimed(DEAD), [claimBy(), KEY_WINDOW_MS + 1, SELF]);
}
