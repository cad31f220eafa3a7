/** I8, I17, I18, I20: what operators did in the storm, what became of it, and what they must not be able to do. */
import { isChargePath } from '../../../src/simulator/fault-script.ts';
import type { AuditRow, Evidence, ReplayMember } from '../evidence.ts';
import { examine, grouped, isTerminal, type Finding } from '../finding.ts';
import type { OperatorCommand } from '../operator-cli.ts';

const ROUNDING_MS = 5;
const EX_CONFIG = '78';
/** insufficient_privilege; check_violation, of the trigger that holds the owner, too. */
const REFUSED = ['42501', '23514'];

export function operatorFindings(evidence: Evidence): Finding[] {
  return [
    ...reconcileFindings(evidence),
    ...replayFindings(evidence),
    ...auditFindings(evidence),
    broken(evidence),
  ];
}

// --- I8 ----------------------------------------------------------------------------------------------------------

function reconcileFindings({ events, operators, orders }: Evidence): Finding[] {
  const runs = operators.filter(({ args, exitCode }) => args[0] === 'reconcile' && exitCode !== 69);
  const last = runs.at(-1);
  const left = differencesIn(last);
  const statusOf = new Map(orders.map(({ order_id, status }) => [order_id, status]));
  return [
    examine(
      'I8',
      'reconciling again settles nothing and changes nothing',
      runs.slice(1).slice(-1),
      ({ atMs }) => {
        const changed = events.find(
          ({ happened_at, status_after, status_before }) =>
            status_after !== status_before && Date.parse(happened_at) > atMs,
        );
        const certain = left.find(({ isCertain, settled }) => isCertain || settled !== null);
        if (certain !== undefined)
          return `${certain.kind} of order ${certain.orderId} was left for the second time`;
        return changed && `order ${changed.order_id} changed after the last reconciliation`;
      },
    ),
    examine('I8', 'what reconciling leaves is with a person', left, ({ kind, orderId }) => {
      const status = statusOf.get(orderId);
      return status === 'review' ? undefined : `${kind}: order ${orderId} is ${status ?? 'not stored'}`;
    }),
  ];
}

interface LeftDifference {
  readonly kind: string;
  readonly orderId: string;
  readonly isCertain: boolean;
  readonly settled: string | null;
}

function differencesIn(run: OperatorCommand | undefined): readonly LeftDifference[] {
  const printed = run?.printed.at(-1) as { readonly differences: readonly LeftDifference[] } | undefined;
  return printed?.differences ?? [];
}

// --- I17 ---------------------------------------------------------------------------------------------------------

function replayFindings(evidence: Evidence): Finding[] {
  const { batches, events, members, operators, requests } = evidence;
  const replays = operators.filter(({ args, commandId }) => args[1] === 'replay' && commandId !== undefined);
  const repeated = [...grouped(replays, ({ commandId }) => commandId)].filter(([, runs]) => runs.length > 1);
  const done = members.filter(isDone);
  const decidedAt = new Map(
    events
      .filter(({ status_after }) => isTerminal(status_after))
      .map(({ order_id, happened_at }) => [order_id, Date.parse(happened_at)] as const)
      .reverse(),
  );
  const charges = grouped(
    requests.filter(({ method, path }) => method === 'POST' && isChargePath(path)),
    ({ orderId }) => orderId,
  );
  return [
    examine('I17', 'a replay command that comes again is the same replay', repeated, ([commandId]) => {
      const of = batches.filter(({ command_id }) => command_id === commandId);
      return of.length > 1 ? `command ${commandId} began ${of.length} replays` : undefined;
    }),
    examine('I17', 'no replay is left half done, whoever was killed', batches, ({ batch_id, state }) =>
      state === 'done' ? undefined : `replay ${batch_id} is ${state}`,
    ),
    examine(
      'I17',
      'what is parked is replayed once',
      grouped(done, ({ park_id }) => park_id),
      ([parkId, times]) => (times.length === 1 ? undefined : `${parkId} was replayed ${times.length} times`),
    ),
    examine(
      'I17',
      'the replay of a decided order charges nothing',
      done.filter((member) => wasDecided(member, decidedAt)),
      ({ order_id, settled_at }) => {
        const decidedAtMs = decidedAt.get(order_id ?? '') ?? Infinity;
        const late = (charges.get(order_id ?? '') ?? []).find(
          ({ at }) => Date.parse(at) > decidedAtMs + ROUNDING_MS,
        );
        return (
          late &&
          `order ${String(order_id)} was replayed at ${String(settled_at)}, and sent again at ${late.at}`
        );
      },
    ),
  ];
}

function isDone({ state }: ReplayMember): boolean {
  return state === 'published' || state === 'closed';
}

function wasDecided({ order_id, settled_at }: ReplayMember, decidedAt: ReadonlyMap<string, number>): boolean {
  return Date.parse(settled_at ?? '') > (decidedAt.get(order_id ?? '') ?? Infinity);
}

// --- I18 ---------------------------------------------------------------------------------------------------------

function auditFindings({ audit, members, operators, probes }: Evidence): Finding[] {
  const subjects = new Set(audit.map(({ subject }) => subject));
  const commandIds = new Set(audit.map(({ command_id }) => command_id));
  const changed = operators.filter(
    ({ commandId, printed }) => commandId !== undefined && printed.some(isChange),
  );
  return [
    examine('I18', 'every action of an operator says who, when, why, before and after', audit, (row) =>
      isComplete(row) ? undefined : `audit row ${row.audit_id} says too little`,
    ),
    examine('I18', 'whatever was replayed is in the audit log', members.filter(isDone), ({ park_id }) =>
      subjects.has(`parked:${park_id}`) ? undefined : `${park_id} was replayed by nobody`,
    ),
    examine('I18', 'so is every command that changed something', changed, ({ args, commandId = '' }) =>
      commandIds.has(commandId) ? undefined : `${args.join(' ')} left no trace`,
    ),
    examine(
      'I18',
      'nobody can change the audit log',
      probes.filter(({ about }) => about === 'audit log'),
      ({ what, answer }) => (REFUSED.includes(answer) ? undefined : `${what}: ${answer}`),
    ),
  ];
}

function isComplete({ action, actor, after, before, happened_at, reason, subject }: AuditRow): boolean {
  // A replay begins out of nothing.
  const isBegun = before !== null || subject.startsWith('batch:');
  return (
    [action, actor, happened_at, reason, subject].every((text) => text !== '') && after !== null && isBegun
  );
}

/** A value that a command printed: something was done, as `pause`, `unknown resolve` and their like say it. */
function isChange(value: unknown): boolean {
  const { outcome, result } = value as { readonly outcome?: string; readonly result?: string };
  return outcome === 'changed' || result === 'done';
}

// --- I20 ---------------------------------------------------------------------------------------------------------

function broken({ probes }: Evidence): Finding {
  return examine(
    'I20',
    'a configuration that breaks a precondition does not start',
    probes.filter(({ about }) => about === 'configuration'),
    ({ what, answer }) => (answer === EX_CONFIG ? undefined : `${what}: ${answer}`),
  );
}
