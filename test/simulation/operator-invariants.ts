/** The invariants (reliability design, section 1) about what operators do, judged at the end: I8, I17, I18. */
import type { Broken, RunParts } from './run-parts.ts';

/** What a second reconciliation must leave as it is. */
export interface Books {
  readonly versions: string;
  readonly audited: number;
  readonly holds: string;
}

export function booksOf({ database, gateway }: RunParts): Books {
  const { audit, orders } = database.tables;
  return {
    versions: [...orders.values()].map(({ order_id: id, version }) => `${id}:${version}`).join(' '),
    audited: audit.rows.length,
    holds: gateway.ledger
      .map(({ reference, voidedAtMs }) => `${reference}:${voidedAtMs ?? 'held'}`)
      .join(' '),
  };
}

/** I8: what is left after one that settles is a person's, and another one changes nothing. */
export function reconciledTwice(before: Books, run: RunParts): Broken[] {
  const after = booksOf(run);
  const broken: Broken[] = [];
  const changed = (['versions', 'audited', 'holds'] as const).filter((part) => after[part] !== before[part]);
  if (changed.length > 0)
    broken.push({ invariant: 'I8', what: `a second reconciliation changes ${changed.join(', ')}` });
  const last = run.database.reconciliations.at(-1);
  if (last === undefined) return [...broken, { invariant: 'I8', what: 'nobody could reconcile in the end' }];
  for (const { explanation, kind, orderId } of last.differences) {
    const status = run.database.tables.orders.get(orderId)?.status;
    if (status !== 'review')
      broken.push({
        invariant: 'I8',
        what: `order ${orderId} (${status ?? 'unknown'}): ${kind}, ${explanation}`,
      });
  }
  return broken;
}

export function operatorInvariants(run: RunParts): Broken[] {
  return [...replayedTwice(run), ...markedTooEarly(run), ...badlyEnded(run), ...auditedBadly(run)];
}

/** I17: a replay publishes a message again only where it cannot know that it did. */
function replayedTwice({ database, faults, replays }: RunParts): Broken[] {
  const restarts = faults.timed.filter(({ kind }) => kind.startsWith('database-')).length;
  return [...database.parked.batches.values()].flatMap(({ batchId, members }) => {
    const times = new Map<string, number>();
    for (const { row } of members) {
      const { messageId = '' } = row.record;
      times.set(messageId, (times.get(messageId) ?? 0) + 1);
    }
    return [...times].flatMap(([messageId, rows]) => {
      const published = replays.publishedOf(batchId, messageId);
      if (published <= rows * (1 + replays.troubles + restarts)) return [];
      const what = `replay ${batchId} published ${messageId} ${published} times for ${rows} row(s)`;
      return [{ invariant: 'I17', what }];
    });
  });
}

/** I14: what is marked as published has been confirmed. */
function markedTooEarly({ database, replays }: RunParts): Broken[] {
  const marked = new Map<string, number>();
  for (const { members } of database.parked.batches.values()) {
    for (const { row, state } of members) {
      const { messageId = '' } = row.record;
      if (state === 'published') marked.set(messageId, (marked.get(messageId) ?? 0) + 1);
    }
  }
  return [...marked]
    .filter(([messageId, times]) => times > replays.confirmsOf(messageId))
    .map(([messageId]) => ({
      invariant: 'I14',
      what: `a replay of ${messageId} is marked without its confirm`,
    }));
}

/** I17: in the end every replay has ended, and what it left is as it was. */
function badlyEnded({ database, replays }: RunParts): Broken[] {
  return [...database.parked.batches.values()].flatMap(({ batchId, members, state }) => {
    const isOpen = members.some((member) => member.state === 'waiting');
    const isLeft = (published: boolean) => published && replays.troubles === 0;
    const left = members.find(
      ({ row, state: as }) =>
        as === 'left' && isLeft(replays.publishedOf(batchId, row.record.messageId ?? '') > 0),
    );
    const broken: Broken[] = [];
    if (isOpen) broken.push({ invariant: 'I17', what: `replay ${batchId} is ${state}, and not at its end` });
    if (left !== undefined)
      broken.push({ invariant: 'I17', what: `replay ${batchId} has left what it has published` });
    return broken;
  });
}

/** I18: who, when, why, what it was and what it became; nothing comes of nothing only where there was nothing. */
function auditedBadly({ database }: RunParts): Broken[] {
  return database.tables.audit.rows
    .filter(({ action, actor, after, before, happenedAtMs, reason, subject }) => {
      const isBegun = subject.startsWith('batch:') && action === 'parked replay';
      const isComplete = actor !== '' && reason !== '' && happenedAtMs > 0 && after !== undefined;
      return !isComplete || (before === undefined && !isBegun);
    })
    .map(({ action, subject }) => ({
      invariant: 'I18',
      what: `${action} of ${subject} is not told in full`,
    }));
}
